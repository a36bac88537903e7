"""Rows by table, in memory, saved as one JSON file."""

import copy
import json

from herbarium.errors import HerbError

TABLES = ("specimens", "taxa", "loans", "labels", "notes")
PREFIXES = {"specimens": "HB", "taxa": "TX", "loans": "LN", "labels": "LB", "notes": "NT"}


class Store:
    def __init__(self):
        self.tables = {name: {} for name in TABLES}
        self.counters = {name: 0 for name in TABLES}
        self.audit = []

    def next_id(self, table):
        self.counters[table] += 1
        return f"{PREFIXES[table]}-{self.counters[table]:06d}"

    def get(self, table, row_id):
        """Return a copy of a row; HB-404 if there is none."""
        row = self.tables[table].get(row_id)
        if row is None:
            raise HerbError("HB-404", f"{row_id} is not in {table}")
        return copy.deepcopy(row)

    def has(self, table, row_id):
        return row_id in self.tables[table]

    def put(self, table, row):
        self.tables[table][row["id"]] = copy.deepcopy(row)

    def remove(self, table, row_id):
        self.get(table, row_id)
        del self.tables[table][row_id]

    def rows(self, table):
        return [copy.deepcopy(row) for _, row in sorted(self.tables[table].items())]

    def where(self, table, **values):
        return [r for r in self.rows(table) if all(r.get(k) == v for k, v in values.items())]

    def save(self, path):
        data = {"tables": self.tables, "counters": self.counters, "audit": self.audit}
        path.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", "utf-8")

    @classmethod
    def load(cls, path):
        data = json.loads(path.read_text("utf-8"))
        store = cls()
        store.tables.update(data["tables"])
        store.counters.update(data["counters"])
        store.audit = data["audit"]
        return store
