"""节假日历。放假（含调休）和法定节日是两回事，见 docs/夜班费办法.md 第五条。"""

import csv
from datetime import date

from paiban.config import ROOT


class Calendar:
    def __init__(self, kinds):
        self._kinds = kinds

    @classmethod
    def load(cls, root=ROOT):
        with (root / "config" / "节假日.csv").open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            return cls({date.fromisoformat(row["日期"]): row["类别"] for row in rows})

    def is_day_off(self, day):
        """当日是否放假：法定节日或连休。"""
        return self._kinds.get(day) in ("法定", "连休")

    def is_statutory(self, day):
        """当日是否法定节日。"""
        return self._kinds.get(day) == "法定"
