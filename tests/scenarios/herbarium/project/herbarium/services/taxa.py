"""Taxa: add, rename, merge."""

from herbarium.errors import HerbError
from herbarium.permissions import check


def add(app, user, name, family):
    check(user, "taxa")
    if app.store.where("taxa", name=name):
        raise HerbError("HB-409", f"{name} exists already")
    row = {"id": app.store.next_id("taxa"), "name": name, "family": family, "synonyms": []}
    app.store.put("taxa", row)
    app.audit.write(user, "taxon.add", row["id"], name)
    app.bus.emit("taxa.changed", row["id"])
    return row["id"]


def rename(app, user, row_id, name):
    check(user, "taxa")
    row = app.store.get("taxa", row_id)
    row["synonyms"] = [*row["synonyms"], row["name"]]
    row["name"] = name
    app.store.put("taxa", row)
    app.audit.write(user, "taxon.rename", row_id, name)
    app.bus.emit("taxa.changed", row_id)


def merge(app, user, source_id, target_id):
    """Give all specimens of one taxon to another and remove the first."""
    check(user, "taxa")
    source, target = app.store.get("taxa", source_id), app.store.get("taxa", target_id)
    if source_id == target_id:
        raise HerbError("HB-400", f"{source_id} cannot be merged with itself")
    moved = app.store.where("specimens", taxon=source_id)
    for row in moved:
        row["taxon"] = target_id
        app.store.put("specimens", row)
    target["synonyms"] = [*target["synonyms"], source["name"], *source["synonyms"]]
    app.store.put("taxa", target)
    app.store.remove("taxa", source_id)
    app.audit.write(user, "taxon.merge", source_id, f"into {target_id}, {len(moved)} specimens")
    for row in moved:
        app.bus.emit("specimens.changed", row["id"])
    app.bus.emit("taxa.changed", target_id)
    app.bus.emit("taxa.removed", source_id)
