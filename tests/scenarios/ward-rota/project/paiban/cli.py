"""命令行：fees 计费，explain 看一个人的明细，compare 与财务核对，check 校验班表。"""

import argparse
import csv
from pathlib import Path

from paiban.calendar import Calendar
from paiban.checks import check_all
from paiban.config import ROOT, load_rules, load_staff
from paiban.fees import night_fees
from paiban.models import SHIFT_NAMES
from paiban.oa import load_leaves, load_swaps
from paiban.roster import apply_swaps, drop_leaves, load_roster, month_roster


def compute(month, root=ROOT):
    staff = load_staff(root)
    shifts = apply_swaps(month_roster(month, root), load_swaps(month, root))
    shifts = drop_leaves(shifts, load_leaves(month, root), staff)
    return night_fees(shifts, staff, load_rules(root), Calendar.load(root)), staff


def show_fees(args):
    fees, staff = compute(args.month)
    for staff_id, fee in sorted(fees.items()):
        print(
            f"{staff_id} {staff[staff_id].ward:<4} 小夜 {fee.counts['P']:>2} "
            f"大夜 {fee.counts['N']:>2} {fee.amount:>10.2f} 元"
        )
    total = sum(fee.amount for fee in fees.values())
    print(f"合计 {len(fees)} 人，{total:.2f} 元（{total / 10000:.2f} 万元）")


def show_one(args):
    fees, staff = compute(args.month)
    fee = fees[args.staff]
    for day, code, amount in fee.lines:
        print(f"{day} {SHIFT_NAMES[code]} {amount:.2f} 元")
    print(f"{args.staff} {staff[args.staff].ward} 合计 {fee.amount:.2f} 元")


def show_compare(args):
    fees, _ = compute(args.month)
    path = ROOT / "data" / f"财务核定_{args.month}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = {row["工号"]: row for row in csv.DictReader(file)}
    differ = 0
    for staff_id in sorted(rows.keys() | fees.keys()):
        ours = f"{fees[staff_id].amount:.2f}" if staff_id in fees else "0.00"
        theirs = rows[staff_id]["金额"] if staff_id in rows else "0.00"
        if ours != theirs:
            differ += 1
            print(f"{staff_id} 系统 {ours} 财务 {theirs} 差 {float(ours) - float(theirs):+.2f}")
    print(f"{len(rows)} 人，不一致 {differ} 人")


def show_checks(args):
    shifts = load_roster(Path(args.file))
    found = check_all(shifts, load_staff(), load_rules())
    for finding in found:
        print(finding)
    print(f"违规 {len(found)} 项")


def main():
    parser = argparse.ArgumentParser(prog="paiban")
    commands = parser.add_subparsers(required=True)
    for name, run in (("fees", show_fees), ("explain", show_one), ("compare", show_compare)):
        command = commands.add_parser(name)
        command.add_argument("--month", required=True)
        if name == "explain":
            command.add_argument("--staff", required=True)
        command.set_defaults(run=run)
    command = commands.add_parser("check")
    command.add_argument("--file", required=True)
    command.set_defaults(run=show_checks)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
