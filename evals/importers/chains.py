"""Recorded exchanges as conversations.

Each request repeats the history, so a request continues the exchange whose history it starts with.
A request that goes on with an earlier conversation but has lost part of it was compacted: a new
segment. What continues nothing starts a conversation. Instructions at the start may change.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from compaction.messages import INSTRUCTION_ROLES, Json, Message, Messages, canonical_json
from evals.importers.exchanges import Exchange
from evals.transcripts import RecordedCompaction, RecordedRequest, Segment

OPEN_CHAINS: Final = 16
"""How many conversations are followed at a time, the latest first; older ones are finished."""
MIN_SUMMARY_CHARS: Final = 40
"""An answer at least this long that a later request quotes is taken for a summary."""

Key = tuple[object, ...]


@dataclass(slots=True, eq=False)
class Chain:
    """One conversation while it is put together."""

    segments: list[list[Exchange]] = field(default_factory=list)
    opened_by: list[RecordedCompaction | None] = field(default_factory=list)

    @property
    def last(self) -> Exchange:
        return self.segments[-1][-1]

    @property
    def tools(self) -> tuple[Json, ...]:
        """The tools of the latest request that named any."""
        exchanges = (e for segment in reversed(self.segments) for e in reversed(segment))
        return next((exchange.tools for exchange in exchanges if exchange.tools), ())

    def add(self, exchange: Exchange, compaction: RecordedCompaction | None = None) -> None:
        if compaction or not self.segments:
            self.segments.append([])
            self.opened_by.append(compaction)
        self.segments[-1].append(exchange)

    def built(self) -> tuple[Segment, ...]:
        return tuple(
            _segment(exchanges, opened_by)
            for exchanges, opened_by in zip(self.segments, self.opened_by, strict=True)
        )


def chains_of(exchanges: Sequence[Exchange]) -> list[Chain]:
    """Sort exchanges, in the order of recording, into conversations; each goes into exactly one."""
    chains: list[Chain] = []
    recent: list[Chain] = []
    keys = _Keys()
    by_answer: dict[str, Exchange] = {}
    for given in exchanges:
        exchange = _with_history(given, by_answer)
        if exchange.answer_id:
            by_answer[exchange.answer_id] = exchange
        chain, compaction = _place(exchange, recent, keys)
        if chain is None:
            chain = Chain()
            chains.append(chain)
        chain.add(exchange, compaction)
        recent = [chain, *(other for other in recent if other is not chain)][:OPEN_CHAINS]
    return chains


def _with_history(exchange: Exchange, by_answer: dict[str, Exchange]) -> Exchange:
    """Put the history before a request that names its predecessor only."""
    previous = by_answer.get(exchange.previous_id or "")
    if previous is None:
        return exchange
    # Instructions are not carried over by the server: those of the new request count.
    start = _instructions(exchange.messages)
    before = previous.messages[_instructions(previous.messages) :]
    messages = (*exchange.messages[:start], *before, previous.answer, *exchange.messages[start:])
    return replace(exchange, messages=messages, history=messages)


def _place(
    exchange: Exchange, recent: Sequence[Chain], keys: "_Keys"
) -> tuple[Chain, RecordedCompaction | None] | tuple[None, None]:
    candidates = [chain for chain in recent if chain.last.api == exchange.api]
    continued = [chain for chain in candidates if keys.continues(exchange, chain.last)]
    if continued:
        exact = (c for c in continued if keys.repeats_answer(exchange, c.last))
        chain = next(exact, continued[0])
        return chain, _by_server(exchange, chain.last)
    for chain in candidates:
        kind = keys.compacted(exchange, chain.last)
        if kind:
            return chain, _compaction(kind, exchange, chain.last, keys)
    if exchange.compacted and candidates:
        return candidates[0], _by_server(exchange, candidates[0].last)
    return _by_quoted_summary(exchange, candidates, keys)


def _by_server(exchange: Exchange, last: Exchange) -> RecordedCompaction | None:
    """Tell a compaction by the provider: the history starts with another compaction item."""
    if not exchange.compacted or _markers(exchange) == _markers(last):
        return None
    texts = [_compaction_text(message) for message in exchange.messages]
    before = last.usage.input_tokens if last.usage else None
    summary = next((text for text in texts if text), None)
    return RecordedCompaction("full", "auto", tokens_before=before, summary=summary)


def _markers(exchange: Exchange) -> list[str]:
    return [
        part.raw
        for message in exchange.messages
        if exchange.compacted
        for part in message.parts
        if '"type":"compaction"' in part.raw
    ]


def _compaction_text(message: Message) -> str | None:
    if not isinstance(message.content, tuple):
        return None
    for part in message.content:
        raw = part.to_openai() if part.kind == "opaque" else None
        if isinstance(raw, dict) and raw.get("type") == "compaction":
            text = raw.get("content")
            return text if isinstance(text, str) else None
    return None


def _compaction(
    kind: Literal["full", "micro"], exchange: Exchange, last: Exchange, keys: "_Keys"
) -> RecordedCompaction:
    known = {keys.of(message) for message in (*last.history, last.answer)}
    new = [m for m in exchange.history if keys.of(m) not in known]
    added = {keys.of(message) for message in exchange.history[-1:]}
    first = next((m for m in new if m.text and keys.of(m) not in added), None)
    return RecordedCompaction(
        kind,
        tokens_before=last.usage.input_tokens if last.usage else None,
        summary=first.text if first and kind == "full" and not first.is_result else None,
    )


def _by_quoted_summary(
    exchange: Exchange, candidates: Sequence[Chain], keys: "_Keys"
) -> tuple[Chain, RecordedCompaction] | tuple[None, None]:
    """Find the conversation that was broken off for a summary which this request starts with.

    A finished conversation is none: pipelines of agents also quote each other's answers.
    """
    start = _instructions(exchange.history)
    opening = "\n".join(message.text for message in exchange.history[: start + 2])
    quoted = next((c for c in candidates if _is_quoted(c.last.answer.text, opening)), None)
    if quoted is None:
        return None, None
    leading = [keys.of(message) for message in exchange.history[:start]]
    for chain in candidates:
        old = chain.last.history
        is_same_agent = chain.tools == exchange.tools and leading == [
            keys.of(message) for message in old[: _instructions(old)]
        ]
        if is_same_agent and _is_broken_off(chain.last, was_summarised=chain is quoted):
            before = chain.last.usage.input_tokens if chain.last.usage else None
            summary = quoted.last.answer.text
            return chain, RecordedCompaction("full", tokens_before=before, summary=summary)
    return None, None


def _is_broken_off(last: Exchange, *, was_summarised: bool) -> bool:
    """Tell whether results were outstanding, or a prompt for a summary followed on them."""
    if not was_summarised:
        return bool(last.answer.tool_calls)
    return [m.is_result or m.role for m in last.history[-2:]] == [True, "user"]


def _is_quoted(answer: str, opening: str) -> bool:
    return len(answer.strip()) >= MIN_SUMMARY_CHARS and answer.strip() in opening


class _Keys:
    """What two messages are compared by: what a client repeats unchanged.

    Reasoning, signatures, spacing and unknown fields are not compared. A key is computed once per
    message object.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Message, Key]] = {}

    def of(self, message: Message) -> Key:
        known = self._known.get(id(message))
        if known is None:
            known = self._known[id(message)] = (message, _key(message))
        return known[1]

    def continues(self, exchange: Exchange, last: Exchange) -> bool:
        """Whether a request starts with an earlier one, an answer after it, and more."""
        new, old = exchange.history, last.history
        start = _instructions(old)
        if start != _instructions(new) or len(new) <= len(old):
            return False
        pairs = zip(new[start:], old[start:], strict=False)
        return new[len(old)].role == "assistant" and all(
            a is b or self.of(a) == self.of(b) for a, b in pairs
        )

    def repeats_answer(self, exchange: Exchange, last: Exchange) -> bool:
        return self.of(exchange.history[len(last.history)]) == self.of(last.answer)

    def compacted(self, exchange: Exchange, last: Exchange) -> Literal["full", "micro"] | None:
        """Tell whether a request goes on with a conversation of which it has lost a part."""
        new, old = exchange.history, (*last.history, last.answer)
        start = _instructions(old)
        same = start
        while same < min(len(new), len(old)) and self.of(new[same]) == self.of(old[same]):
            same += 1
        if same in (len(new), len(old)):
            return None
        if len(new) >= len(old) and _shapes(new[start : len(old)]) == _shapes(old[start:]):
            rest = zip(new[same + 1 : len(old)], old[same + 1 :], strict=True)
            return "micro" if any(self.of(a) == self.of(b) for a, b in rest) else None
        kept = {self.of(message) for message in old[same:] if _is_telling(message)}
        # Messages that both just happen to hold are no evidence, results and calls have ids.
        return "full" if any(self.of(message) in kept for message in new[same:]) else None


def _is_telling(message: Message) -> bool:
    return bool(message.tool_calls) or message.is_result or len(message.text) >= MIN_SUMMARY_CHARS


def _shapes(messages: Messages) -> list[Key]:
    return [
        (m.role, m.tool_call_id, tuple(call.call_id for call in m.tool_calls)) for m in messages
    ]


def _key(message: Message) -> Key:
    return (
        message.role,
        message.text.strip(),
        message.tool_call_id,
        tuple((call.name, _arguments(call.arguments)) for call in message.tool_calls),
    )


def _arguments(text: str) -> str:
    return "".join(text.split()) if len(text) < 200 else canonical_json(text)


def _instructions(messages: Messages) -> int:
    """Count the instruction messages at the start."""
    roles = (message.role not in INSTRUCTION_ROLES for message in messages)
    return next((i for i, is_other in enumerate(roles) if is_other), len(messages))


def _segment(exchanges: Sequence[Exchange], opened_by: RecordedCompaction | None) -> Segment:
    longest = exchanges[-1]
    return Segment(
        (*longest.messages, longest.answer),
        tuple(
            RecordedRequest(len(exchange.messages), exchange.time, exchange.model, exchange.usage)
            for exchange in exchanges
        ),
        opened_by,
    )
