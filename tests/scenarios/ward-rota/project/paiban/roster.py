"""班表：读取，再套用代班单和请假单，得到实际出勤的班次。"""

import csv
import logging
from datetime import date

from paiban.config import ROOT
from paiban.models import Shift

log = logging.getLogger("paiban.roster")


def load_roster(path):
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Shift(date.fromisoformat(r["日期"]), r["科室"], r["工号"], r["班次"])
            for r in csv.DictReader(file)
        ]


def month_roster(month, root=ROOT):
    return load_roster(root / "data" / f"排班_{month}.csv")


def apply_swaps(shifts, swaps):
    """代班生效后，班归代班人；原班人当日休。"""
    moved = {}
    for swap in swaps:
        if swap.status != "驳回":
            moved[swap.day, swap.from_id] = swap.to_id
            log.info("代班 %s %s %s -> %s", swap.number, swap.day, swap.from_id, swap.to_id)
    return [
        Shift(s.day, s.ward, moved.get((s.day, s.staff_id), s.staff_id), s.code) for s in shifts
    ]


def drop_leaves(shifts, leaves, staff):
    """请假（已批准）期间不算出勤。"""
    away = {
        (leave.name, day)
        for leave in leaves
        if leave.status == "已批准"
        for day in _days(leave.first, leave.last)
    }
    kept = []
    for shift in shifts:
        if (staff[shift.staff_id].name, shift.day) in away:
            log.info("请假，不计 %s %s %s", shift.day, shift.staff_id, shift.code)
        else:
            kept.append(shift)
    return kept


def _days(first, last):
    for number in range(first.toordinal(), last.toordinal() + 1):
        yield date.fromordinal(number)
