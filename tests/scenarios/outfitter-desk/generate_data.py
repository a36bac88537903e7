"""Write `desk.db` into the current folder: the story of `data/*.json`, other customers seeded."""

import json
import random
import sqlite3
from datetime import datetime, timedelta
from pathlib import Path

NOW = "2026-05-12 09:02:00"
TABLES = {
    "meta": "key, value",
    "numbers": "kind, used",
    "customers": "customer_id, name, kind, email, phone, street, postcode, town, tier, points,"
    " since, contacts, failures, points_given",
    "verified": "customer_id, speaker, role",
    "orders": "order_id, customer_id, placed, state, total_cents, shipping_cents, express, payment,"
    " ship_name, street, postcode, town, address_changes, memo",
    "lines": "order_id, no, sku, title, qty, unit_cents, state, shipment_id, delivered",
    "shipments": "shipment_id, order_id, carrier, service, promised, headline, weight_grams,"
    " trace_answer",
    "events": "shipment_id, at, place, scan",
    "payments": "payment_id, order_id, at, state, amount_cents, card",
    "movements": "movement_id, kind, customer_id, order_id, amount_cents, method, code,"
    " ticket_id, at",
    "returns": "rma, order_id, line, qty, reason, state, grade, created, received",
    "tickets": "ticket_id, customer_id, queue, order_id, state, subject, log",
    "notes": "customer_id, at, author, text",
    "products": "sku, title, price_cents, stock, price_note",
    "approvals": "approval_id, order_id, amount_cents, reason, asked_at, used",
    "lead_limits": "order_id, max_cents",
    "traces": "trace_id, shipment_id, opened_at",
    "notices": "notice_id, at, limit_cents, text",
}
FIRST = (
    *("Alva", "Birk", "Corin", "Dagne", "Elske", "Fenn", "Gisla", "Hark"),
    *("Ilse", "Joren", "Kelda", "Lorn", "Mirre", "Nils", "Oda", "Pell"),
)
LAST = (
    *("Ashgrove", "Brackmoor", "Coldwell", "Dunnage", "Eldersby"),
    *("Fairlode", "Greythorn", "Hallowell", "Inchmere"),
)
ROADS = ("Hollowgate", "Brackenrow", "Millpath", "Ferry Lane")
TOWNS = (("4817", "Sunder"), ("4839", "Ostmere"), ("4871", "Karrow"), ("5012", "Lindhaven"))
HUBS = ("Lindhaven hub", "Karrow sorting centre", "Ostmere depot", "Sunder depot", "Tarn crossing")
SCANS = (
    "arrived at the sorting centre",
    "sorted",
    "loaded",
    "left the sorting centre",
    "weighed and measured",
    "container changed",
    "waiting for connection",
)


def story(name):
    return json.loads((Path("data") / f"{name}.json").read_text("utf-8"))


def insert(db, table, row):
    names = TABLES[table].split(", ")
    unknown = set(row) - set(names)
    if unknown:
        raise ValueError(f"{table}: {sorted(unknown)}")
    marks = ", ".join("?" * len(names))
    db.execute(f"INSERT INTO {table} VALUES ({marks})", [row.get(name, "") for name in names])


def customer(db, row):
    contacts = json.dumps(row.pop("contacts"))
    insert(db, "customers", {"failures": 0, "points_given": 0, **row, "contacts": contacts})


def order(db, row, owner, card):
    """An order of the story; what it does not say follows from its customer and its lines."""
    lines = row.pop("lines")
    payments = row.pop("payments", [["captured", None]])
    cost = sum(line["qty"] * line["unit_cents"] for line in lines)
    total = cost + row.get("shipping_cents", 0) - row.pop("voucher_cents", 0)
    home = {key: owner[key] for key in ("street", "postcode", "town")}
    base = {
        "customer_id": owner["customer_id"],
        "total_cents": total,
        "shipping_cents": 0,
        "express": "no",
    }
    place = {"payment": "card", "ship_name": owner["name"], **home, "address_changes": 0}
    insert(db, "orders", {**base, **place, **row})
    for no, line in enumerate(lines, 1):
        insert(db, "lines", {"order_id": row["order_id"], "no": no, **line})
    if row.get("payment") == "invoice":
        return
    for k, (state, amount) in enumerate(payments):
        number = f"PAY-{int(row['order_id'][2:]) * 7 % 900000 + 100000 + k}"
        paid = {"amount_cents": amount or total, "card": card, "at": row["placed"]}
        insert(
            db,
            "payments",
            {"payment_id": number, "order_id": row["order_id"], "state": state, **paid},
        )


def travel(rng, start, stop, final):
    """Scans of a parcel between two moments, then the scans of the story."""
    at, end, rows = datetime.fromisoformat(start), datetime.fromisoformat(stop), []
    place = rng.choice(HUBS)
    while at < end:
        rows.append((at.isoformat(" ")[:16], place, rng.choice(SCANS)))
        if rows[-1][2] == "left the sorting centre":
            place = rng.choice(HUBS)
        at += timedelta(minutes=rng.randint(55, 400))
    return [*rows, *final]


def shipment(db, rng, row):
    rows = travel(rng, row.pop("from"), row.pop("to"), [tuple(scan) for scan in row.pop("final")])
    insert(db, "shipments", {"weight_grams": rng.randint(700, 9000), **row})
    for at, place, scan in rows:
        insert(
            db,
            "events",
            {"shipment_id": row["shipment_id"], "at": at, "place": place, "scan": scan},
        )


def others(db, rng, products):
    """Other customers, and older orders of those of the story."""
    for k in range(40):
        postcode, town = rng.choice(TOWNS)
        name = f"{rng.choice(FIRST)} {rng.choice(LAST)}"
        number = f"C-{20500 + k * 37}"
        street = f"{rng.choice(ROADS)} {rng.randint(1, 60)}"
        row = {
            "customer_id": number,
            "name": name,
            "kind": "private",
            "email": f"{number.lower()}@post.example",
        }
        place = {
            "street": street,
            "postcode": postcode,
            "town": town,
            "since": f"20{rng.randint(15, 25)}-03-01",
        }
        customer(
            db,
            {
                **row,
                **place,
                "phone": "",
                "tier": "",
                "points": rng.randint(0, 900),
                "contacts": {name: "owner"},
            },
        )
        for _ in range(rng.randint(1, 5)):
            old_order(db, rng, products, {**row, **place}, ("2025-06-01", 330))


def old_order(db, rng, products, owner, window):
    start, days = window
    placed = datetime.fromisoformat(start) + timedelta(
        days=rng.randrange(days), minutes=rng.randrange(420, 1300)
    )
    done = (placed + timedelta(days=rng.randint(2, 6))).date().isoformat()
    picked = rng.sample(products, rng.randint(1, 3))
    lines = [
        {
            "sku": item["sku"],
            "title": item["title"],
            "qty": rng.randint(1, 2),
            "unit_cents": item["price_cents"],
            "state": "delivered",
            "delivered": done,
        }
        for item in picked
    ]
    number = db.execute("SELECT COUNT(*) FROM orders").fetchone()[0]
    stamp = placed.isoformat(" ")[:16]
    row = {
        "order_id": f"O-{760011 + number * 17}",
        "placed": stamp,
        "state": "delivered",
        "shipping_cents": 490,
    }
    paid = {"payment": "invoice"} if owner["kind"] == "business" else {}
    order(db, {**row, **paid, "memo": "", "lines": lines}, owner, f"**{rng.randint(10, 99)}")


def fill(db, rng):
    products = story("products")
    for row in products:
        insert(db, "products", {"price_note": "", **row})
    owners = {row["customer_id"]: row for row in story("customers")}
    for owner in owners.values():
        customer(db, dict(owner))
    products = [row for row in products if not row["sku"].startswith(("EMB-", "SAFE-"))]
    others(db, rng, products)
    for owner, count in (("C-20418", 11), ("C-31077", 14), ("C-18852", 3)):
        for _ in range(count):
            old_order(db, rng, products, owners[owner], ("2025-02-01", 280))
    for row in story("orders"):
        order(db, row, owners[row.pop("customer_id")], "**42")
    for row in story("shipments"):
        shipment(db, rng, row)
    for table in ("returns", "movements", "tickets", "notes", "lead_limits", "notices"):
        for row in story(table):
            insert(db, table, row)
    for kind in ("RF", "CN", "AP", "TR", "RMA", "T", "O"):
        insert(db, "numbers", {"kind": kind, "used": 0})


def main():
    db = sqlite3.connect("desk.db")
    for table, columns in TABLES.items():
        db.execute(f"CREATE TABLE {table} ({columns})")
    fill(db, random.Random(20260512))
    insert(db, "meta", {"key": "now", "value": NOW})
    insert(db, "meta", {"key": "speaker", "value": ""})
    db.commit()
    db.close()


if __name__ == "__main__":
    main()
