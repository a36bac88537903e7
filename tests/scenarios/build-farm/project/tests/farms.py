"""Small farms for tests."""

from lathe.clock import VirtualClock
from lathe.config import Config
from lathe.events import EventLog
from lathe.model import Job
from lathe.scheduler import Coordinator

SETTINGS = {
    "farm": {"tick_seconds": 10, "horizon_seconds": 21600, "seed": 41},
    "lease": {"ttl_seconds": 120, "heartbeat_seconds": 30, "grace_seconds": 15},
    "queue": {"aging_seconds": 600},
    "retry": {
        "max_attempts": 4,
        "base_seconds": 20,
        "cap_seconds": 300,
        "permanent": ["LT-001", "LT-088", "LT-424"],
    },
    "cache": {"capacity_kib": 46000},
    "journal": {"records_per_segment": 12},
}


def worker(number, offset=0, speed=100, labels=("arm", "host")):
    return {
        "worker_id": f"w{number:02d}",
        "speed_percent": speed,
        "labels": list(labels),
        "clock_offset_seconds": offset,
    }


def job(job_id, *deps, **more):
    fields = {
        "target": job_id,
        "toolchain": "armcc-14.3",
        "sources": "5f0c21aa97d3",
        "cost_seconds": 60,
        "size_kib": 500,
        **more,
    }
    return Job(job_id=job_id, deps=tuple(deps), **fields)


def diamond():
    """One library, three users of it, one image of all."""
    rows = [job("lib"), job("a", "lib"), job("b", "lib"), job("c", "lib"), job("image", "a", "b", "c")]
    return {row.job_id: row for row in rows}


def farm(jobs, workers, seed=41, restart_at=None, **sections):
    settings = {name: {**values, **sections.get(name, {})} for name, values in SETTINGS.items()}
    clock = VirtualClock("2026-05-12")
    return Coordinator(jobs, workers, Config(settings), clock, EventLog(clock), seed, restart_at)


def count(coordinator, event):
    return sum(line.split()[2] == event for line in coordinator.log.lines)
