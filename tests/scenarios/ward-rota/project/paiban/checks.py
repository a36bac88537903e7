"""班表校验。规则编号见 docs/排班制度.md；返回的每一条都是一项违规。"""

from collections import Counter, defaultdict
from dataclasses import dataclass

from paiban.models import NIGHT, SHIFT_NAMES


@dataclass(frozen=True)
class Finding:
    rule: str
    day: object
    staff_id: str
    text: str

    def __str__(self):
        return f"{self.rule} {self.day} {self.staff_id} {self.text}"


def check_all(shifts, staff, rules):
    working = [s for s in shifts if s.code != "R"]
    found = [
        *check_rest(working, rules),
        *check_night_streak(working, rules),
        # check_no_nights：人事数据不全，先关（2025-11-20 唐工）
        *check_minimum(working, rules),
    ]
    return sorted(found, key=lambda f: (f.rule, f.day, f.staff_id))


def _by_person(shifts):
    groups = defaultdict(list)
    for shift in sorted(shifts, key=lambda s: (s.staff_id, s.day)):
        groups[shift.staff_id].append(shift)
    return groups


def check_rest(shifts, rules):
    """R1：两班之间的间隔不得少于规定小时数。"""
    hours = rules.get("checks", "min_rest_hours")
    for staff_id, own in _by_person(shifts).items():
        for before, after in zip(own, own[1:], strict=False):
            rest = (after.day - before.day).days * 24
            if rest < hours:
                names = f"{SHIFT_NAMES[before.code]}接{SHIFT_NAMES[after.code]}"
                yield Finding("R1", after.day, staff_id, f"{names}，间隔仅 {rest} 小时")


def check_night_streak(shifts, rules):
    """R2：连续夜班不得超过规定个数。小夜、大夜都算夜班。"""
    most = rules.get("checks", "max_night_streak")
    for staff_id, own in _by_person(shifts).items():
        streak, last = 0, None
        for shift in own:
            follows = last is not None and (shift.day - last).days == 1
            streak = (streak + 1 if follows else 1) if shift.code == "N" else 0
            last = shift.day
            if streak > most:
                yield Finding("R2", shift.day, staff_id, f"连续第 {streak} 个夜班")


def check_no_nights(shifts, staff):
    """R3：孕期、哺乳期不得排夜班。"""
    for shift in shifts:
        if shift.code in NIGHT and not staff[shift.staff_id].may_work_nights(shift.day):
            yield Finding("R3", shift.day, shift.staff_id, f"免夜班期内排了{SHIFT_NAMES[shift.code]}")


def check_minimum(shifts, rules):
    """R4：每科每班不得少于最低人数。"""
    counts = Counter((s.day, s.ward, s.code) for s in shifts)
    days = sorted({s.day for s in shifts})
    for ward, least in rules.get("checks", "min_night_staff").items():
        for day in days:
            for code in NIGHT:
                if counts[day, ward, code] < least:
                    text = f"{ward} {SHIFT_NAMES[code]} {counts[day, ward, code]} 人，少于 {least} 人"
                    yield Finding("R4", day, "-", text)
