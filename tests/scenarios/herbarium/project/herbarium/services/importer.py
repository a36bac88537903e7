"""Import of specimens from CSV: all rows or none."""

import csv
import io

from herbarium.errors import HerbError
from herbarium.permissions import check
from herbarium.services import specimens

COLUMNS = ("taxon", "place", "collector", "collected_on")


def import_csv(app, user, text):
    """Add all specimens of a CSV text and return their ids."""
    check(user, "import")
    rows = list(csv.DictReader(io.StringIO(text)))
    if len(rows) > app.config.import_rows:
        raise HerbError("HB-400", f"{len(rows)} rows are more than {app.config.import_rows}")
    for number, row in enumerate(rows, 1):
        missing = [name for name in COLUMNS if not (row.get(name) or "").strip()]
        if missing:
            raise HerbError("HB-400", f"row {number} has no {', '.join(missing)}")
        app.store.get("taxa", row["taxon"])
    return [specimens.add(app, user, *(row[name] for name in COLUMNS)) for row in rows]
