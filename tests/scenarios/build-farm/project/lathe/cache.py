"""The artifact cache: least recently used goes first, pinned artifacts stay."""

import json
from dataclasses import asdict, dataclass


@dataclass
class Artifact:
    key: str
    job_id: str
    toolchain: str
    size_kib: int
    last_used: int


class ArtifactCache:
    def __init__(self, capacity_kib):
        self.capacity_kib = capacity_kib
        self.artifacts = {}
        self.pins = {}
        self.hits = 0
        self.misses = 0
        self.evicted = []

    @property
    def total_kib(self):
        return sum(item.size_kib for item in self.artifacts.values())

    def lookup(self, key, now):
        """Return the artifact or None; counts a hit or a miss."""
        found = self.artifacts.get(key)
        if found is None:
            self.misses += 1
        else:
            self.hits += 1
        return found

    def has(self, key):
        return key in self.artifacts

    def put(self, artifact):
        self.artifacts[artifact.key] = artifact
        return self._evict(keep=artifact.key)

    def pin(self, key):
        self.pins[key] = self.pins.get(key, 0) + 1

    def unpin(self, key):
        self.pins[key] = self.pins.get(key, 0) - 1

    def _evict(self, keep):
        gone = []
        while self.total_kib > self.capacity_kib:
            free = [a for a in self.artifacts.values() if self.pins.get(a.key, 0) <= 0]
            free = [a for a in free if a.key != keep]
            if not free:
                break
            oldest = min(free, key=lambda a: (a.last_used, a.key))
            del self.artifacts[oldest.key]
            gone.append(oldest)
        self.evicted += gone
        return gone

    def save(self, path):
        rows = [asdict(a) for a in self.artifacts.values()]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")

    def load(self, path):
        """Take over the artifacts of an earlier night; all of them count as used before 22:00."""
        for row in json.loads(path.read_text("utf-8")):
            row["last_used"] = min(row["last_used"], 0) - 1
            self.artifacts[row["key"]] = Artifact(**row)
