"""The log of the coordinator: one line per event, `key=value` fields in a fixed order."""


class EventLog:
    def __init__(self, clock):
        self.clock = clock
        self.lines = []

    def write(self, event, level="INFO", **fields):
        text = " ".join(f"{key}={value}" for key, value in fields.items())
        self.lines.append(f"{self.clock.stamp()} {level:<5} {event:<9} {text}")

    def save(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(self.lines) + "\n", "utf-8")
