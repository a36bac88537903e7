"""Specimens: add, edit, move, remove."""

from herbarium.errors import HerbError
from herbarium.permissions import check

EDITABLE = ("taxon", "place", "collector", "collected_on", "remarks")


def add(app, user, taxon, place, collector, collected_on):
    check(user, "edit")
    app.store.get("taxa", taxon)
    if not place.strip():
        raise HerbError("HB-400", "place is missing")
    row = {
        "id": app.store.next_id("specimens"),
        "taxon": taxon,
        "place": place,
        "collector": collector,
        "collected_on": collected_on,
        "cabinet": "Intake",
        "remarks": "",
    }
    app.store.put("specimens", row)
    app.audit.write(user, "specimen.add", row["id"])
    app.bus.emit("specimens.changed", row["id"])
    return row["id"]


def edit(app, user, row_id, **values):
    check(user, "edit")
    row = app.store.get("specimens", row_id)
    unknown = sorted(set(values) - set(EDITABLE))
    if unknown:
        raise HerbError("HB-400", f"{row_id} has no field {', '.join(unknown)} to edit")
    if "taxon" in values:
        app.store.get("taxa", values["taxon"])
    row.update(values)
    app.store.put("specimens", row)
    app.audit.write(user, "specimen.edit", row_id, ", ".join(sorted(values)))
    app.bus.emit("specimens.changed", row_id)


def move(app, user, row_id, cabinet):
    check(user, "edit")
    row = app.store.get("specimens", row_id)
    if app.store.where("loans", specimen=row_id, returned_on=None):
        raise HerbError("HB-409", f"{row_id} is on loan")
    row["cabinet"] = cabinet
    app.store.put("specimens", row)
    app.audit.write(user, "specimen.move", row_id, cabinet)
    app.bus.emit("specimens.changed", row_id)


def remove(app, user, row_id):
    """Remove a specimen together with its notes and labels."""
    check(user, "remove")
    app.store.get("specimens", row_id)
    if app.store.where("loans", specimen=row_id, returned_on=None):
        raise HerbError("HB-409", f"{row_id} is on loan")
    for table in ("notes", "labels"):
        for row in app.store.where(table, specimen=row_id):
            app.store.remove(table, row["id"])
            app.bus.emit(f"{table}.removed", row["id"])
    app.store.remove("specimens", row_id)
    app.audit.write(user, "specimen.remove", row_id)
    app.bus.emit("specimens.removed", row_id)
