"""Money as integers of minor units.

Everything that rounds goes through `round_minor`, so that the rounding rule is in one place
(docs/adr/0007-rounding.md).
"""

from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

MINOR_DIGITS = {"EUR": 2, "GBP": 2, "NOK": 2, "USD": 2, "JPY": 0, "HUF": 0}

ROUNDING = {"half_even": ROUND_HALF_EVEN, "half_up": ROUND_HALF_UP}


def round_minor(value, mode="half_up"):
    """Round a Decimal of minor units to an int."""
    return int(value.quantize(Decimal(1), rounding=ROUNDING[mode]))


def percent(amount_minor, rate_bps):
    """Return the unrounded share of an amount, as Decimal."""
    return Decimal(amount_minor) * Decimal(rate_bps) / Decimal(10000)


def to_minor(text, currency):
    """Parse an amount such as `12.50` into minor units; more digits than allowed is an error."""
    digits = MINOR_DIGITS[currency]
    value = Decimal(text).scaleb(digits)
    if value != value.to_integral_value():
        raise ValueError(f"{text} {currency} has more than {digits} decimal places")
    return int(value)


def format_minor(amount_minor, currency):
    """Write minor units as text with the currency, for people and for the bank file."""
    digits = MINOR_DIGITS[currency]
    value = Decimal(amount_minor).scaleb(-digits)
    return f"{value:.{digits}f} {currency}"


def split(amount_minor, parts):
    """Split an amount over parts that add up to it."""
    if parts < 1:
        raise ValueError("parts must be >= 1")
    base, rest = divmod(amount_minor, parts)
    return [base + 1] * rest + [base] * (parts - rest)
