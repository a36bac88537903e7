"""What may become of a single message: its role, its arguments, its media, its reasoning.

Pure functions of an entry that a strategy edited or wrote and of the history; nothing here looks
at the neighbours in the view. What the original had wrong already is not reported.
"""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from compaction.contract.faults import Fault
from compaction.history import Entry, History, Origin
from compaction.messages import INSTRUCTION_ROLES, Message, Part, canonical_json

SIGNED_FIELDS: Final = (
    "encrypted_content",
    "reasoning_details",
    "reasoning_items",
    "reasoning_opaque",
    "signature",
    "thinking_blocks",
    "thinking_signature",
)
"""Where chat formats carry signed or encrypted reasoning.

Source: OpenRouter `reasoning_details`, LiteLLM `thinking_blocks`, GitHub Copilot
`reasoning_opaque`, Anthropic `signature`, OpenAI Responses `encrypted_content`.
"""
THINKING_PARTS: Final = ("thinking", "redacted_thinking", "reasoning")
_SPLIT: Final = re.compile("[\ud800-\udfff\ufffd]")
"""Half of a surrogate pair, or what a decoder writes where bytes of a character are missing."""
_CLOSING: Final = re.compile(r"</([A-Za-z][\w.-]*)>")


def check_edited(entry: Entry, history: History) -> Iterator[Fault]:
    """Check an entry that a strategy changed against the message it stands for."""
    original, message = history[entry.origin.first], entry.message
    if message.role != original.role:
        yield Fault(
            "roles_are_never_raised", entry, f"{original.role} became {message.role}", "/role"
        )
    yield from _check_shape(entry)
    yield from _check_arguments(entry, original)
    yield from _check_parts(entry, original)
    yield from _check_text(entry, original.text)
    yield from _check_tags(entry, original.text)
    yield from _check_reasoning(entry, original)


@lru_cache(maxsize=16_384)
def is_sound_edit(message: Message, original: Message) -> bool:
    """Whether an edit has no fault and took no reasoning away; most settings make the same ones."""
    entry, history = Entry(message, Origin("edited", ((0, 1),))), History([original])
    return not any(check_edited(entry, history)) and not has_lost_reasoning(message, original)


def check_generated(entry: Entry, history: History) -> Iterator[Fault]:
    """Check an entry that a strategy wrote."""
    yield from _check_shape(entry)
    yield from _check_arguments(entry, None)
    if _SPLIT.search(entry.message.text):
        texts = (message.text for message in _sources(entry, history))
        yield from _check_text(entry, "".join(texts))
    if entry.message.role not in INSTRUCTION_ROLES:
        return
    sources = _sources(entry, history)
    lower = next((source for source in sources if source.role not in INSTRUCTION_ROLES), None)
    if lower is not None:
        yield Fault(
            "roles_are_never_raised",
            entry,
            f"text of {lower.role} messages stands in a {entry.message.role} message",
            "/role",
        )


def _sources(entry: Entry, history: History) -> Iterator[Message]:
    """Yield what an entry stands for; that may be all of a long conversation."""
    for start, stop in entry.origin.spans:
        for index in range(start, min(stop, len(history))):
            yield history[index]


def _check_shape(entry: Entry) -> Iterator[Fault]:
    message = entry.message
    if message.tool_calls and message.role != "assistant":
        yield Fault(
            "content_stays_legal", entry, f"a {message.role} message makes calls", "/tool_calls"
        )
    if message.tool_call_id is not None and message.role != "tool":
        yield Fault(
            "content_stays_legal", entry, f"a {message.role} message is a result", "/tool_call_id"
        )


def _check_arguments(entry: Entry, original: Message | None) -> Iterator[Fault]:
    before = original.tool_calls if original is not None else ()
    faulty_before = {call.call_id for call in before if not _is_object(call.arguments)}
    for at, call in enumerate(entry.message.tool_calls):
        if call.kind == "custom" or call in before or call.call_id in faulty_before:
            continue
        if not _is_object(call.arguments):
            yield Fault(
                "content_stays_legal",
                entry,
                f"the arguments of {call.name} are no JSON object",
                f"/tool_calls/{at}",
            )


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def _check_parts(entry: Entry, original: Message) -> Iterator[Fault]:
    if not isinstance(entry.message.content, tuple):
        return
    known = {part.raw for part in original.parts}
    for at, part in enumerate(entry.message.content):
        if part.kind in ("text", "refusal") or part.raw in known:
            continue
        raw = part.to_openai()
        kind = raw.get("type") if isinstance(raw, dict) else None
        is_thought = kind in THINKING_PARTS
        yield Fault(
            "reasoning_stays_intact" if is_thought else "content_stays_legal",
            entry,
            f"a part of type {kind} was changed; it may stay or go, nothing between",
            f"/content/{at}",
        )


def _check_text(entry: Entry, original: str) -> Iterator[Fault]:
    text = entry.message.text
    if not text.isascii() and _SPLIT.search(text) and not _SPLIT.search(original):
        yield Fault("content_stays_legal", entry, "a character was split in two", "/content")


def _check_tags(entry: Entry, original: str) -> Iterator[Fault]:
    """Look for tags that the edit opened, and that text of the message closes once more."""
    text = entry.message.text
    for name in sorted(set(_CLOSING.findall(text))) if "</" in text else ():
        opening = re.compile(rf"<{re.escape(name)}(?=[\s>])")
        opened = len(opening.findall(text))
        if opened < text.count(f"</{name}>") and opened > len(opening.findall(original)):
            fault = f"the <{name}> around the text is closed by the text itself"
            yield Fault("quotations_stay_closed", entry, fault, "/content")


def _check_reasoning(entry: Entry, original: Message) -> Iterator[Fault]:
    message = entry.message
    signed, was_signed = _signed(message), _signed(original)
    if message.reasoning is not None and message.reasoning != original.reasoning:
        yield Fault("reasoning_stays_intact", entry, "the reasoning was changed", "/reasoning")
    elif any(was_signed.get(key) != value for key, value in signed.items()):
        yield Fault("reasoning_stays_intact", entry, "a signature was changed", "")
    elif signed and message.reasoning is None and original.reasoning is not None:
        yield Fault("reasoning_stays_intact", entry, "a signature is left without its text", "")


def _signed(message: Message) -> dict[str, str]:
    """Return field -> canonical JSON of the signed or encrypted reasoning of a message."""
    if message.extra == "{}":
        return {}
    extra = json.loads(message.extra)
    return {key: canonical_json(extra[key]) for key in SIGNED_FIELDS if extra.get(key) is not None}


def has_lost_reasoning(message: Message, original: Message) -> bool:
    """Whether reasoning or a signature that the original had is gone."""
    if original.reasoning and message.reasoning is None:
        return True
    thought = {part.raw for part in _listed(original) if _is_thought(part.to_openai())}
    if not thought <= {part.raw for part in _listed(message)}:
        return True
    return bool(set(_signed(original)) - set(_signed(message)))


def _listed(message: Message) -> tuple[Part, ...]:
    """Return the parts of a list of parts; a text holds no reasoning, and to parse it is dear."""
    return message.content if isinstance(message.content, tuple) else ()


def _is_thought(raw: object) -> bool:
    return isinstance(raw, dict) and raw.get("type") in THINKING_PARTS
