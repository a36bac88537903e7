"""The records that go through a run."""

import csv
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


@dataclass(frozen=True)
class Order:
    order_id: str
    partner_id: str
    placed_at: datetime  # UTC
    amount_minor: int
    currency: str


@dataclass(frozen=True)
class Refund:
    order_id: str
    refund_seq: int
    refunded_at: datetime  # UTC
    amount_minor: int
    currency: str
    reason: str


@dataclass(frozen=True)
class Payout:
    partner_id: str
    business_day: str
    amount_minor: int
    currency: str
    reference: str
    status: str  # ready | carried | held
    note: str = ""


def _rows(path):
    with Path(path).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def load_orders(path):
    """Read a CSV of orders, in file order."""
    return [
        Order(
            row["order_id"],
            row["partner_id"],
            datetime.fromisoformat(row["placed_at"]),
            int(row["amount_minor"]),
            row["currency"],
        )
        for row in _rows(path)
    ]


def load_refunds(path):
    """Read a CSV of refunds, in file order."""
    return [
        Refund(
            row["order_id"],
            int(row["refund_seq"]),
            datetime.fromisoformat(row["refunded_at"]),
            int(row["amount_minor"]),
            row["currency"],
            row["reason"],
        )
        for row in _rows(path)
    ]
