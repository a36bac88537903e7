"""A double-entry ledger in memory. Postings with a known key are ignored (ADR 0011)."""

import logging
from collections import defaultdict
from dataclasses import dataclass

log = logging.getLogger("settle.ledger")


@dataclass(frozen=True)
class Entry:
    key: str
    debit: str
    credit: str
    amount_minor: int
    currency: str


class Ledger:
    """Entries in order of posting; balances per (account, currency)."""

    def __init__(self):
        self.entries = []
        self._keys = set()
        self._balances = defaultdict(int)

    def post(self, key, debit, credit, amount_minor, currency):
        """Post once per key. Returns True if the entry is new."""
        if amount_minor < 0:
            raise ValueError(f"LED-1003 negative amount for {key}: {amount_minor}")
        if key in self._keys:
            log.warning("idempotency hit key=%s amount=%s", key, amount_minor)
            return False
        self._keys.add(key)
        self.entries.append(Entry(key, debit, credit, amount_minor, currency))
        self._balances[debit, currency] -= amount_minor
        self._balances[credit, currency] += amount_minor
        return True

    def balance(self, account, currency):
        """Return credits minus debits."""
        return self._balances[account, currency]

    def is_balanced(self):
        """All balances of a currency add up to zero."""
        totals = defaultdict(int)
        for (_, currency), amount in self._balances.items():
            totals[currency] += amount
        return all(total == 0 for total in totals.values())


def post_order(ledger, order, fee, amount_minor, currency):
    """Post an order and its fee in the payout currency."""
    partner = f"partner:{order.partner_id}"
    ledger.post(f"order:{order.order_id}", "marketplace", partner, amount_minor, currency)
    ledger.post(f"fee:{order.order_id}", partner, "fees", fee, currency)


def post_refund(ledger, refund, partner_id, fee_back, amount_minor, currency):
    """Post a refund and the fee that goes back, in the payout currency."""
    partner = f"partner:{partner_id}"
    ledger.post(f"refund:{refund.order_id}", partner, "marketplace", amount_minor, currency)
    ledger.post(f"feeback:{refund.order_id}", "fees", partner, fee_back, currency)
