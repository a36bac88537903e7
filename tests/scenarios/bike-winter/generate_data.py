"""Write the exports of one winter into `data/`, seeded, faults included, and load the warehouse."""

import csv
import json
import random
import subprocess
import sys
from collections import Counter, defaultdict
from datetime import date, datetime, timedelta
from pathlib import Path

MONTHS = {
    "2025-10": 1.0,
    "2025-11": 0.8,
    "2025-12": 0.6,
    "2026-01": 0.5,
    "2026-02": 0.6,
    "2026-03": 0.9,
}
MEMBERS = 1180
PLANS = (("flex", 46), ("flat", 27), ("student", 15), ("company", 10), ("staff", 2))
PRICE = {"flex": 0, "flat": 1490, "student": 790, "company": 1990, "staff": 0}
REGIONS = ("Nordau", "Sonfeld")
STATIONS = {"Nordau": range(101, 141), "Sonfeld": range(135, 169)}
SYLLABLES = (
    "Al",
    "Ber",
    "Cor",
    "Dun",
    "El",
    "Fal",
    "Gar",
    "Hol",
    "Il",
    "Jas",
    "Kor",
    "Lin",
    "Mar",
    "Nor",
)
ENDS = ("gate", "markt", "ufer", "platz", "hof", "weg", "park", "brug", "haven", "feld")
SUMMER_ENDS, SUMMER_BEGINS = datetime(2025, 10, 26, 3), datetime(2026, 3, 29, 2)
METRES = (date(2026, 1, 12), date(2026, 1, 25))
LOCAL_FROM = "2026-03-01"
TWICE = (date(2025, 11, 17), date(2025, 11, 23))
HOURS = (6, 7, 7, 7, 8, 8, 9, 10, 11, 12, 13, 14, 15, 16, 16, 17, 17, 17, 18, 18, 19, 20, 21, 22)


def write_csv(name, header, rows):
    with Path("data", name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def stations(rng):
    names = [a + b for a in SYLLABLES for b in ENDS]
    rng.shuffle(names)
    rows = []
    for region in REGIONS:
        for number in STATIONS[region]:
            opened = date(2018, 3, 1) + timedelta(days=rng.randrange(2500))
            rows.append(
                (f"{number:04d}", region, names.pop(), rng.choice((8, 12, 16, 20, 24)), opened)
            )
    write_csv("stations.csv", ("station_no", "region", "name", "docks", "opened"), rows)


def members(rng):
    """Accounts; some have an older account that was merged into them later."""
    rows, people = [], []
    for k in range(MEMBERS):
        plan = rng.choices([p for p, _ in PLANS], [w for _, w in PLANS])[0]
        region = rng.choices(REGIONS, (58, 42))[0]
        joined = date(2023, 1, 1) + timedelta(days=rng.randrange(1170))
        number = f"M-{100003 + k * 7}"
        rows.append((number, joined.isoformat(), region, plan, ""))
        rate = 0 if rng.random() < 0.28 else rng.choice((0.6, 1.2, 2, 2, 4, 4, 7, 11))
        rate = 9 if plan == "staff" else rate
        people.append(
            {
                "id": number,
                "old": "",
                "region": region,
                "plan": plan,
                "joined": joined,
                "rate": rate,
            }
        )
        if plan != "staff" and joined > date(2025, 5, 1) and rng.random() < 0.33:
            old = f"M-{100006 + k * 7}"
            rows.append(
                (
                    old,
                    (joined - timedelta(days=rng.randint(100, 400))).isoformat(),
                    region,
                    plan,
                    number,
                )
            )
            people[-1].update(old=old, joined=joined - timedelta(days=100))
    rows.sort()
    write_csv("members.csv", ("member_id", "joined", "region", "plan", "merged_into"), rows)
    return people


def rides(rng, people):
    """Rides as they were: local start, seconds, metres."""
    for person in people:
        for month, season in MONTHS.items():
            mean = person["rate"] * season
            count = (
                int(mean) + (rng.random() < mean - int(mean)) + (rng.random() < 0.12 and mean > 0)
            )
            for _ in range(count):
                yield ride(rng, person, start(rng, month))
        if person["region"] == "Sonfeld" and person["rate"] and rng.random() < 0.17:
            night = datetime(2026, 1, 1, 0, rng.randint(4, 57), rng.randrange(60))
            yield ride(rng, person, night)


def start(rng, month):
    first = date.fromisoformat(f"{month}-01")
    days = ((first + timedelta(days=32)).replace(day=1) - first).days
    while True:
        day = first + timedelta(days=rng.randrange(days))
        if day.weekday() < 5 or rng.random() < 0.55:
            break
    hour = (
        rng.choice(HOURS)
        if day.weekday() < 5
        else rng.choice((9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 0))
    )
    return datetime(day.year, day.month, day.day, hour, rng.randrange(60), rng.randrange(60))


def ride(rng, person, begin):
    metres = int(rng.lognormvariate(7.9, 0.55)) + 150
    seconds = int(metres / rng.uniform(2.6, 4.9)) + rng.randint(30, 200)
    if rng.random() < 0.035:
        metres, seconds = rng.randint(0, 40), rng.randint(5, 58)
    own = STATIONS[person["region"]]
    bike = (
        f"B{rng.randint(1, 420):04d}"
        if rng.random() > (0.5 if person["plan"] == "staff" else 0.004)
        else f"T{rng.randint(1, 12):03d}"
    )
    ends = (min(rng.choice(own), rng.choice(own)), rng.choice(own))
    account = (
        person["old"]
        if person["old"] and begin.date() < person["joined"] + timedelta(days=rng.randint(160, 300))
        else person["id"]
    )
    return {
        "person": person,
        "account": account,
        "bike": bike,
        "begin": begin,
        "s": seconds,
        "m": metres,
        "ends": ends,
    }


def is_billed(ride):
    return ride["s"] >= 60 and ride["person"]["plan"] != "staff" and ride["bike"][0] == "B"


def nordau(rng, found):
    rows = []
    for k, item in enumerate(found):
        week = f"w{item['begin'].isocalendar()[1]:02d}"
        stamp = item["begin"].strftime("%Y-%m-%d %H:%M:%S")
        ends = (f"{n:04d}" for n in item["ends"])
        rows.append(
            [
                f"R{200000 + k * 3}",
                item["account"],
                item["bike"],
                stamp,
                item["s"],
                item["m"],
                *ends,
                week,
            ]
        )
    rows += [[*row[:-1], "w47b"] for row in rows if row[-1] == "w47"]
    again = rng.sample([row for row in rows if row[-1] in ("w06", "w07")], 61)
    rows += [[row[0] + "-r", *row[1:-1], "w08"] for row in again]
    rows.sort(key=lambda row: (row[-1], row[3], row[0]))
    columns = (
        "ride_id member_id bike_id started duration_s distance_m start_station end_station batch"
    )
    write_csv("rides_nordau.csv", columns.split(), rows)


def sonfeld(found):
    rows = []
    for k, item in enumerate(found):
        begin = item["begin"]
        utc = begin - timedelta(hours=1 if SUMMER_ENDS <= begin < SUMMER_BEGINS else 2)
        is_local = begin.date().isoformat() >= LOCAL_FROM
        stamp = (begin if is_local else utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        km = (
            f"{item['m']}.0"
            if METRES[0] <= begin.date() <= METRES[1]
            else f"{item['m'] / 1000:.3f}"
        )
        minutes = f"{item['s'] / 60:.1f}"
        trip = f"OX-{70000 + k * 2}"
        rows.append(
            (
                trip,
                item["account"],
                item["bike"],
                stamp,
                minutes,
                km,
                *item["ends"],
                2 if is_local else 1,
            )
        )
    columns = ["trip", "rider", "vehicle", "begin", "minutes", "km", "from", "to", "v"]
    write_csv("rides_sonfeld.csv", columns, rows)


def invoices(rng, people, billed):
    """One invoice per member and month; gross in Sonfeld, net amounts are multiples of 5."""
    revenue, number = Counter(), 5000
    with Path("data", "invoices.jsonl").open("w", encoding="utf-8") as file:
        for month in MONTHS:
            for person in people:
                if person["joined"].isoformat()[:7] > month or person["plan"] == "staff":
                    continue
                used = billed[person["id"], month]
                price = 0 if person["plan"] == "flat" else 45 if person["plan"] == "student" else 95
                items = [("plan", PRICE[person["plan"]]), ("usage", used * price)]
                if used and rng.random() < 0.04:
                    items.append(("refund", 5 * rng.randint(20, 120)))
                items = [(kind, cents) for kind, cents in items if cents]
                if not items:
                    continue
                number += rng.randint(1, 3)
                rate = 6 if person["region"] == "Sonfeld" else 5
                for kind, cents in items:
                    revenue[month, person["region"]] += -cents if kind == "refund" else cents
                row = {
                    "invoice": f"F{number}",
                    "member": person["id"],
                    "month": month,
                    "region": person["region"],
                }
                row["items"] = [{"kind": kind, "cents": cents * rate // 5} for kind, cents in items]
                file.write(json.dumps(row) + "\n")
    return revenue


def main():
    rng = random.Random(20260401)
    Path("data").mkdir()
    stations(rng)
    people = members(rng)
    found = sorted(rides(rng, people), key=lambda r: (r["begin"], r["account"], r["bike"]))
    nordau(rng, [r for r in found if r["person"]["region"] == "Nordau"])
    sonfeld([r for r in found if r["person"]["region"] == "Sonfeld"])
    counts, billed = Counter(), defaultdict(int)
    for item in filter(is_billed, found):
        month = item["begin"].strftime("%Y-%m")
        counts[month, item["person"]["region"]] += 1
        billed[item["person"]["id"], month] += 1
    revenue = invoices(rng, people, billed)
    rows = [(m, r, counts[m, r], revenue[m, r]) for m in MONTHS for r in REGIONS]
    write_csv("finance_control.csv", ("month", "region", "billed_rides", "net_revenue_cents"), rows)
    subprocess.run([sys.executable, "etl/load.py"], check=True)


if __name__ == "__main__":
    main()
