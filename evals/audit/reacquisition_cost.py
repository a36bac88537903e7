"""What re-acquisitions cost: tokens, requests and dollars. See `evals.audit.reacquisition`."""

from collections import Counter
from collections.abc import Iterable

from evals.audit.boundaries import RecordedBoundary
from evals.audit.reacquisition import KINDS, Repeat, repeats_after
from evals.audit.values import Reacquired
from evals.cost import charge, retrieval_usd
from evals.money.pricing import Pricing
from evals.money.splits import split_of
from evals.prepare import Prepared, PreparedRequest


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
            if is_only:
                usd += _request_usd(request, slope * counted, pricing)
            else:
                usd += _addition_usd(request, slope * counted, slope * written, pricing)
    kinds = Counter(each.subject.kind for each in repeats)
    names = tuple(dict.fromkeys(f"{each.subject.kind} {each.subject.text}" for each in repeats))
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


def _request_usd(request: PreparedRequest, brought_tokens: float, pricing: Pricing) -> float:
    """Price a request that would not have been made: its prompt, its answer and what it brought.

    The prompt is priced as read from the cache: had the request not been made, the next one would
    have written what this one wrote.
    """
    prices = pricing.priced.vector
    return retrieval_usd(request.tokens, brought_tokens, prices) + _output_usd(
        request, request.output_tokens, pricing
    )


def _addition_usd(
    request: PreparedRequest, brought_tokens: float, written_tokens: float, pricing: Pricing
) -> float:
    """Price what a request fetched again beside other work: the calls, and what they brought."""
    prices = pricing.priced.vector
    alone = retrieval_usd(request.tokens, 0.0, prices)
    brought_usd = retrieval_usd(request.tokens, brought_tokens, prices) - alone
    return brought_usd + _output_usd(request, written_tokens, pricing)


def _output_usd(request: PreparedRequest, tokens: float, pricing: Pricing) -> float:
    prices = pricing.priced.vector
    return charge(split_of(prices.caching, request.tokens, 0.0), tokens, prices).output
