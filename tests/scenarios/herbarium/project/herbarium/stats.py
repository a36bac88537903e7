"""Counts, computed when asked for and kept until a row changes."""


class Stats:
    def __init__(self, store, bus):
        self.store = store
        self._known = None
        for kind in ("specimens.changed", "specimens.removed", "loans.changed"):
            bus.on(kind, self.invalidate)

    def invalidate(self, row_id):
        self._known = None

    def counts(self):
        if self._known is None:
            loans = [row for row in self.store.rows("loans") if row["returned_on"] is None]
            by_taxon = {}
            for row in self.store.rows("specimens"):
                by_taxon[row["taxon"]] = by_taxon.get(row["taxon"], 0) + 1
            self._known = {
                "specimens": sum(by_taxon.values()),
                "open_loans": len(loans),
                "by_taxon": by_taxon,
            }
        return self._known
