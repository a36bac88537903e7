import unittest
from datetime import datetime

from settle.ledger import Ledger, post_refund
from settle.models import Refund


def refund(seq, amount):
    moment = datetime(2026, 3, 29, 10)
    return Refund("ord_00042", seq, moment, amount, "EUR", "partial return")


class Idempotency(unittest.TestCase):
    def test_the_same_posting_counts_once(self):
        ledger = Ledger()
        self.assertTrue(ledger.post("order:1", "marketplace", "partner:a", 500, "EUR"))
        self.assertFalse(ledger.post("order:1", "marketplace", "partner:a", 500, "EUR"))
        self.assertEqual(ledger.balance("partner:a", "EUR"), 500)

    def test_two_partial_refunds_of_one_order_both_count(self):
        ledger = Ledger()
        post_refund(ledger, refund(1, 300), "prt_1", 20, 300, "EUR")
        post_refund(ledger, refund(2, 200), "prt_1", 10, 200, "EUR")
        self.assertEqual(ledger.balance("partner:prt_1", "EUR"), -470)


class Balance(unittest.TestCase):
    def test_a_ledger_is_balanced(self):
        ledger = Ledger()
        ledger.post("a", "x", "y", 10, "EUR")
        self.assertTrue(ledger.is_balanced())

    def test_negative_amounts_are_refused(self):
        with self.assertRaisesRegex(ValueError, "LED-1003"):
            Ledger().post("a", "x", "y", -1, "EUR")
