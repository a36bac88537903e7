"""What of a request differs from the nearest recorded one, message by message."""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from typing import NamedTuple

from evals.recording.cassette_layout import HISTORY_KEYS, JsonValue, dumps

LINE_CHARS = 120
"""Longer lines are broken, so that a change far inside one can be seen."""
MAX_LINES = 40
"""Of a diff."""
MAX_COMPARED_LINES = 2_000
SNIPPET_CHARS = 60
_DATA_URI = re.compile(r"data:([\w./+-]+);base64,([A-Za-z0-9+/=]{40,})")


class Miss(NamedTuple):
    """Why no recorded answer fits a request."""

    summary: str
    """One line."""
    diff: str
    """From the recorded to the sent request: a unified diff of what differs first; clipped."""


def explain_miss(sent: JsonValue, recorded: Sequence[JsonValue]) -> Miss:
    """Compare a request body with the recorded ones of the same method and path."""
    if not recorded:
        return Miss("nothing was recorded for this method and path", "")
    number = max(range(len(recorded)), key=lambda at: _likeness(sent, recorded[at]))
    nearest = recorded[number]
    where = f"the nearest is request {number + 1} of {len(recorded)}"
    before, after = _history(nearest), _history(sent)
    same = _shared(before, after)
    if same < max(len(before), len(after)):
        old = before[same] if same < len(before) else None
        new = after[same] if same < len(after) else None
        what = f"message {same} of {len(after)} {_change(old, new)}"
        return Miss(f"{where}; {what}", _diff(_shown(old), _shown(new)))
    keys = [key for key in _keys(nearest, sent) if _value(nearest, key) != _value(sent, key)]
    if not keys:
        return Miss(f"{where}, equal but answered already", "")
    old_lines = [line for key in keys for line in _field(key, _value(nearest, key))]
    new_lines = [line for key in keys for line in _field(key, _value(sent, key))]
    what = f"the same {len(after)} messages, but {', '.join(keys)} differ"
    return Miss(f"{where}; {what}", _diff(old_lines, new_lines))


def _history(body: JsonValue) -> list[JsonValue]:
    values = (_value(body, key) for key in HISTORY_KEYS)
    return next((value for value in values if isinstance(value, list)), [])


def _value(body: JsonValue, key: str) -> JsonValue:
    return body.get(key) if isinstance(body, dict) else body


def _keys(*bodies: JsonValue) -> list[str]:
    named = {key for body in bodies if isinstance(body, dict) for key in body}
    return sorted(named - set(HISTORY_KEYS)) or ["body"]


def _likeness(sent: JsonValue, recorded: JsonValue) -> tuple[int, int, int]:
    """Order recorded requests: shared messages first, then a like length, then equal fields."""
    before, after = _history(recorded), _history(sent)
    equal = sum(_value(sent, key) == _value(recorded, key) for key in _keys(sent, recorded))
    return _shared(before, after), -abs(len(before) - len(after)), equal


def _shared(first: Sequence[JsonValue], second: Sequence[JsonValue]) -> int:
    pairs = zip(first, second, strict=False)
    unequal = (at for at, (old, new) in enumerate(pairs) if old != new)
    return next(unequal, min(len(first), len(second)))


def _change(old: JsonValue, new: JsonValue) -> str:
    if new is None:
        return f"is missing: {_role(old)} {_snippet(_shown(old))}"
    if old is None:
        return f"is new: {_role(new)} {_snippet(_shown(new))}"
    roles = dict.fromkeys((_role(old), _role(new)))
    before, after = (repr(text) for text in _first_difference(_shown(old), _shown(new)))
    return f"({' became '.join(roles)}) differs: {before} became {after}"


def _first_difference(old: Sequence[str], new: Sequence[str]) -> tuple[str, str]:
    """Return what stands around the first character that differs."""
    at = _shared(old, new)
    before, after = (lines[at] if at < len(lines) else "" for lines in (old, new))
    start = max(0, _shared(before, after) - SNIPPET_CHARS // 2)
    return _clipped(before, start), _clipped(after, start)


def _role(message: JsonValue) -> str:
    return str(message.get("role", "?")) if isinstance(message, dict) else "?"


def _snippet(lines: Sequence[str]) -> str:
    return repr(_clipped(" ".join(lines[1:] or lines)))


def _clipped(text: str, start: int = 0) -> str:
    part = text[start : start + SNIPPET_CHARS]
    return f"{'...' if start else ''}{part}{'...' if start + len(part) < len(text) else ''}"


def _shown(message: JsonValue) -> list[str]:
    """Return a message as lines: role, text, calls, then whatever else it has."""
    if message is None:
        return []
    if not isinstance(message, dict):
        return list(_lines(dumps(message)))
    calls = message.get("tool_calls")
    listed = calls if isinstance(calls, list) else []
    known = ("role", "content", *(["tool_calls"] if listed or calls is None else []))
    others = {key: value for key, value in message.items() if key not in known}
    return [
        f"[{_role(message)}]",
        *(line for part in _parts(message.get("content")) for line in _lines(part)),
        *(line for call in listed for line in _lines(_call(call))),
        *(line for key, value in others.items() for line in _lines(f"{key}: {dumps(value)}")),
    ]


def _parts(content: JsonValue) -> list[str]:
    if content is None or isinstance(content, str):
        return [content] if content else []
    if not isinstance(content, list):
        return [dumps(content)]
    texts = (part.get("text") if isinstance(part, dict) else None for part in content)
    return [
        text if isinstance(text, str) else dumps(part)
        for text, part in zip(texts, content, strict=True)
    ]


def _call(call: JsonValue) -> str:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return f"call {dumps(call)}"
    return f"call {call.get('id')} {function.get('name')}({function.get('arguments')})"


def _field(key: str, value: JsonValue) -> Iterator[str]:
    """Return a field of the body as lines; a list, such as `tools`, an item at a time."""
    if isinstance(value, list):
        for item in value:
            yield from _lines(f"{key}: {json.dumps(item, ensure_ascii=False)}")
    else:
        yield from _lines(f"{key}: {json.dumps(value, ensure_ascii=False)}")


def _lines(text: str) -> Iterator[str]:
    for line in _DATA_URI.sub(_named_data, text).splitlines() or [""]:
        for start in range(0, max(1, len(line)), LINE_CHARS):
            yield line[start : start + LINE_CHARS]


def _named_data(found: re.Match[str]) -> str:
    digest = hashlib.sha256(found[2].encode("ascii")).hexdigest()[:12]
    return f"<{found[1]}, {len(found[2])} characters of base64, sha256 {digest}>"


def _diff(old: Sequence[str], new: Sequence[str]) -> str:
    same = max(0, _shared(old, new) - 3)  # difflib slows down with the length of what is equal
    before = old[same : same + MAX_COMPARED_LINES]
    after = new[same : same + MAX_COMPARED_LINES]
    lines = list(unified_diff(before, after, "recorded", "sent", n=2, lineterm=""))
    more = [f"... {len(lines) - MAX_LINES} more lines"] if len(lines) > MAX_LINES else []
    return "\n".join(lines[:MAX_LINES] + more)
