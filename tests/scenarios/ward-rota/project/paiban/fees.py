"""夜班费。口径见 docs/夜班费办法.md。"""

import logging
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import timedelta

from paiban.models import NIGHT

log = logging.getLogger("paiban.fees")


@dataclass
class Fee:
    staff_id: str
    counts: dict = field(default_factory=lambda: defaultdict(int))
    amount: float = 0.0
    lines: list = field(default_factory=list)


def fee_day(shift):
    """夜班归属哪一天（决定是否按法定节日计）。"""
    # 大夜 22:00 上班，跨零点，归前一天
    return shift.day - timedelta(days=1) if shift.code == "N" else shift.day


def shift_fee(shift, person, rules, calendar):
    """一个夜班的金额（元）。"""
    amount = float(rules.get("fees", {"P": "xiaoye_yuan", "N": "daye_yuan"}[shift.code]))
    if calendar.is_day_off(fee_day(shift)):
        amount *= rules.get("fees", "statutory_factor")
    if person.probation_until is not None:
        amount *= float(rules.get("fees", "probation_factor"))
    return round(amount, 2)


def night_fees(shifts, staff, rules, calendar):
    """返回 工号 -> Fee，只含有夜班的人。"""
    fees = {}
    for shift in sorted(shifts, key=lambda s: (s.staff_id, s.day)):
        if shift.code not in NIGHT:
            continue
        fee = fees.setdefault(shift.staff_id, Fee(shift.staff_id))
        amount = shift_fee(shift, staff[shift.staff_id], rules, calendar)
        fee.counts[shift.code] += 1
        fee.amount = round(fee.amount + amount, 2)
        fee.lines.append((shift.day, shift.code, amount))
        log.debug("计费 %s %s %s %.2f 元", shift.staff_id, shift.day, shift.code, amount)
    return fees
