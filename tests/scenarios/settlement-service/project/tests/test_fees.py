import csv
import unittest
from pathlib import Path

from settle.config import load_config
from settle.fees import fee_minor, fee_returned_minor, tier_for

GOLDEN = Path(__file__).parent / "golden" / "fees.csv"
FEES = load_config().fees


class Tiers(unittest.TestCase):
    def test_a_volume_on_the_boundary_is_in_the_higher_tier(self):
        self.assertEqual(tier_for(500000, FEES)["name"], "growth")
        self.assertEqual(tier_for(2500000, FEES)["name"], "scale")

    def test_a_volume_below_the_boundary_is_in_the_lower_tier(self):
        self.assertEqual(tier_for(499999, FEES)["name"], "starter")


class FeeTable(unittest.TestCase):
    """The table that finance signed off, version 2026-02."""

    def test_golden_table(self):
        with GOLDEN.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                amount, volume = int(row["amount_minor"]), int(row["volume_minor"])
                with self.subTest(case=row["case"], amount=amount, volume=volume):
                    fee = fee_minor(amount, volume, FEES)
                    self.assertEqual(fee, int(row["fee_minor"]), "fee in minor units")

    def test_the_cap_holds(self):
        self.assertEqual(fee_minor(900000, 0, FEES), 4900)


class Refunds(unittest.TestCase):
    def test_sixty_percent_of_the_share_goes_back(self):
        self.assertEqual(fee_returned_minor(655, 2500, 5000, FEES), 196)
