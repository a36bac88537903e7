"""在当前目录（`project/` 的副本）里生成班表、OA 导出、打卡、财务核定表和日志，种子固定。

财务核定表按办法第三版另行计算，不经过项目代码；日志是项目里有错的代码自己写的。
"""

import csv
import logging
import random
import sys
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path.cwd()))

CYCLE = "AAPPRNNR"
STATUTORY = {date(2026, 2, day) for day in (16, 17, 18, 19)}
FEES = {"P": Decimal("85.50"), "N": Decimal("130.00")}
HOURS = {"A": (8, 16), "P": (16, 24), "N": (0, 8)}
SWAPS = (  # 单号, 日, 原班人, 代班人, 状态
    ("HB2026020304", 3, "N1001", "N1005", "已生效"),
    ("HB2026020511", 5, "N1009", "N1011", "已撤销"),
    ("HB2026020702", 7, "N2015", "N2009", "已生效"),
    ("HB2026021006", 10, "N2009", "N2011", "待审批"),
    ("HB2026021108", 11, "N1009", "N1010", "已生效"),
    ("HB2026021503", 15, "N3007", "N3001", "待审批"),
    ("HB2026021601", 16, "N2014", "N2013", "已撤销"),
    ("HB2026021705", 17, "N1006", "N1004", "驳回"),
    ("HB2026021902", 19, "N1012", "N1010", "已生效"),
    ("HB2026022203", 22, "N2001", "N2007", "已生效"),
    ("HB2026022407", 24, "N3006", "N3005", "已生效"),
)
LATE_SWAP = "HB2026022407"  # 财务封表之后才补批
WORKED_ANYWAY = "HB2026021503"  # 待审批，但代班人实际上了班
LEAVES = (  # 单号, 工号, 类型, 起, 止, 状态, 是否全角
    ("QJ2026020201", "N2003", "年假", 2, 6, "已批准", False),
    ("QJ2026020915", "N1012", "病假", 8, 10, "已批准", True),
    ("QJ2026021002", "N3004", "事假", 12, 14, "已批准", False),
    ("QJ2026021207", "N2008", "年假", 17, 20, "已批准", True),
    ("QJ2026021310", "N1016", "事假", 14, 15, "已撤回", False),
    ("QJ2026021811", "N1014", "病假", 24, 26, "已批准", True),
    ("QJ2026022301", "N2010", "婚假", 23, 27, "已批准", False),
)
PLANTED = {  # 3 月下半月：工号 -> {日: 班次}
    "N1003": {21: "A"},
    "N1011": {29: "A"},
    "N2012": {20: "N"},
    "N2011": {18: "P", 19: "P"},
    "N2005": {19: "P", 29: "N"},
    "N2002": {24: "R"},
    "N2003": {24: "R"},
}


def write_rows(path, header, rows):
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def people():
    with Path("config/人员.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def roster(staff, first, last, start):
    rows = []
    for number in range((last - first).days + 1):
        day = first + timedelta(days=number)
        for person in staff:
            phase = ((day - start).days + int(person["工号"][-2:])) % len(CYCLE)
            code = CYCLE[phase]
            begin, end = person["免夜班起"], person["免夜班止"]
            if code in "PN" and begin and begin <= day.isoformat() <= end:
                code = "A"
            if day.month == 3:
                code = PLANTED.get(person["工号"], {}).get(day.day, code)
            rows.append((day.isoformat(), person["科室"], person["工号"], code))
    return rows


def oa_exports(rows, names):
    codes = {(row[0], row[2]): row[3] for row in rows}
    swaps = []
    for number, day, old, new, status in SWAPS:
        text = f"2026-02-{day:02d}"
        assert codes[text, old] in "PN", (number, codes[text, old])
        assert codes[text, new] == "R", (number, codes[text, new])
        swaps.append((number, text, old, new, codes[text, old], status))
    header = ("单号", "日期", "原班人", "代班人", "班次", "状态")
    write_rows("data/代班_2026-02.csv", header, swaps)
    wide = str.maketrans("0123456789", "０１２３４５６７８９")
    leaves = []
    for number, staff_id, kind, first, last, status, is_wide in LEAVES:
        texts = [f"2026年2月{day}日" for day in (first, last)]
        texts = [text.translate(wide) for text in texts] if is_wide else texts
        leaves.append((number, staff_id, names[staff_id], kind, *texts, status))
    header = ("单号", "工号", "姓名", "类型", "开始", "结束", "状态")
    write_rows("data/请假_2026-02.csv", header, leaves)
    march = [
        ("QJ2026030207", "N2007", "龚雅琴", "年假", "2026年3月21日", "2026年3月25日", "已批准"),
        ("QJ2026030310", "N1005", "卢晨曦", "事假", "2026年3月18日", "2026年3月19日", "已批准"),
        ("QJ2026030402", "N3006", "褚明轩", "病假", "2026年3月27日", "2026年3月29日", "已批准"),
    ]
    write_rows("data/请假_2026-03.csv", header, march)
    return swaps


def worked(rows, swaps, skip):
    """返回实际出勤 (日, 工号, 班次)：生效的代班，去掉已批准的请假。"""
    moved = {(s[1], s[2]): s[3] for s in swaps if s[5] == "已生效" and s[0] not in skip}
    away = {
        (f"2026-02-{day:02d}", leave[1])
        for leave in LEAVES
        if leave[5] == "已批准"
        for day in range(leave[3], leave[4] + 1)
    }
    found = [(r[0], moved.get((r[0], r[2]), r[2]), r[3]) for r in rows if r[3] != "R"]
    return sorted(item for item in found if item[:2] not in away)


def finance(shifts, probation):
    table = {}
    for text, staff_id, code in shifts:
        if code not in "PN":
            continue
        amount = FEES[code] * (3 if date.fromisoformat(text) in STATUTORY else 1)
        if text < probation.get(staff_id, ""):  # 财务漏了“截止日当日仍按见习期计”
            amount *= Decimal("0.75")
        row = table.setdefault(staff_id, [0, 0, Decimal(0)])
        row["PN".index(code)] += 1
        row[2] += amount.quantize(Decimal("0.01"), ROUND_HALF_UP)
    rows = [(key, *value) for key, value in sorted(table.items())]
    write_rows("data/财务核定_2026-02.csv", ("工号", "小夜", "大夜", "金额"), rows)


def punches(shifts, swaps, rng):
    late = {s[0]: s for s in swaps}[WORKED_ANYWAY]
    rows = []
    for text, staff_id, code in shifts:
        if (text, staff_id) == (late[1], late[2]):
            staff_id = late[3]
        begin, end = HOURS[code]
        day = datetime.fromisoformat(text)
        came = day + timedelta(hours=begin, minutes=-rng.randint(3, 24))
        left = day + timedelta(hours=end, minutes=rng.randint(2, 31))
        rows.append((text, staff_id, code, came.isoformat(" "), left.isoformat(" ")))
    write_rows("his/daka_2026-02.csv", ("riqi", "gonghao", "banci", "shangban", "xiaban"), rows)


class Clock(logging.Formatter):
    """每一行晚 7 毫秒，与机器时间无关。"""

    def __init__(self):
        super().__init__()
        self.now = datetime(2026, 3, 2, 2, 0, 0)

    def format(self, record):
        self.now += timedelta(milliseconds=7)
        stamp = self.now.isoformat(" ", timespec="milliseconds")
        return f"{stamp} {record.levelname:<5} {record.name} {record.getMessage()}"


def write_log():
    from paiban.cli import compute

    Path("logs").mkdir(exist_ok=True)
    handler = logging.FileHandler("logs/夜班费_2026-03-02.log", "w", encoding="utf-8")
    handler.setFormatter(Clock())
    log = logging.getLogger("paiban")
    log.setLevel(logging.DEBUG)
    log.addHandler(handler)
    log.info("开始计费 month=2026-02 version=1.4.2 operator=cron")
    fees, _ = compute("2026-02", Path.cwd())
    log.info("结束 人数=%d 合计=%.2f", len(fees), sum(fee.amount for fee in fees.values()))
    handler.close()


def main():
    staff = people()
    names = {person["工号"]: person["姓名"] for person in staff}
    february = roster(staff, date(2026, 2, 1), date(2026, 2, 28), date(2026, 2, 1))
    header = ("日期", "科室", "工号", "班次")
    write_rows("data/排班_2026-02.csv", header, february)
    march = roster(staff, date(2026, 3, 16), date(2026, 3, 31), date(2026, 2, 1))
    write_rows("data/排班_2026-03下.csv", header, march)
    swaps = oa_exports(february, names)
    probation = {p["工号"]: p["见习截止"] for p in staff if p["见习截止"]}
    finance(worked(february, swaps, {LATE_SWAP}), probation)
    punches(worked(february, swaps, set()), swaps, random.Random(20260302))
    write_log()


main()
