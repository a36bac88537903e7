"""Formats that log each model call with its whole input, as conversations.

The calls are put together by `chains`, as those of a cassette are. Here: building the exchange of a
logged call and the transcripts of a file or run. Not here: what a format's calls look like.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from compaction.llm import Usage
from compaction.messages import Json, Message, Messages
from evals.importers.chains import Chain, chains_of
from evals.importers.exchanges import Exchange
from evals.importers.reports import orphan_results, unique_names
from evals.transcripts import Segment, Skipped, Transcript


@dataclass(frozen=True, slots=True)
class Origin:
    """What all conversations of one run have in common."""

    source: str
    format: str
    name: str
    """Of the longest conversation; the others get its number and model appended."""
    session: str | None = None
    project: str | None = None


def logged_call(
    where: str,
    messages: Messages,
    answer: Message,
    *,
    time: float | None = None,
    model: str | None = None,
    usage: Usage | None = None,
    tools: Iterable[Json] = (),
) -> Exchange:
    """Return one call whose input is logged in full."""
    return Exchange(
        where=where,
        api="chat",
        messages=messages,
        history=messages,
        answer=answer,
        time=time,
        model=model,
        usage=usage,
        tools=tuple(tools),
        answer_id=None,
        previous_id=None,
    )


def transcripts_of_calls(
    calls: Sequence[Exchange],
    origin: Origin,
    *,
    skipped: Sequence[Skipped] = (),
    final_messages: Messages = (),
) -> list[Transcript]:
    """Build the conversations of a run from calls in order, the longest first.

    It tells what was skipped. The final messages are how the conversation stood at the end, with
    what no call has carried.
    """
    chains = sorted(chains_of(calls), key=_length, reverse=True)
    labels = [f"/{number} {c.last.model or 'model'}" for number, c in enumerate(chains[1:], 2)]
    names = unique_names([origin.name, *(f"{origin.name}{label}" for label in labels)])
    session = origin.session or (origin.source if len(chains) > 1 else None)
    transcripts = []
    for number, (chain, name) in enumerate(zip(chains, names, strict=True)):
        segments = chain.built()
        if number == 0:
            segments = _with_end(segments, final_messages)
        orphans = orphan_results(segments[0].messages) if len(segments) == 1 else []
        transcripts.append(
            Transcript(
                name=name,
                segments=segments,
                source=origin.source,
                format=origin.format,
                session=session,
                project=origin.project,
                tools=chain.tools,
                skipped=(*(skipped if number == 0 else ()), *orphans),
                includes_reasoning=any(m.reasoning for m in chain.last.messages),
            )
        )
    return transcripts


def _length(chain: Chain) -> int:
    return sum(len(exchanges) for exchanges in chain.segments)


def _with_end(segments: tuple[Segment, ...], final: Messages) -> tuple[Segment, ...]:
    """Append what came after the last answer: results that no request has carried."""
    last = segments[-1]
    length = len(last.messages)
    if len(final) <= length or not last.messages:
        return segments
    if [_shape(m) for m in final[:length]] != [_shape(m) for m in last.messages]:
        return segments
    return (*segments[:-1], replace(last, messages=(*last.messages, *final[length:])))


def _shape(message: Message) -> tuple[object, ...]:
    return message.role, message.text.strip(), [call.call_id for call in message.tool_calls]
