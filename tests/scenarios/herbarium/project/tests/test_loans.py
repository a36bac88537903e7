import unittest

from herbarium.errors import HerbError
from herbarium.services import loans
from tests.gardens import garden


class Loans(unittest.TestCase):
    def setUp(self):
        self.app = garden()
        self.loan = loans.lend(self.app, "mira", "HB-000001", "Museum of Arden")

    def test_a_loan_is_due_after_ninety_days(self):
        self.assertEqual(self.app.store.get("loans", self.loan)["due_on"], "2026-08-30")

    def test_a_loan_can_be_extended_once(self):
        loans.extend(self.app, "mira", self.loan)
        self.assertEqual(self.app.store.get("loans", self.loan)["due_on"], "2026-09-29")
        with self.assertRaisesRegex(HerbError, "HB-409 LN-000001 was extended already"):
            loans.extend(self.app, "mira", self.loan)

    def test_a_specimen_is_lent_once_at_a_time(self):
        with self.assertRaisesRegex(HerbError, "HB-409 HB-000001 is on loan"):
            loans.lend(self.app, "tove", "HB-000001", "Arden College")

    def test_open_loans_are_counted(self):
        self.assertEqual(self.app.stats.counts()["open_loans"], 1)
        loans.take_back(self.app, "mira", self.loan)
        self.assertEqual(self.app.stats.counts()["open_loans"], 0)
