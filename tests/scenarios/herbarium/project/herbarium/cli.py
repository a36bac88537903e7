"""Command line of the work room: one command on one store file."""

import argparse
import sys
from pathlib import Path

from herbarium import render
from herbarium.app import App
from herbarium.clock import StepClock, SystemClock
from herbarium.errors import HerbError
from herbarium.export import export_csv
from herbarium.permissions import check
from herbarium.services import importer, loans, specimens
from herbarium.store import Store


def show(app, options):
    check(options.user, "read")
    if options.table == "loans":
        return [render.loan_line(row) for row in app.store.rows("loans")]
    return [render.specimen_line(app, row) for row in app.store.rows("specimens")]


def move(app, options):
    specimens.move(app, options.user, options.id, options.cabinet)
    return [f"{options.id} is in {options.cabinet}"]


def remove(app, options):
    specimens.remove(app, options.user, options.id)
    return [f"{options.id} is removed"]


def lend(app, options):
    return [f"{loans.lend(app, options.user, options.id, options.borrower)} is open"]


def read_csv(app, options):
    text = Path(options.file).read_text("utf-8")
    return [f"{row_id} is added" for row_id in importer.import_csv(app, options.user, text)]


def write_csv(app, options):
    check(options.user, "read")
    return export_csv(app).splitlines()


def audit(app, options):
    check(options.user, "read")
    return [render.audit_line(line) for line in app.audit.of(options.id)]


COMMANDS = {
    "list": (show, ("table",)),
    "move": (move, ("id", "cabinet")),
    "remove": (remove, ("id",)),
    "lend": (lend, ("id", "borrower")),
    "import": (read_csv, ("file",)),
    "export": (write_csv, ()),
    "audit": (audit, ("id",)),
}


def main(arguments=None, out=sys.stdout):
    parser = argparse.ArgumentParser(prog="herbarium")
    parser.add_argument("store", type=Path)
    parser.add_argument("--user", default="guest")
    parser.add_argument("--demo-clock", action="store_true")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (_, positionals) in COMMANDS.items():
        command = commands.add_parser(name)
        for positional in positionals:
            command.add_argument(positional)
    options = parser.parse_args(arguments)
    clock = StepClock() if options.demo_clock else SystemClock()
    app = App(Store.load(options.store), clock)
    try:
        lines = COMMANDS[options.command][0](app, options)
    except HerbError as error:
        out.write(f"{error}\n")
        return 1
    app.store.save(options.store)
    out.write("".join(f"{line}\n" for line in lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
