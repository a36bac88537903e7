"""A bus for events about rows. Kinds are `<table>.changed` and `<table>.removed`."""

from herbarium.store import TABLES

KINDS = tuple(f"{table}.{what}" for table in TABLES for what in ("changed", "removed"))


class Bus:
    def __init__(self):
        self._handlers = {kind: [] for kind in KINDS}

    def on(self, kind, handler):
        self._handlers[kind].append(handler)

    def emit(self, kind, row_id):
        for handler in self._handlers[kind]:
            handler(row_id)
