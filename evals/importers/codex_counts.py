"""Token counts of Codex rollouts: what one call used, though running totals are logged too."""

from typing import Any, Final

from compaction.llm import Usage
from compaction.messages import Json
from evals.importers.segment_builder import count_of, object_of
from evals.importers.usages import responses_usage

COUNT_FIELDS: Final = ("input_tokens", "output_tokens", "cached_input_tokens")


class TokenCounts:
    """The counts of a rollout in file order. The same one is often written again."""

    def __init__(self) -> None:
        self.context_tokens: int | None = None
        """Input and output of the last call."""
        self._total: Json = {}

    def usage_of(self, payload: Json) -> Usage | None:
        """Read a `token_count` event; None if it repeats the one before, or tells limits only."""
        info = object_of(payload.get("info"))
        total = object_of(info.get("total_token_usage"))
        if total and total == self._total:
            return None
        usage = _usage(info, total, self._total)
        if usage is not None:
            self._total = total or self._total
            self.context_tokens = usage.total_tokens
        return usage


def _usage(info: Json, total: Json, before: Json) -> Usage | None:
    """Read the last call's usage; where only the running total is logged, its growth."""
    last: Any = info.get("last_token_usage")
    if not isinstance(last, dict):
        last = {key: _grown(total, before, key) for key in COUNT_FIELDS}
    cached = {"cached_tokens": last.get("cached_input_tokens")}
    usage = responses_usage({**last, "input_tokens_details": cached})
    return usage if usage and usage.total_tokens else None


def _grown(total: Json, before: Json, key: str) -> int:
    return max(0, (count_of(total, key) or 0) - (count_of(before, key) or 0))
