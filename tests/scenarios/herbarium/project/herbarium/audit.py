"""Who did what: append-only."""


class Audit:
    def __init__(self, store, clock):
        self.store = store
        self.clock = clock

    def write(self, user, action, row_id, detail=""):
        line = {"at": self.clock.now(), "user": user, "action": action, "row": row_id}
        if detail:
            line["detail"] = detail
        self.store.audit.append(line)

    def of(self, row_id):
        return [line for line in self.store.audit if line["row"] == row_id]
