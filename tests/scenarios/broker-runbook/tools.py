"""A message cluster of three nodes under maintenance: a small simulation with a clock of its own.

Its state is cluster.json in the scratch folder; each action takes the minutes that it says.
"""

import json
from pathlib import Path

MOST_UNACKED = 500
REBUILD_GB_PER_MINUTE = 4


class _Cluster:
    def __init__(self, root):
        self.file = root / "cluster.json"
        self.data = json.loads(self.file.read_text("utf-8"))

    def save(self, minutes):
        clock = _minutes(self.data["clock"]) + minutes
        self.data["clock"] = f"{clock // 60:02d}:{clock % 60:02d}"
        self.file.write_text(json.dumps(self.data, indent=2), "utf-8")
        return f"{self.data['clock']}Z "

    def unacked(self, node):
        return {name: g["unacked"].get(node, 0) for name, g in self.data["groups"].items()}


def _minutes(clock):
    hours, minutes = clock.split(":")
    return int(hours) * 60 + int(minutes)


def runbook(root: Path, section: str) -> str:
    """Read a section of the runbook: drain, disk, return or abort."""
    return json.loads((root / "runbook.json").read_text("utf-8"))[section]


def status(root: Path) -> str:
    """Show clock, nodes, groups and mutes."""
    data = _Cluster(root).data
    lines = [f"{data['clock']}Z"]
    for name, n in data["nodes"].items():
        lines.append(f"{name} {n['state']} leaders={n['leaders']} lag={n['lag']} disk={n['disk']}")
    for name, g in data["groups"].items():
        lines.append(f"{name} {g['state']} unacked={sum(g['unacked'].values())}")
    lines += [f"{name} muted by {mute}" for mute, name in data["mutes"].items()]
    return "\n".join(lines)


def mute(root: Path, node: str, until: str) -> str:
    """Mute the alerts of a node until a time such as 04:00."""
    cluster = _Cluster(root)
    name = f"mute-{cluster.data['next_mute']}"
    cluster.data["mutes"][name] = node
    return cluster.save(1) + f"{name}: {node} until {until}Z"


def unmute(root: Path, mute_id: str) -> str:
    """End a mute."""
    cluster = _Cluster(root)
    node = cluster.data["mutes"].pop(mute_id)
    return cluster.save(1) + f"{mute_id} ended, {node} alerts again"


def pause_group(root: Path, group: str) -> str:
    """Pause a consumer group; its unacked messages go back to the queue."""
    cluster = _Cluster(root)
    cluster.data["groups"][group].update(state="paused", unacked={})
    return cluster.save(3) + f"{group} paused, unacked=0"


def resume_group(root: Path, group: str) -> str:
    """Resume a consumer group."""
    cluster = _Cluster(root)
    cluster.data["groups"][group]["state"] = "running"
    return cluster.save(2) + f"{group} running"


def drain(root: Path, node: str) -> str:
    """Move the leaders of a node away and stop it."""
    cluster = _Cluster(root)
    nodes = cluster.data["nodes"]
    down = [name for name, n in nodes.items() if n["state"] != "up"]
    if down:
        raise ValueError(f"BRK-30 {down[0]} is {nodes[down[0]]['state']}, two nodes would be out")
    waiting = cluster.unacked(node)
    if sum(waiting.values()) > MOST_UNACKED:
        most = max(waiting, key=waiting.get)
        raise ValueError(f"BRK-61 {sum(waiting.values())} unacked on {node}, most by {most}")
    target = min((name for name in nodes if name != node), key=lambda name: nodes[name]["lag"])
    moved = nodes[node]["leaders"]
    nodes[target]["leaders"] += moved
    nodes[node].update(state="drained", leaders=0)
    for group in cluster.data["groups"].values():
        group["unacked"].pop(node, None)
    return cluster.save(9) + f"{node} drained, {moved} leaders moved to {target}"


def swap_disk(root: Path, node: str, disk: str) -> str:
    """Book the swap of the disk by the technician on site; disk is the new serial."""
    cluster = _Cluster(root)
    entry = cluster.data["nodes"][node]
    if entry["state"] != "drained":
        raise ValueError(f"BRK-12 {node} is {entry['state']}, drain it first")
    old = entry["disk"]
    entry.update(disk=disk, state="empty")
    return cluster.save(17) + f"{node}: {old} out, {disk} in"


def start(root: Path, node: str, rebuild: bool = False) -> str:
    """Start a node."""
    cluster = _Cluster(root)
    entry = cluster.data["nodes"][node]
    if entry["state"] == "empty" and not rebuild:
        raise ValueError(f"BRK-14 journal of {node} is empty, start with --rebuild")
    minutes = entry["journal_gb"] // REBUILD_GB_PER_MINUTE
    entry.update(state="catching-up", lag=1870)
    return cluster.save(minutes) + f"{node} rebuilt in {minutes} min, lag=1870"


def wait(root: Path, node: str, minutes: int) -> str:
    """Wait; a node that catches up works off 260 messages of lag a minute."""
    cluster = _Cluster(root)
    entry = cluster.data["nodes"][node]
    entry["lag"] = max(12, entry["lag"] - 260 * minutes)
    return cluster.save(minutes) + f"{node} lag={entry['lag']}"


def undrain(root: Path, node: str) -> str:
    """Let a node take replicas again."""
    cluster = _Cluster(root)
    entry = cluster.data["nodes"][node]
    if entry["lag"] >= 50:
        raise ValueError(f"BRK-44 lag of {node} is {entry['lag']}, must be below 50")
    entry["state"] = "up"
    return cluster.save(4) + f"{node} up"


def write_log(root: Path, path: str, text: str) -> str:
    """Write the log of the change."""
    target = (root / path).resolve()
    if not target.is_relative_to(root.resolve()):
        raise ValueError(f"{path}: outside the folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, "utf-8")
    return f"wrote {path}, {len(text.splitlines())} lines"
