"""OA 导出的请假单和代班单。导出文件由 OA 厂商生成，格式不太稳定。"""

import csv
import logging
import re
from datetime import date

from paiban.config import ROOT
from paiban.models import Leave, Swap

log = logging.getLogger("paiban.oa")
CN_DATE = re.compile(r"([0-9]{4})年([0-9]{1,2})月([0-9]{1,2})日")


def parse_day(text):
    """`2026年2月11日` 或 `2026-02-11`；解析不了返回 None。"""
    text = text.strip()
    match = CN_DATE.fullmatch(text)
    if match:
        return date(*map(int, match.groups()))
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def load_leaves(month, root=ROOT):
    leaves = []
    with (root / "data" / f"请假_{month}.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            first, last = parse_day(row["开始"]), parse_day(row["结束"])
            if first is None or last is None:
                log.debug("请假单 %s 日期无法解析，跳过：%s", row["单号"], row["开始"])
                continue
            leaves.append(
                Leave(row["单号"], row["工号"], row["姓名"], row["类型"], first, last, row["状态"])
            )
    return leaves


def load_swaps(month, root=ROOT):
    with (root / "data" / f"代班_{month}.csv").open(encoding="utf-8", newline="") as file:
        return [
            Swap(
                row["单号"],
                date.fromisoformat(row["日期"]),
                row["原班人"],
                row["代班人"],
                row["班次"],
                row["状态"],
            )
            for row in csv.DictReader(file)
        ]
