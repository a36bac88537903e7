import unittest

from herbarium.errors import HerbError
from herbarium.services import labels, notes
from tests.gardens import garden


class LabelsAndNotes(unittest.TestCase):
    def setUp(self):
        self.app = garden()

    def test_a_label_is_printed_once(self):
        label = labels.queue(self.app, "jonas", "HB-000001", copies=2)
        labels.mark_printed(self.app, "jonas", label)
        with self.assertRaisesRegex(HerbError, "HB-409 LB-000001 is printed"):
            labels.mark_printed(self.app, "jonas", label)

    def test_six_copies_are_too_many(self):
        with self.assertRaisesRegex(HerbError, "HB-400 HB-000001 cannot have 6 copies"):
            labels.queue(self.app, "jonas", "HB-000001", copies=6)

    def test_a_note_is_removed_by_its_author_only(self):
        note = notes.add(self.app, "jonas", "HB-000002", "petals lost")
        with self.assertRaisesRegex(HerbError, "HB-403 NT-000001 is a note of jonas"):
            notes.remove(self.app, "mira", note)
