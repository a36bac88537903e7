"""Fees: a tier by monthly volume, a rate, a fixed part, a cap per order."""

from decimal import Decimal

from settle.money import percent, round_minor


def tier_for(volume_minor, fees):
    """Return the tier of a monthly volume."""
    chosen = fees["tier"][0]
    for tier in fees["tier"]:
        if volume_minor > tier["from_minor"]:
            chosen = tier
    return chosen


def fee_minor(amount_minor, volume_minor, fees):
    """Return the fee of one order in minor units of the order's currency."""
    tier = tier_for(volume_minor, fees)
    fee = round_minor(percent(amount_minor, tier["rate_bps"]) + Decimal(tier["fixed_minor"]))
    return min(fee, fees["caps"]["per_order_minor"])


def fee_returned_minor(fee, refunded_minor, order_minor, fees):
    """Return the part of a fee that goes back to the partner on a refund."""
    share = Decimal(refunded_minor) / Decimal(order_minor)
    back = percent(fee, fees["caps"]["refund_fee_returned_bps"]) * share
    return round_minor(back)
