"""Changes of many specimens at once."""

from herbarium.errors import HerbError
from herbarium.permissions import check
from herbarium.services import specimens


def move_all(app, user, row_ids, cabinet):
    """Move specimens; all of them are checked before one is moved."""
    check(user, "edit")
    for row_id in row_ids:
        app.store.get("specimens", row_id)
        if app.store.where("loans", specimen=row_id, returned_on=None):
            raise HerbError("HB-409", f"{row_id} is on loan")
    for row_id in row_ids:
        specimens.move(app, user, row_id, cabinet)
    return len(row_ids)
