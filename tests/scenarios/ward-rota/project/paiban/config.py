"""读取规则和人员。"""

import csv
import tomllib
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from paiban.models import Staff

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Rules:
    data: dict

    def get(self, section, key):
        return self.data[section][key]


def load_rules(root=ROOT):
    text = (root / "config" / "规则.toml").read_text("utf-8")
    return Rules(tomllib.loads(text))


def load_staff(root=ROOT):
    """返回 工号 -> 人员。工号唯一，姓名不唯一。"""
    found = {}
    with (root / "config" / "人员.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found[row["工号"]] = Staff(
                row["工号"],
                row["姓名"],
                row["科室"],
                row["层级"],
                _day(row["见习截止"]),
                _day(row["免夜班起"]),
                _day(row["免夜班止"]),
            )
    return found


def _day(text):
    return date.fromisoformat(text) if text else None
