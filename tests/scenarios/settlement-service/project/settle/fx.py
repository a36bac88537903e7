"""Exchange rates: one file of daily reference rates, EUR as base (1 EUR = rate units)."""

import csv
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

from settle.money import MINOR_DIGITS, round_minor


class RateMissing(LookupError):
    """No rate that is recent enough."""


class Rates:
    """Daily reference rates with a look-back for days without a fixing."""

    def __init__(self, rows, max_age_days=3, spread_bps=0):
        self._rates = {(row["currency"], row["date"]): Decimal(row["rate"]) for row in rows}
        self.max_age_days = max_age_days
        self.spread_bps = spread_bps

    @classmethod
    def load(cls, path, max_age_days=3, spread_bps=0):
        with Path(path).open(encoding="utf-8", newline="") as file:
            return cls(list(csv.DictReader(file)), max_age_days, spread_bps)

    def rate(self, currency, day):
        """Return the newest rate on or before the day, at most max_age_days old."""
        if currency == "EUR":
            return Decimal(1)
        wanted = date.fromisoformat(day)
        for age in range(1, self.max_age_days + 1):
            found = self._rates.get((currency, (wanted - timedelta(days=age)).isoformat()))
            if found is not None:
                return found
        raise RateMissing(f"FX-0404 no {currency} rate for {day} within {self.max_age_days} days")

    def convert(self, amount_minor, source, target, day):
        """Convert minor units of one currency into minor units of another, spread included."""
        if source == target:
            return amount_minor
        value = Decimal(amount_minor).scaleb(-MINOR_DIGITS[source])
        euros = value / self.rate(source, day)
        spread = Decimal(self.spread_bps) / Decimal(10000)
        amount = euros * self.rate(target, day) * (1 - spread)
        return round_minor(amount.scaleb(MINOR_DIGITS[target]), "half_even")
