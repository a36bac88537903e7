import unittest
from decimal import Decimal

from settle.fx import RateMissing, Rates

ROWS = [
    {"date": "2026-03-26", "currency": "GBP", "rate": "0.84000"},
    {"date": "2026-03-28", "currency": "GBP", "rate": "0.85000"},
    {"date": "2026-03-29", "currency": "GBP", "rate": "0.86000"},
    {"date": "2026-03-26", "currency": "HUF", "rate": "390.00000"},
]


class RateLookup(unittest.TestCase):
    def test_the_rate_of_the_day_itself_is_used(self):
        self.assertEqual(Rates(ROWS).rate("GBP", "2026-03-29"), Decimal("0.86000"))

    def test_an_older_rate_is_used_up_to_the_limit(self):
        self.assertEqual(Rates(ROWS).rate("HUF", "2026-03-29"), Decimal("390.00000"))

    def test_a_rate_beyond_the_limit_is_missing(self):
        with self.assertRaisesRegex(RateMissing, "FX-0404"):
            Rates(ROWS).rate("HUF", "2026-03-30")


class Conversion(unittest.TestCase):
    def test_euros_to_pounds_with_spread(self):
        rates = Rates(ROWS, spread_bps=35)
        self.assertEqual(rates.convert(10000, "EUR", "GBP", "2026-03-29"), 8570)

    def test_same_currency_is_untouched(self):
        self.assertEqual(Rates([]).convert(7, "EUR", "EUR", "2026-03-29"), 7)
