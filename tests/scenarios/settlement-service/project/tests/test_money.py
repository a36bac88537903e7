import unittest
from decimal import Decimal

from settle.money import format_minor, round_minor, split, to_minor


class Rounding(unittest.TestCase):
    def test_a_tie_goes_to_the_even_neighbour(self):
        self.assertEqual([round_minor(Decimal(x)) for x in ("0.5", "1.5", "2.5")], [0, 2, 2])

    def test_no_tie_goes_to_the_nearest(self):
        self.assertEqual([round_minor(Decimal(x)) for x in ("0.49", "0.51")], [0, 1])


class Text(unittest.TestCase):
    def test_yen_have_no_decimals(self):
        self.assertEqual(format_minor(1250, "JPY"), "1250 JPY")
        self.assertEqual(to_minor("1250", "JPY"), 1250)

    def test_too_many_decimals_are_an_error(self):
        with self.assertRaises(ValueError):
            to_minor("12.345", "EUR")


class Split(unittest.TestCase):
    def test_parts_add_up(self):
        self.assertEqual(split(1001, 3), [334, 334, 333])
