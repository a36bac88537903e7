import unittest

from settle.models import Payout
from settle.reconcile import differences


def ours(number, amount):
    reference = f"STL-20260329-{number}"
    return Payout(f"prt_{number}", "2026-03-29", amount, "EUR", reference, "ready")


def bank(reference, amount):
    return {"reference": reference, "amount_minor": str(amount), "currency": "EUR"}


class Differences(unittest.TestCase):
    def test_equal_is_no_difference(self):
        self.assertEqual(differences([ours("1", 5)], [bank("STL-20260329-1", 5)]), [])

    def test_each_kind(self):
        statement = [
            bank("STL-20260329-1", 6),
            bank("STL-20260329-1-2", 5),
            bank("OTHER-1", 9),
        ]
        found = differences([ours("1", 5), ours("2", 7)], statement)
        self.assertEqual(
            [(d.kind, d.reference) for d in found],
            [
                ("unexpected", "OTHER-1"),
                ("amount", "STL-20260329-1"),
                ("double", "STL-20260329-1-2"),
                ("missing", "STL-20260329-2"),
            ],
        )
