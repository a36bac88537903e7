import tempfile
import unittest
from pathlib import Path

from herbarium.store import Store
from tests.gardens import garden


class Stores(unittest.TestCase):
    def test_a_row_that_was_got_is_a_copy(self):
        store = garden().store
        store.get("taxa", "TX-000001")["synonyms"].append("x")
        self.assertEqual(store.get("taxa", "TX-000001")["synonyms"], [])

    def test_a_saved_store_is_the_same_after_loading(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "store.json"
            store = garden().store
            store.save(path)
            again = Store.load(path)
        self.assertEqual(again.tables, store.tables)
        self.assertEqual(again.audit, store.audit)

    def test_ids_go_on_after_loading(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "store.json"
            garden().store.save(path)
            self.assertEqual(Store.load(path).next_id("specimens"), "HB-000004")
