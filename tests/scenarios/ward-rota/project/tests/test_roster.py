import unittest
from datetime import date

from paiban.config import load_staff
from paiban.models import Leave, Shift, Swap
from paiban.oa import parse_day
from paiban.roster import apply_swaps, drop_leaves

DAY = date(2026, 2, 11)


def swap(status):
    return Swap("HB1", DAY, "N1001", "N1002", "N", status)


class Swaps(unittest.TestCase):
    def test_effective_swap_moves_the_shift(self):
        """已生效的代班单：班归代班人"""
        moved = apply_swaps([Shift(DAY, "ER", "N1001", "N")], [swap("已生效")])
        self.assertEqual([s.staff_id for s in moved], ["N1002"])

    def test_other_states_do_not(self):
        """待审批、已撤销、驳回都不算"""
        for status in ("待审批", "已撤销", "驳回"):
            with self.subTest(status):
                same = apply_swaps([Shift(DAY, "ER", "N1001", "N")], [swap(status)])
                self.assertEqual([s.staff_id for s in same], ["N1001"])


class Leaves(unittest.TestCase):
    def test_leave_counts_by_staff_id(self):
        """同名不同工号：只扣请假的人"""
        leave = Leave("QJ1", "N3004", "王雨桐", "事假", DAY, DAY, "已批准")
        shifts = [Shift(DAY, "ER", "N1007", "N"), Shift(DAY, "RESP", "N3004", "N")]
        kept = drop_leaves(shifts, [leave], load_staff())
        self.assertEqual([s.staff_id for s in kept], ["N1007"])

    def test_plain_date(self):
        """半角日期"""
        self.assertEqual(parse_day("2026年2月11日"), DAY)
