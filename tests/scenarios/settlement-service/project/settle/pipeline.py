"""One run from files to payouts."""

from dataclasses import dataclass, field
from pathlib import Path

from settle.batching import in_batch
from settle.config import ROOT, load_config
from settle.fees import fee_minor, fee_returned_minor
from settle.fx import Rates
from settle.ledger import Ledger, post_order, post_refund
from settle.models import load_orders, load_refunds
from settle.payouts import build_payout


@dataclass
class Run:
    day: str
    ledger: Ledger
    payouts: list = field(default_factory=list)
    orders: list = field(default_factory=list)
    refunds: list = field(default_factory=list)
    skipped: list = field(default_factory=list)


def run_day(day, root=ROOT, config=None):
    """Settle one business day in memory; nothing is sent."""
    config = config or load_config(root)
    cutoff = config.get("run", "cutoff", "17:00")
    rates = Rates.load(
        Path(root) / config.get("fx", "rates_file"),
        config.get("fx", "max_age_days", 3),
        config.get("fx", "spread_bps", 0),
    )
    all_orders = load_orders(Path(root) / f"data/orders_{day}.csv")
    orders = in_batch(all_orders, day, lambda order: order.placed_at, cutoff)
    refunds = in_batch(
        load_refunds(Path(root) / f"data/refunds_{day}.csv"),
        day,
        lambda refund: refund.refunded_at,
        cutoff,
    )
    run = Run(day, Ledger(), orders=orders, refunds=refunds)
    by_id = {order.order_id: order for order in all_orders}
    for order in orders:
        partner = config.partners[order.partner_id]
        amount = rates.convert(order.amount_minor, order.currency, partner.currency, day)
        fee_eur = fee_minor(order.amount_minor, partner.tier_volume_minor, config.fees)
        fee = rates.convert(fee_eur, order.currency, partner.currency, day)
        post_order(run.ledger, order, fee, amount, partner.currency)
    for refund in refunds:
        order = by_id.get(refund.order_id)
        if order is None:
            run.skipped.append(refund)
            continue
        partner = config.partners[order.partner_id]
        amount = rates.convert(refund.amount_minor, refund.currency, partner.currency, day)
        fee = fee_minor(order.amount_minor, partner.tier_volume_minor, config.fees)
        back = fee_returned_minor(fee, refund.amount_minor, order.amount_minor, config.fees)
        back = rates.convert(back, order.currency, partner.currency, day)
        post_refund(run.ledger, refund, partner.id, back, amount, partner.currency)
    for partner in config.partners.values():
        balance = run.ledger.balance(f"partner:{partner.id}", partner.currency)
        run.payouts.append(build_payout(partner, balance, day, config))
    return run
