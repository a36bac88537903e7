"""Command line: run, explain, reconcile."""

import argparse
import sys
from datetime import date, timedelta
from pathlib import Path

from settle.config import ROOT, load_config
from settle.export import bank_file
from settle.money import format_minor
from settle.pipeline import run_day
from settle.reconcile import differences, load_statement


def command_run(options):
    config = load_config()
    run = run_day(options.date, config=config)
    print(f"business day {run.day}: {len(run.orders)} orders, {len(run.refunds)} refunds")
    for payout in run.payouts:
        amount = format_minor(payout.amount_minor, payout.currency)
        print(f"{payout.reference:<22} {amount:>16}  {payout.status:<8} {payout.note}".rstrip())
    print(f"ledger balanced: {run.ledger.is_balanced()}, entries: {len(run.ledger.entries)}")
    if not options.dry_run:
        print(bank_file(run.payouts, config.partners), end="")
    return 0


def command_explain(options):
    config = load_config()
    partner = config.partners[options.partner]
    run = run_day(options.date, config=config)
    account = f"partner:{partner.id}"
    for entry in run.ledger.entries:
        if account in (entry.debit, entry.credit):
            sign = "+" if entry.credit == account else "-"
            print(f"{entry.key:<28} {sign}{entry.amount_minor:>9} {entry.currency}")
    print(f"{'balance':<28}  {run.ledger.balance(account, partner.currency):>9} {partner.currency}")
    return 0


def command_reconcile(options):
    config = load_config()
    run = run_day(options.date, config=config)
    booked = (date.fromisoformat(options.date) + timedelta(days=1)).isoformat()
    statement = load_statement(Path(ROOT) / f"data/bank_statement_{booked}.csv")
    found = differences(run.payouts, statement, config.get("reconcile", "tolerance_minor", 0))
    for item in found:
        print(f"{item.kind:<11} {item.reference:<24} ours {item.ours_minor:>9} bank {item.bank_minor:>9}")
    print(f"{len(found)} differences")
    return 1 if found else 0


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="settle")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, function in (
        ("run", command_run),
        ("explain", command_explain),
        ("reconcile", command_reconcile),
    ):
        command = commands.add_parser(name)
        command.add_argument("--date", required=True)
        command.set_defaults(function=function)
        if name == "run":
            command.add_argument("--dry-run", action="store_true")
        if name == "explain":
            command.add_argument("--partner", required=True)
    options = parser.parse_args(arguments)
    return options.function(options)


if __name__ == "__main__":
    sys.exit(main())
