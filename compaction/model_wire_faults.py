"""What became of a request that failed, told from the exception of the client. No I/O."""

from contextlib import suppress
from typing import Final

from compaction.errors import CallFate

REFUSING: Final = (400, 413, 422)
"""The request is at fault: too long, a parameter, a content policy."""
BUSY: Final = (408, 409, 425, 429)
"""Come again later; so says every status from 500 on."""


def fate_of(error: Exception) -> CallFate:
    """Return what came of the call; what is not known may have been charged."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        if status in REFUSING:
            return "refused"
        return "busy" if status in BUSY or status >= 500 else "denied"
    # httpx tells a connection that never stood from one that broke; openai does not.
    cause = type(error.__cause__).__name__
    return "unreachable" if cause in ("ConnectError", "ConnectTimeout") else "unanswered"


def retry_after_seconds(error: Exception) -> float | None:
    """Return the wait that an answer asks for; None if it does not, or gives a date."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    with suppress(TypeError, ValueError):
        return max(0.0, float(headers.get("retry-after", "")))
    return None
