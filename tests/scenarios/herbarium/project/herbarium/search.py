"""Words of specimens, kept up to date by events."""

import re


class SearchIndex:
    def __init__(self, store, bus):
        self.store = store
        self.words = {}
        for row in store.rows("specimens"):
            self.index(row["id"])
        bus.on("specimens.changed", self.index)
        bus.on("specimens.removed", self.forget)
        bus.on("taxa.changed", self.taxon_changed)

    def index(self, row_id):
        self.forget(row_id)
        row = self.store.get("specimens", row_id)
        taxon = self.store.get("taxa", row["taxon"])
        text = " ".join((taxon["name"], row["place"], row["collector"]))
        for word in re.findall(r"[a-z0-9]+", text.lower()):
            self.words.setdefault(word, set()).add(row_id)

    def forget(self, row_id):
        for ids in self.words.values():
            ids.discard(row_id)

    def taxon_changed(self, taxon_id):
        for row in self.store.where("specimens", taxon=taxon_id):
            self.index(row["id"])

    def find(self, text):
        """Return the ids of specimens that have all words, in order."""
        found = [self.words.get(word, set()) for word in re.findall(r"[a-z0-9]+", text.lower())]
        return sorted(set.intersection(*found)) if found else []
