import unittest

from herbarium.errors import HerbError
from herbarium.services import labels, loans, notes, specimens
from tests.gardens import garden


class Specimens(unittest.TestCase):
    def setUp(self):
        self.app = garden()

    def test_a_new_specimen_is_in_intake(self):
        self.assertEqual(self.app.store.get("specimens", "HB-000001")["cabinet"], "Intake")

    def test_an_edit_changes_only_what_is_named(self):
        before = self.app.store.get("specimens", "HB-000001")
        specimens.edit(self.app, "jonas", "HB-000001", remarks="flowering")
        after = self.app.store.get("specimens", "HB-000001")
        self.assertEqual(after, {**before, "remarks": "flowering"})

    def test_an_unknown_field_is_refused(self):
        with self.assertRaisesRegex(HerbError, "HB-400 HB-000001 has no field colour to edit"):
            specimens.edit(self.app, "jonas", "HB-000001", colour="red")

    def test_a_specimen_on_loan_stays_where_it_is(self):
        loans.lend(self.app, "mira", "HB-000001", "Museum of Arden")
        with self.assertRaisesRegex(HerbError, "HB-409 HB-000001 is on loan"):
            specimens.move(self.app, "jonas", "HB-000001", "Cabinet 4")

    def test_removing_takes_notes_and_labels_along(self):
        notes.add(self.app, "jonas", "HB-000001", "mould")
        labels.queue(self.app, "jonas", "HB-000001")
        specimens.remove(self.app, "mira", "HB-000001")
        self.assertEqual(self.app.store.rows("notes") + self.app.store.rows("labels"), [])

    def test_an_assistant_may_not_remove(self):
        with self.assertRaisesRegex(HerbError, "HB-403 jonas has not the right 'remove'"):
            specimens.remove(self.app, "jonas", "HB-000001")
