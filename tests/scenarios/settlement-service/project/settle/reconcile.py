"""Our payouts against the bank statement."""

import csv
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Difference:
    kind: str  # missing | amount | unexpected | double
    reference: str
    ours_minor: int
    bank_minor: int


def load_statement(path):
    """Read the CSV of the bank: reference, amount_minor, currency, booked_at, transfer_id."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def differences(payouts, statement, tolerance_minor=0):
    """Compare by reference; a reference that starts with one of ours plus a dash is a double."""
    ours = {p.reference: p for p in payouts if p.status == "ready"}
    found = []
    seen = set()
    for row in statement:
        reference, amount = row["reference"], int(row["amount_minor"])
        if reference in ours:
            seen.add(reference)
            expected = ours[reference].amount_minor
            if abs(expected - amount) > tolerance_minor:
                found.append(Difference("amount", reference, expected, amount))
            continue
        parent = reference.rsplit("-", 1)[0]
        kind = "double" if parent in ours else "unexpected"
        found.append(Difference(kind, reference, 0, amount))
    for reference, payout in ours.items():
        if reference not in seen:
            found.append(Difference("missing", reference, payout.amount_minor, 0))
    return sorted(found, key=lambda d: (d.reference, d.kind))
