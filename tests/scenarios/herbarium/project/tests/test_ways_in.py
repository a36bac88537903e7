import io
import tempfile
import unittest
from pathlib import Path

from herbarium import cli
from herbarium.api import handle
from tests.gardens import garden


class Api(unittest.TestCase):
    def setUp(self):
        self.app = garden()

    def test_a_specimen_can_be_moved(self):
        answer = handle(self.app, "jonas", "POST", "/specimens/HB-000001/move", {"cabinet": "Cabinet 2"})
        self.assertEqual(answer, (200, {"ok": True, "result": None}))

    def test_an_error_has_its_status(self):
        status, answer = handle(self.app, "jonas", "DELETE", "/specimens/HB-000001")
        self.assertEqual((status, answer["code"]), (403, "HB-403"))

    def test_a_body_that_does_not_fit_is_refused(self):
        status, answer = handle(self.app, "jonas", "POST", "/specimens/HB-000001/move", {"to": "x"})
        self.assertEqual((status, answer["code"]), (400, "HB-400"))


class Cli(unittest.TestCase):
    def run_on(self, path, *arguments):
        out = io.StringIO()
        code = cli.main([str(path), "--demo-clock", *arguments], out)
        return code, out.getvalue()

    def test_a_change_is_saved(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "store.json"
            garden().store.save(path)
            code, text = self.run_on(path, "--user", "jonas", "move", "HB-000003", "Cabinet 12")
            self.assertEqual((code, text), (0, "HB-000003 is in Cabinet 12\n"))
            self.assertIn("Cabinet 12", self.run_on(path, "list", "specimens")[1])

    def test_an_error_is_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "store.json"
            garden().store.save(path)
            code, text = self.run_on(path, "--user", "jonas", "remove", "HB-000003")
            self.assertEqual((code, text), (1, "HB-403 jonas has not the right 'remove'\n"))
