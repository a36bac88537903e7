"""Command line: simulate, explain, replay."""

import argparse

from lathe.clock import VirtualClock
from lathe.config import ROOT, load_config, load_workers
from lathe.events import EventLog
from lathe.journal import read_segments, replay
from lathe.model import load_plan
from lathe.scheduler import Coordinator


def build(night, seed=None, restart_at=None, root=ROOT):
    """Return the coordinator of a night, with the cache as it was at 22:00Z."""
    clock = VirtualClock(night)
    log = EventLog(clock)
    jobs = load_plan(root / f"plans/nightly-{night}.json")
    farm = Coordinator(jobs, load_workers(root), load_config(root), clock, log, seed, restart_at)
    index = root / f"cache/index-{night}.json"
    if index.is_file():
        farm.cache.load(index)
    return farm


def simulate(options):
    farm = build(options.night, options.seed, options.restart_at)
    figures = farm.run()
    if options.log:
        farm.log.save(ROOT / options.log)
    if options.full:
        print("\n".join(farm.log.lines))
    print("\n".join(f"{key:<12} {value}" for key, value in figures.items()))
    return 0 if figures["outcome"] == "OVER" else 1


def explain(options):
    path = ROOT / (options.log or f"logs/nightly-{options.night}.log")
    leases = set()
    for line in path.read_text("utf-8").splitlines():
        fields = dict(part.split("=", 1) for part in line.split() if "=" in part)
        if fields.get("job") == options.job:
            leases.add(fields.get("lease"))
            print(line)
        elif fields.get("lease") in leases:
            print(line)
    return 0


def show_replay(options):
    states = replay(read_segments(ROOT / "journal", options.night))
    for job_id, state in sorted(states.items()):
        print(f"{state:<8} {job_id}")
    return 0


def main():
    parser = argparse.ArgumentParser(prog="lathe")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("simulate")
    one.add_argument("--seed", type=int)
    one.add_argument("--restart-at", type=int)
    one.add_argument("--log")
    one.add_argument("--full", action="store_true")
    one.set_defaults(run=simulate)
    two = commands.add_parser("explain")
    two.add_argument("--job", required=True)
    two.add_argument("--log")
    two.set_defaults(run=explain)
    three = commands.add_parser("replay")
    three.set_defaults(run=show_replay)
    for command in (one, two, three):
        command.add_argument("--night", required=True)
    options = parser.parse_args()
    return options.run(options)


if __name__ == "__main__":
    raise SystemExit(main())
