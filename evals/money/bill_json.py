"""A bill as a sidecar holds it."""

from collections.abc import Iterable
from typing import Final

from compaction.messages import Json
from evals.cost import Bill, Charge

USD_DIGITS: Final = 8


def by_request(bill: Bill) -> Json:
    """Return tokens by how they are billed, a list each."""
    uncached, written, read = zip(*bill.splits, strict=True) if bill.splits else ((), (), ())
    return {
        "uncached": rounded(uncached),
        "written": rounded(written),
        "read": rounded(read),
        "usd": [round(each.total, USD_DIGITS) for each in bill.charges],
    }


def by_kind(bill: Bill) -> Json:
    """Return dollars by what they were paid for."""
    sums = [sum(kind) for kind in zip(*bill.charges, strict=True)] or [0.0] * len(Charge._fields)
    return {name: round(usd, USD_DIGITS) for name, usd in zip(Charge._fields, sums, strict=True)}


def rounded(tokens: Iterable[float]) -> list[int]:
    return [round(each) for each in tokens]
