"""Histories with compaction items, as OpenAI Responses and Anthropic Messages have them.

The provider drops what stands before the latest item, so each opens a segment. It is part of an
answer: that answer closes the segment before, where it was produced, and opens the next, where it
is what the model sees.
"""

from collections.abc import Sequence
from dataclasses import replace

from compaction.messages import Message, Messages
from evals.importers.fields import text
from evals.transcripts import RecordedCompaction, RecordedRequest, Segment


def segments_of(
    instructions: Messages,
    messages: Messages,
    requests: Sequence[RecordedRequest],
    *,
    trigger: str | None,
) -> tuple[Segment, ...]:
    """Split a conversation at its compaction items; positions of requests are in `messages`.

    Instructions are not dropped by a compaction: they stand at the start of every segment. The
    trigger is `auto` if the request asked the provider to compact.
    """
    marks = [index for index, message in enumerate(messages) if _item(message) is not None]
    starts = [0, *(mark for mark in marks if mark)]
    ends = [*(mark + 1 for mark in starts[1:]), len(messages)]
    segments = []
    for start, end in zip(starts, ends, strict=True):
        is_first = start == 0
        # A compaction alone is no answer to anybody: it only opens the segment after it.
        stop = end - 1 if end < len(messages) and _is_bare(messages[end - 1]) else end
        first = start if is_first else start + 1
        shift = len(instructions) - start
        own = [
            replace(request, position=request.position + shift)
            for request in requests
            if first <= request.position < stop
        ]
        opened_by = (
            None
            if is_first
            else RecordedCompaction(
                "full", trigger, summary=text((_item(messages[start]) or {}).get("content"))
            )
        )
        segments.append(Segment((*instructions, *messages[start:stop]), tuple(own), opened_by))
    return tuple(segments)


def _item(message: Message) -> dict[str, object] | None:
    if message.role != "assistant" or not isinstance(message.content, tuple):
        return None
    for part in message.content:
        raw = part.to_openai() if part.kind == "opaque" else None
        if isinstance(raw, dict) and raw.get("type") == "compaction":
            return raw
    return None


def _is_bare(message: Message) -> bool:
    return len(message.parts) == 1 and not message.tool_calls and message.reasoning is None
