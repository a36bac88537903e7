"""Export for the regional register. The order of the columns is fixed."""

import csv
import io

COLUMNS = ("id", "accession_year", "taxon", "family", "place", "collector", "collected_on", "cabinet")


def export_csv(app):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in app.store.rows("specimens"):
        taxon = app.store.get("taxa", row["taxon"])
        values = {
            **row,
            "accession_year": row["collected_on"][:4],
            "taxon": taxon["name"],
            "family": taxon["family"],
        }
        writer.writerow(values[name] for name in COLUMNS)
    return out.getvalue()
