import unittest

from settle.config import load_config
from settle.export import bank_file, checksum
from settle.models import Payout

PARTNERS = load_config().partners


def payout(partner_id, amount, status="ready"):
    partner = PARTNERS[partner_id]
    reference = f"STL-20260329-{partner.number}"
    return Payout(partner_id, "2026-03-29", amount, partner.currency, reference, status)


class BankFile(unittest.TestCase):
    def test_the_checksum_covers_every_line_before_the_trailer(self):
        self.assertEqual(checksum(["NBK;2.4;SETTLEMENT", "PAY;a"]), "b89a6e740245")

    def test_only_ready_payouts_sorted_by_reference(self):
        text = bank_file([payout("prt_8842", 5), payout("prt_1907", 7), payout("prt_7021", 1, "held")], PARTNERS)
        references = [line.split(";")[1] for line in text.splitlines() if line.startswith("PAY")]
        self.assertEqual(references, ["STL-20260329-1907", "STL-20260329-8842"])

    def test_the_trailer_counts_and_adds(self):
        text = bank_file([payout("prt_8842", 5), payout("prt_1907", 7)], PARTNERS)
        self.assertTrue(text.splitlines()[-1].startswith("END;2;12;"))
