"""Simulated workers."""

from dataclasses import dataclass


@dataclass
class Worker:
    worker_id: str
    speed_percent: int
    labels: tuple
    clock_offset_seconds: int
    token: str | None = None

    def duration(self, job, rng):
        return job.cost_seconds * 100 // self.speed_percent + rng.randint(0, 6)


class Pool:
    def __init__(self, rows, extra_labels={}):
        self.extra_labels = extra_labels
        self.workers = {}
        for row in rows:
            row = {**row, "labels": tuple(row["labels"])}
            self.workers[row["worker_id"]] = Worker(**row)

    def add_label(self, worker_id, label):
        self.extra_labels.setdefault(worker_id, []).append(label)

    def labels_of(self, worker_id):
        return (*self.workers[worker_id].labels, *self.extra_labels.get(worker_id, ()))

    def idle(self):
        return [w for _, w in sorted(self.workers.items()) if w.token is None]
