"""From balances to payouts: thresholds, holds, references."""

from datetime import date, timedelta

from settle.models import Payout

MIN_PAYOUT_MINOR = 1000


def payout_reference(partner, day, prefix="STL", attempt=1):
    """Return the reference that the bank sees."""
    reference = f"{prefix}-{day.replace('-', '')}-{partner.number}"
    return reference if attempt == 1 else f"{reference}-{attempt}"


def is_new(partner, day, hold_days):
    """Tell whether the partner is still in its first days."""
    return date.fromisoformat(day) - date.fromisoformat(partner.since) < timedelta(days=hold_days)


def build_payout(partner, balance_minor, day, config):
    """Decide what happens with the balance of one partner."""
    reference = payout_reference(partner, day, config.get("payout", "reference_prefix", "STL"))

    def payout(amount, status, note=""):
        return Payout(partner.id, day, amount, partner.currency, reference, status, note)

    if partner.hold:
        return payout(balance_minor, "held", "manual hold")
    if is_new(partner, day, config.get("payout", "hold_days_new_partner", 14)):
        return payout(balance_minor, "held", "new partner")
    if balance_minor < MIN_PAYOUT_MINOR:
        return payout(balance_minor, "carried", "below minimum")
    return payout(balance_minor, "ready")


def total_by_currency(payouts):
    """Add up what will be sent, by currency."""
    totals = {}
    for payout in payouts:
        if payout.status == "ready":
            totals[payout.currency] = totals.get(payout.currency, 0) + payout.amount_minor
    return totals
