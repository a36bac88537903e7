"""What re-acquisitions cost: tokens, requests and dollars. See `evals.reacquisition`."""

from collections import Counter
from collections.abc import Iterable

from evals.audit_values import Reacquired
from evals.cost import charge
from evals.prepare import Prepared, PreparedRequest
from evals.pricing import Pricing
from evals.prompt_cache import cached_length, split_of
from evals.reacquisition import KINDS, Repeat, repeats_after
from evals.recorded_boundaries import RecordedBoundary


def reacquired_after(
    boundary: RecordedBoundary, whole: Prepared, pricing: Pricing, *, show_text: bool
) -> Reacquired:
    """Find and price what was fetched again after a boundary.

    Args:
        boundary: The boundary.
        whole: The transcript as it was sent, with its calibration.
        pricing: Of the transcript as it was sent.
        show_text: Name what was fetched.
    """
    repeats = repeats_after(boundary.log, boundary.log_before, boundary.kept)
    by_caller: dict[int, list[Repeat]] = {}
    for each in repeats:
        by_caller.setdefault(each.caller, []).append(each)
    slope = whole.segments[boundary.segment].calibration.slope
    tokens = usd = 0.0
    requests_only = 0
    for caller, made in by_caller.items():
        message = boundary.log[caller]
        is_only = len(made) == len(message.tool_calls)
        requests_only += is_only
        counted = sum(
            whole.counter.count(boundary.log[each.result]) * each.known_fraction for each in made
        )
        written = sum(whole.counter.count_text(each.call.arguments) for each in made)
        tokens += slope * counted
        request = _request_of(boundary, whole, caller)
        if request is not None:
            usd += _brought_usd(request, slope * counted, pricing)
            usd += (
                pricing.before.charges[request.index].total
                if is_only
                else _written_usd(request, slope * written, pricing)
            )
    kinds = Counter(each.subject.kind for each in repeats)
    names = tuple(f"{each.subject.kind} {each.subject.text}" for each in repeats)
    return Reacquired(
        calls=len(repeats),
        by_kind={kind: kinds[kind] for kind in KINDS if kinds[kind]},
        tokens=tokens,
        usd=usd,
        requests=len(by_caller),
        requests_only=requests_only,
        names=names if show_text else (),
    )


def _request_of(boundary: RecordedBoundary, whole: Prepared, caller: int) -> PreparedRequest | None:
    """Return the request that made a call; None for messages that no request produced."""
    position = boundary.n_before + caller - boundary.log_before
    as_sent = whole.segments[boundary.segment].requests
    joined: Iterable[PreparedRequest] = boundary.prepared.requests
    found = (as_sent[each.index] for each in joined if each.recorded.position == position)
    return next(found, None)


def _brought_usd(request: PreparedRequest, tokens: float, pricing: Pricing) -> float:
    """Price the results where they are sent first: as new input behind the request's own."""
    prices = pricing.priced.vector
    read = cached_length(prices.caching, request.tokens)
    sizes = (request.tokens, request.tokens + tokens)
    before, after = (charge(split_of(prices.caching, n, read), 0.0, prices) for n in sizes)
    return after.input - before.input


def _written_usd(request: PreparedRequest, tokens: float, pricing: Pricing) -> float:
    prices = pricing.priced.vector
    return charge(split_of(prices.caching, request.tokens, 0.0), tokens, prices).output
