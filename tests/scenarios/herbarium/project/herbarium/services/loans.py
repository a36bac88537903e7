"""Loans: lend, extend, take back."""

from herbarium.clock import add_days
from herbarium.errors import HerbError
from herbarium.permissions import check


def lend(app, user, specimen, borrower):
    check(user, "lend")
    app.store.get("specimens", specimen)
    if app.store.where("loans", specimen=specimen, returned_on=None):
        raise HerbError("HB-409", f"{specimen} is on loan")
    today = app.clock.now()[:10]
    row = {
        "id": app.store.next_id("loans"),
        "specimen": specimen,
        "borrower": borrower,
        "lent_on": today,
        "due_on": add_days(today, app.config.loan_days),
        "extensions": 0,
        "returned_on": None,
    }
    app.store.put("loans", row)
    app.audit.write(user, "loan.lend", row["id"], f"{specimen} to {borrower}")
    app.bus.emit("loans.changed", row["id"])
    return row["id"]


def extend(app, user, row_id):
    check(user, "lend")
    row = app.store.get("loans", row_id)
    if row["returned_on"] is not None:
        raise HerbError("HB-409", f"{row_id} is returned")
    if row["extensions"] >= 1:
        raise HerbError("HB-409", f"{row_id} was extended already")
    row["due_on"] = add_days(row["due_on"], app.config.extension_days)
    row["extensions"] += 1
    app.store.put("loans", row)
    app.audit.write(user, "loan.extend", row_id, row["due_on"])
    app.bus.emit("loans.changed", row_id)


def take_back(app, user, row_id):
    check(user, "lend")
    row = app.store.get("loans", row_id)
    if row["returned_on"] is not None:
        raise HerbError("HB-409", f"{row_id} is returned")
    row["returned_on"] = app.clock.now()[:10]
    app.store.put("loans", row)
    app.audit.write(user, "loan.return", row_id)
    app.bus.emit("loans.changed", row_id)
