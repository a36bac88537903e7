"""Load the exports into warehouse.db: rides, members, stations, invoice_items."""

import csv
import json
import sqlite3
from pathlib import Path

DATA = Path("data")


def rows(name):
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def region_by_station():
    found = {}
    for row in rows("stations.csv"):
        found.setdefault(int(row["station_no"]), row["region"])
    return found


def rides(regions):
    for row in rows("rides_nordau.csv"):
        yield (
            row["ride_id"],
            row["member_id"],
            row["bike_id"],
            row["started"],
            int(row["duration_s"]),
            int(row["distance_m"]),
            int(row["start_station"]),
            int(row["end_station"]),
            regions[int(row["start_station"])],
            "tallbyte",
        )
    for row in rows("rides_sonfeld.csv"):
        yield (
            row["trip"],
            row["rider"],
            row["vehicle"],
            row["begin"].replace("T", " ").rstrip("Z"),
            round(float(row["minutes"]) * 60),
            round(float(row["km"]) * 1000),
            int(row["from"]),
            int(row["to"]),
            regions[int(row["from"])],
            "ostrix",
        )


def items():
    with (DATA / "invoices.jsonl").open(encoding="utf-8") as file:
        for line in file:
            invoice = json.loads(line)
            for item in invoice["items"]:
                yield (
                    invoice["invoice"],
                    invoice["member"],
                    invoice["month"],
                    invoice["region"],
                    item["kind"],
                    item["cents"],
                )


def main():
    db = sqlite3.connect("warehouse.db")
    db.executescript(
        """
        CREATE TABLE rides (ride_id, member_id, bike_id, started, duration_s INTEGER,
            distance_m INTEGER, start_station INTEGER, end_station INTEGER, region, source);
        CREATE TABLE members (member_id, joined, region, plan, merged_into);
        CREATE TABLE stations (station_no INTEGER, region, name, docks INTEGER, opened);
        CREATE TABLE invoice_items (invoice, member_id, month, region, kind, cents INTEGER);
        """
    )
    db.executemany(f"INSERT INTO rides VALUES ({'?,' * 9}?)", rides(region_by_station()))
    members = (tuple(row.values()) for row in rows("members.csv"))
    db.executemany("INSERT INTO members VALUES (?, ?, ?, ?, ?)", members)
    stations = (tuple(row.values()) for row in rows("stations.csv"))
    db.executemany("INSERT INTO stations VALUES (?, ?, ?, ?, ?)", stations)
    db.executemany("INSERT INTO invoice_items VALUES (?, ?, ?, ?, ?, ?)", items())
    db.commit()
    db.close()


if __name__ == "__main__":
    main()
