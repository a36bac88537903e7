import unittest

from settle.pipeline import run_day


class Run(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_ = run_day("2026-03-29")

    def test_the_ledger_is_balanced(self):
        self.assertTrue(self.run_.ledger.is_balanced())

    def test_every_partner_has_one_payout(self):
        self.assertEqual(len({p.partner_id for p in self.run_.payouts}), 10)

    def test_no_refund_of_the_batch_is_lost(self):
        posted = [e for e in self.run_.ledger.entries if e.key.startswith("refund:")]
        self.assertEqual(len(posted), len(self.run_.refunds) - len(self.run_.skipped))
