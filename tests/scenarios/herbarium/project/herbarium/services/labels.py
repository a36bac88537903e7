"""Labels: queue for printing, mark as printed."""

from herbarium.errors import HerbError
from herbarium.permissions import check


def queue(app, user, specimen, copies=1):
    check(user, "print")
    app.store.get("specimens", specimen)
    if not 1 <= copies <= 5:
        raise HerbError("HB-400", f"{specimen} cannot have {copies} copies")
    row = {
        "id": app.store.next_id("labels"),
        "specimen": specimen,
        "copies": copies,
        "printed_at": None,
    }
    app.store.put("labels", row)
    app.audit.write(user, "label.queue", row["id"], specimen)
    app.bus.emit("labels.changed", row["id"])
    return row["id"]


def mark_printed(app, user, row_id):
    check(user, "print")
    row = app.store.get("labels", row_id)
    if row["printed_at"] is not None:
        raise HerbError("HB-409", f"{row_id} is printed")
    row["printed_at"] = app.clock.now()
    app.store.put("labels", row)
    app.audit.write(user, "label.print", row_id)
    app.bus.emit("labels.changed", row_id)
