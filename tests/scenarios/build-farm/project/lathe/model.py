"""Jobs and their states."""

import json
from dataclasses import dataclass, field

TERMINAL = ("done", "failed", "skipped")


@dataclass
class Job:
    job_id: str
    target: str
    toolchain: str
    sources: str
    cost_seconds: int
    size_kib: int
    deps: tuple = ()
    flags: tuple = ()
    labels: tuple = ("arm",)
    priority: int = 5
    """1 is the most urgent, 9 the least."""
    fails: tuple = ()
    """Codes of the first attempts, in the simulation."""
    state: str = "waiting"
    attempt: int = 1
    not_before: int = 0
    history: list = field(default_factory=list)


def load_plan(path):
    """Return the jobs of a plan by id, in the order of the plan."""
    jobs = {}
    for row in json.loads(path.read_text("utf-8"))["jobs"]:
        for key in ("deps", "flags", "labels", "fails"):
            row[key] = tuple(row[key])
        jobs[row["job_id"]] = Job(**row)
    return jobs
