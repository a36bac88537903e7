"""The plant's historian and order book: raw values in data/, scaling in config/sensors.json."""

import csv
import json
from datetime import datetime, timedelta
from pathlib import Path
from statistics import fmean, pstdev

WH_PER_LITRE_KELVIN = 1.128
CIRCUITS = {1: ("FT-311", "TT-205", "TT-206"), 2: ("FT-312", "TT-207", "TT-208")}


def _sensors(root):
    return json.loads((root / "config" / "sensors.json").read_text("utf-8"))


def _sensor(root, tag):
    sensors = _sensors(root)
    if tag not in sensors:
        raise ValueError(f"HIS-404 no tag {tag}")
    return sensors[tag]


def _span(spans, moment):
    """Return the last span that has begun."""
    return [span for span in spans if span["from"] <= moment][-1]


def _scaled(raw, span):
    if "litres_per_pulse" in span:
        return raw * span["litres_per_pulse"]
    return span["low"] + (raw - 4000) / 16000 * (span["high"] - span["low"])


def _series(root, tag, start, end):
    spans = _sensor(root, tag)["spans"]
    with (root / "data" / f"{tag}.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row["time"], int(row["raw"])) for row in csv.DictReader(file)]
    return [(t, _scaled(raw, _span(spans, t))) for t, raw in rows if start <= t < end]


def _checked(start, end):
    if len(start) != 16 or len(end) != 16:
        raise ValueError(f"HIS-400 times are written 2026-11-05 02:10, got {start!r} and {end!r}")


def tag_info(root: Path, tag: str) -> str:
    """Return the record of a tag: place, cabinet, slot, serial number, spans and limits."""
    return json.dumps({tag: _sensor(root, tag)}, indent=1)


def trend(root: Path, tag: str, start: str, end: str, minutes: int = 60) -> str:
    """Return the means of a tag in steps of so many minutes; times like 2026-11-05 02:10."""
    _checked(start, end)
    rows = _series(root, tag, start, end)
    if not rows:
        raise ValueError(f"HIS-204 no values of {tag} from {start} to {end}")
    origin = datetime.fromisoformat(start)
    buckets = {}
    for moment, value in rows:
        number = (datetime.fromisoformat(moment) - origin) // timedelta(minutes=minutes)
        buckets.setdefault(number, []).append(value)
    lines = [
        f"{origin + timedelta(minutes=minutes * number):%m-%d %H:%M} {fmean(values):.2f}"
        for number, values in buckets.items()
    ]
    return f"{tag} {_sensor(root, tag)['unit']}\n" + "\n".join(lines)


def stats(root: Path, tags: list[str], start: str, end: str) -> str:
    """Return count, least, mean, greatest, deviation and the longest run of equal values."""
    _checked(start, end)
    lines = []
    for tag in tags:
        rows = _series(root, tag, start, end)
        values = [value for _, value in rows]
        best, first, run = 1, rows[0][0], 1
        for k in range(1, len(rows)):
            run = run + 1 if values[k] == values[k - 1] else 1
            if run > best:
                best, first = run, rows[k - run + 1][0]
        flat = f"flat {best} from {first}" if best > 12 else "not flat"
        lines.append(
            f"{tag}: n={len(values)} min={min(values):.2f} mean={fmean(values):.2f} "
            f"max={max(values):.2f} sd={pstdev(values):.2f} {flat}"
        )
    return "\n".join(lines)


def balance(root: Path, circuit: int, first_day: str, last_day: str) -> str:
    """Compare the heat sent into a circuit with what its substations metered, day by day."""
    flow, supply, back = (dict(_series(root, tag, "", "~")) for tag in CIRCUITS[circuit])
    with (root / "data" / "substations.csv").open(encoding="utf-8", newline="") as file:
        metered = {
            row["day"]: int(row["kwh"])
            for row in csv.DictReader(file)
            if row["circuit"] == str(circuit) and first_day <= row["day"] <= last_day
        }
    lines = ["day sent_kwh metered_kwh loss"]
    for day, kwh in metered.items():
        watt_hours = [
            litres * (supply[moment] - back[moment]) * WH_PER_LITRE_KELVIN
            for moment, litres in flow.items()
            if moment.startswith(day)
        ]
        sent = sum(watt_hours) / 1000
        lines.append(f"{day} {sent:.0f} {kwh} {100 * (sent - kwh) / sent:.2f} %")
    return "\n".join(lines)


def alarms(root: Path, start: str, end: str, word: str = "") -> str:
    """List the alarms of a time, all or those with a word in source, code or text."""
    _checked(start, end)
    with (root / "logs" / "alarms.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file) if start <= row[0] < end]
    return "\n".join(" | ".join(row) for row in rows if word in " | ".join(row)) or "none"


def orders(root: Path, word: str = "") -> str:
    """List the work orders, all or those that contain a word."""
    texts = [path.read_text("utf-8").strip() for path in sorted((root / "orders").glob("*.txt"))]
    return "\n\n".join(text for text in texts if word in text) or "none"


def create_order(root: Path, asset: str, priority: str, text: str) -> str:
    """Create a work order; priority is A (today), B (this week) or C."""
    if priority not in ("A", "B", "C"):
        raise ValueError(f"ORD-3 priority {priority!r}, must be A, B or C")
    numbers = [int(path.stem.split("-")[1]) for path in (root / "orders").glob("WO-*.txt")]
    number = max(numbers) + 7
    path = root / "orders" / f"WO-{number}.txt"
    path.write_text(f"WO-{number} {asset} priority {priority} open\n{text}\n", "utf-8")
    return f"WO-{number} created for {asset}, priority {priority}"


def change_order(root: Path, order_id: str, old: str, new: str) -> str:
    """Replace a text in a work order."""
    path = root / "orders" / f"{Path(order_id).name}.txt"
    if not path.is_file():
        raise ValueError(f"ORD-1 no order {order_id}")
    text = path.read_text("utf-8")
    if text.count(old) != 1:
        raise ValueError(f"ORD-2 {old!r} found {text.count(old)} times in {order_id}")
    path.write_text(text.replace(old, new), "utf-8")
    return f"{order_id} changed"
