import unittest
from datetime import date
from decimal import Decimal

from paiban.calendar import Calendar
from paiban.config import load_rules, load_staff
from paiban.fees import fee_day, shift_fee
from paiban.models import Shift


def money(day, code, staff_id="N1001"):
    shift = Shift(date.fromisoformat(day), "ER", staff_id, code)
    amount = shift_fee(shift, load_staff()[staff_id], load_rules(), Calendar.load())
    return Decimal(str(amount))


class Fees(unittest.TestCase):
    def test_ordinary_evening(self):
        """平日小夜：85.50 元"""
        self.assertEqual(money("2026-02-05", "P"), Decimal("85.50"))

    def test_night_belongs_to_its_day(self):
        """大夜归当日"""
        shift = Shift(date(2026, 2, 16), "ER", "N1001", "N")
        self.assertEqual(fee_day(shift), date(2026, 2, 16))

    def test_statutory_evening(self):
        """除夕小夜：三倍，256.50 元"""
        self.assertEqual(money("2026-02-16", "P"), Decimal("256.50"))

    def test_long_holiday_is_not_statutory(self):
        """年初五只是连休，按平日计"""
        self.assertEqual(money("2026-02-21", "P"), Decimal("85.50"))

    def test_probation_rounds_half_up(self):
        """见习期小夜：64.125 进位为 64.13 元"""
        self.assertEqual(money("2026-02-05", "P", "N1015"), Decimal("64.13"))

    def test_probation_ends(self):
        """见习截止日次日起全额"""
        self.assertEqual(money("2026-02-15", "P", "N2016"), Decimal("64.13"))
        self.assertEqual(money("2026-02-24", "P", "N2016"), Decimal("85.50"))
