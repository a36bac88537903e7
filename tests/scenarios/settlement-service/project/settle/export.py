"""The bank file: one line per payout, a trailer with count, sum and checksum."""

import hashlib

from settle.money import format_minor

HEADER = "NBK;2.4;SETTLEMENT"


def payout_line(payout, partner):
    """Write one payout as the bank expects it."""
    amount = format_minor(payout.amount_minor, payout.currency).replace(" ", ";")
    return f"PAY;{payout.reference};{partner.iban};{amount};{partner.name}"


def checksum(lines):
    """First 12 hex digits of SHA-256 over all lines before the trailer, joined by LF."""
    return hashlib.sha256("\n".join(lines[1:]).encode("utf-8")).hexdigest()[:12]


def bank_file(payouts, partners):
    """Return the text of the bank file; payouts are sorted by reference."""
    ready = sorted((p for p in payouts if p.status == "ready"), key=lambda p: p.reference)
    lines = [HEADER] + [payout_line(p, partners[p.partner_id]) for p in ready]
    total = sum(p.amount_minor for p in ready)
    trailer = f"END;{len(ready)};{total};{checksum(lines)}"
    return "\n".join([*lines, trailer]) + "\n"
