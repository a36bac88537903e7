"""When and how the gateway is called again."""

import logging

from settle.gateway import GatewayError
from settle.payouts import payout_reference

log = logging.getLogger("settle.retry")

PERMANENT = {"GW-4001"}


def is_retryable(code):
    """Tell whether an attempt with this code should be repeated."""
    return code.startswith("GW-") and code not in PERMANENT


def delay_ms(attempt, base_delay_ms, max_delay_ms):
    """Exponential back-off: base, 2*base, 4*base ... up to the maximum. attempt starts at 1."""
    return min(base_delay_ms * 2**attempt, max_delay_ms)


def send_payout(gateway, payout, partner, config, sleep):
    """Send a payout, again where that is safe. Returns the transfer.

    Raises:
        GatewayError: a permanent code, or the last attempt failed.
    """
    attempts = config.get("retry", "max_attempts", 6)
    base = config.get("retry", "base_delay_ms", 250)
    most = config.get("retry", "max_delay_ms", 8000)
    for attempt in range(1, attempts + 1):
        reference = payout_reference(partner, payout.business_day, attempt=attempt)
        try:
            return gateway.send(reference, partner.iban, payout.amount_minor, payout.currency)
        except GatewayError as error:
            log.warning("attempt=%d reference=%s code=%s", attempt, reference, error.code)
            if attempt == attempts or not is_retryable(error.code):
                raise
            sleep(delay_ms(attempt, base, most) / 1000)
    raise AssertionError("unreachable")
