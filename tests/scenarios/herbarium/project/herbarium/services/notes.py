"""Notes on specimens."""

from herbarium.errors import HerbError
from herbarium.permissions import check


def add(app, user, specimen, text):
    check(user, "note")
    app.store.get("specimens", specimen)
    if not text.strip():
        raise HerbError("HB-400", f"{specimen} needs a text for a note")
    row = {
        "id": app.store.next_id("notes"),
        "specimen": specimen,
        "author": user,
        "text": text.strip(),
    }
    app.store.put("notes", row)
    app.audit.write(user, "note.add", row["id"], specimen)
    app.bus.emit("notes.changed", row["id"])
    return row["id"]


def remove(app, user, row_id):
    check(user, "note")
    row = app.store.get("notes", row_id)
    if row["author"] != user:
        raise HerbError("HB-403", f"{row_id} is a note of {row['author']}")
    app.store.remove("notes", row_id)
    app.audit.write(user, "note.remove", row_id)
    app.bus.emit("notes.removed", row_id)
