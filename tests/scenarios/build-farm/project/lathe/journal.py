"""The journal: every change of state, in segments, and recovery from it."""

import json


class Journal:
    def __init__(self, records_per_segment=24):
        self.records_per_segment = records_per_segment
        self.segments = {}
        self._count = 0

    def append(self, **record):
        number = self._count // self.records_per_segment + 1
        record["seq"] = self._count
        self.segments.setdefault(f"{number}.jsonl", []).append(json.dumps(record))
        self._count += 1

    def write(self, folder, night):
        folder.mkdir(parents=True, exist_ok=True)
        for name, lines in self.segments.items():
            (folder / f"{night}.{name}").write_text("\n".join(lines) + "\n", "utf-8")


def read_segments(folder, night):
    return {
        path.name.removeprefix(f"{night}."): path.read_text("utf-8").splitlines()
        for path in folder.glob(f"{night}.*.jsonl")
    }


def parse(line):
    if not line.endswith("}"):
        raise ValueError(f"incomplete record {line!r}")
    return json.loads(line)


def replay(segments):
    """Return the last state of each job according to the journal."""
    states = {}
    for name in sorted(segments):
        for line in segments[name]:
            record = parse(line)
            states[record["job"]] = record["state"]
    return states
