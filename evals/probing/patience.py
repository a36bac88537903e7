"""Asking an endpoint again, and giving it up: what a busy one is spared, what is never paid twice.

Only calls that cannot have been charged are repeated: those that a busy endpoint turned away and
those that never reached it. One that was cut off or timed out may have been charged; it is left for
the next run of the command, which asks for nothing that is answered.
"""

import time
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from compaction.errors import CompactionError, ModelError
from compaction.llm import ChatModel, ModelCall, ModelReply

MAX_TRIES: Final = 6
FIRST_WAIT_SECONDS: Final = 0.5
"""Doubled at each further try."""
MAX_WAIT_SECONDS: Final = 120.0
"""Of one wait, whatever the endpoint asks for."""
MAX_FAILURES_IN_A_ROW: Final = 3
"""Calls. Then the endpoint is down and not the call at fault."""
_FREE: Final = ("busy", "unreachable")


class EndpointError(CompactionError):
    """The endpoint answers nobody; what was recorded is kept."""


@dataclass
class Watch:
    """How an endpoint fares; shared by all who ask it."""

    failed: list[str] = field(default_factory=list)
    """Why each call failed that was given up."""
    _in_a_row: int = 0
    _lock: Lock = field(default_factory=Lock)

    def answered(self) -> None:
        with self._lock:
            self._in_a_row = 0

    def gave_up(self, call: ModelCall, error: ModelError) -> None:
        """Note a call that stays unanswered.

        Raises:
            EndpointError: it is not the call's fault, and others will fare no better.
        """
        with self._lock:
            self.failed.append(f"{call.purpose}: {error}")
            if error.fate == "refused":
                return
            self._in_a_row += 1
            if error.fate == "denied" or self._in_a_row >= MAX_FAILURES_IN_A_ROW:
                raise EndpointError(
                    f"{error}; given up after {self._in_a_row} such calls in a row. What was "
                    "recorded is kept, the same command goes on"
                ) from error


@dataclass(frozen=True)
class PatientChat:
    """Passes calls on, again where that costs nothing, after as long as the endpoint says."""

    live: ChatModel
    watch: Watch = field(default_factory=Watch)
    first_wait_seconds: float = FIRST_WAIT_SECONDS

    @property
    def name(self) -> str:
        return self.live.name

    def complete(self, call: ModelCall) -> ModelReply:
        """Return the reply.

        Raises:
            ModelError: this call failed for good.
            EndpointError: so will the others.
        """
        for number in range(MAX_TRIES):
            try:
                reply = self.live.complete(call)
            except ModelError as error:
                if error.fate not in _FREE or number + 1 == MAX_TRIES:
                    self.watch.gave_up(call, error)
                    raise
                time.sleep(self._wait(number, error))
            else:
                self.watch.answered()
                return reply
        raise AssertionError("unreachable: the last try returns or raises")

    async def acomplete(self, call: ModelCall) -> ModelReply:
        return self.complete(call)

    def _wait(self, number: int, error: ModelError) -> float:
        asked = error.retry_after_seconds
        wait = self.first_wait_seconds * 2**number if asked is None else asked
        return min(wait, MAX_WAIT_SECONDS)
