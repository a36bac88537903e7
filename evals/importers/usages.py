"""Token usage and times as providers report them, as `Usage` and Unix seconds.

`Usage.input_tokens` is all input; Anthropic reports uncached, written and read tokens apart.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from compaction.llm import Usage

MAX_SECONDS: Final = 1e11
"""Above this a number is milliseconds; as seconds it would be the year 5138."""
MAX_MILLISECONDS: Final = 1e14


def chat_usage(raw: object) -> Usage | None:
    """Read the usage of a chat completion, with the cache fields of LiteLLM and DeepSeek."""
    if not isinstance(raw, Mapping):
        return None
    details = _mapping(raw.get("prompt_tokens_details"))
    return logged_usage(
        _number(raw, "prompt_tokens"),
        _number(raw, "completion_tokens"),
        _first(
            _number(details, "cached_tokens"),
            _number(raw, "cache_read_input_tokens"),
            _number(raw, "prompt_cache_hit_tokens"),
        ),
        _first(
            _number(raw, "cache_creation_input_tokens"),
            _number(details, "cache_creation_tokens"),
            _number(details, "cache_write_tokens"),
        ),
    )


def responses_usage(raw: object) -> Usage | None:
    if not isinstance(raw, Mapping):
        return None
    details = _mapping(raw.get("input_tokens_details"))
    return logged_usage(
        _number(raw, "input_tokens"),
        _number(raw, "output_tokens"),
        _number(details, "cached_tokens"),
        _number(details, "cache_write_tokens"),
    )


def anthropic_usage(raw: object) -> Usage | None:
    if not isinstance(raw, Mapping):
        return None
    uncached = _number(raw, "input_tokens")
    written = _number(raw, "cache_creation_input_tokens")
    read = _number(raw, "cache_read_input_tokens")
    parts = [part for part in (uncached, written, read) if part is not None]
    total = sum(parts) if parts else None
    usage = logged_usage(total, _number(raw, "output_tokens"), read, written)
    for_an_hour = _number(_mapping(raw.get("cache_creation")), "ephemeral_1h_input_tokens")
    return replace(usage, cache_write_1h_tokens=for_an_hour) if usage and for_an_hour else usage


def google_usage(raw: object) -> Usage | None:
    """Read `usageMetadata`; thinking is output, and the results of Google's own tools are input.

    Counts of zero are left out of it: without a count of the cache nothing was read.
    """
    if not isinstance(raw, Mapping):
        return None
    prompt = _number(raw, "promptTokenCount")
    tools = _number(raw, "toolUsePromptTokenCount") or 0
    answer, thoughts = _number(raw, "candidatesTokenCount"), _number(raw, "thoughtsTokenCount")
    return logged_usage(
        None if prompt is None else prompt + tools,
        None if answer is None and thoughts is None else (answer or 0) + (thoughts or 0),
        _number(raw, "cachedContentTokenCount") or 0,
        None,
    )


def unix_seconds(raw: object) -> float | None:
    """Read an ISO 8601 time, or a number of seconds or milliseconds; without a zone it is UTC."""
    if isinstance(raw, int | float) and not isinstance(raw, bool):
        if not abs(raw) < MAX_MILLISECONDS:
            return None
        return raw / 1000 if abs(raw) > MAX_SECONDS else float(raw)
    if not isinstance(raw, str):
        return None
    try:
        time = datetime.fromisoformat(raw)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def usd(raw: object) -> float | None:
    """Read an amount of dollars."""
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return None
    return float(raw) if 0 <= raw < float("inf") else None


def logged_usage(
    input_tokens: int | None,
    output_tokens: int | None,
    read: int | None = None,
    written: int | None = None,
) -> Usage | None:
    """Return usage of what a log has, None being what it lacks; None without any tokens."""
    if input_tokens is None and output_tokens is None:
        return None
    is_cache_logged = read is not None or written is not None
    return Usage(
        input_tokens or 0,
        output_tokens or 0,
        read or 0,
        written or 0,
        is_cache_logged=is_cache_logged,
    )


def _number(raw: Mapping[str, Any], key: str) -> int | None:
    value = raw.get(key)
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if is_count else None


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)


def _mapping(raw: object) -> Mapping[str, Any]:
    return raw if isinstance(raw, Mapping) else {}
