"""人员、班次、换班单、请假单。字段名用英文，说明用中文。"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta

# 班次代码 -> (开始, 结束)，按小时；24 表示次日零点
SHIFT_HOURS = {"A": (8, 16), "P": (16, 24), "N": (0, 8)}
SHIFT_NAMES = {"A": "白班", "P": "小夜", "N": "大夜", "R": "休"}
NIGHT = ("P", "N")


@dataclass(frozen=True)
class Staff:
    staff_id: str
    name: str
    ward: str
    level: str
    probation_until: date | None  # 见习截止日（含当日）
    no_night_from: date | None  # 孕期、哺乳期：此区间内不得排夜班
    no_night_to: date | None

    def may_work_nights(self, day):
        if self.no_night_from is None:
            return True
        return not self.no_night_from <= day <= self.no_night_to


@dataclass(frozen=True)
class Shift:
    day: date
    ward: str
    staff_id: str
    code: str

    @property
    def start(self):
        return datetime.combine(self.day, datetime.min.time()) + timedelta(
            hours=SHIFT_HOURS[self.code][0]
        )

    @property
    def end(self):
        return datetime.combine(self.day, datetime.min.time()) + timedelta(
            hours=SHIFT_HOURS[self.code][1]
        )


@dataclass(frozen=True)
class Swap:
    """代班单：`day` 当日 `from_id` 的班由 `to_id` 上。"""

    number: str
    day: date
    from_id: str
    to_id: str
    code: str
    status: str  # 已生效 / 待审批 / 已撤销 / 驳回


@dataclass(frozen=True)
class Leave:
    number: str
    staff_id: str
    name: str
    kind: str
    first: date
    last: date
    status: str
