import unittest
from datetime import date, timedelta

from paiban.checks import check_night_streak, check_no_nights, check_rest
from paiban.config import load_rules, load_staff
from paiban.models import Shift

RULES = load_rules()


def days(codes, staff_id="N1001", first=date(2026, 3, 16)):
    return [
        Shift(first + timedelta(days=k), "ER", staff_id, code)
        for k, code in enumerate(codes)
        if code != "R"
    ]


class Checks(unittest.TestCase):
    def test_free_day_between_is_fine(self):
        """小夜、休、大夜：合规"""
        self.assertEqual(list(check_rest(days("PRN"), RULES)), [])

    def test_three_nights_are_fine(self):
        """连续三个大夜：合规"""
        self.assertEqual(list(check_night_streak(days("NNN"), RULES)), [])

    def test_four_nights_are_not(self):
        """连续四个大夜：违规"""
        self.assertEqual(len(list(check_night_streak(days("NNNN"), RULES))), 1)

    def test_no_nights_when_pregnant(self):
        """免夜班期内不得排夜班"""
        found = list(check_no_nights(days("P", "N2005"), load_staff()))
        self.assertEqual(len(found), 1)
