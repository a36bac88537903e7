"""Small conversations with known references, for the tests of needs, their status and of rows."""

import json
from dataclasses import dataclass, field
from typing import Any

from compaction.messages import Message, ToolCall
from evals.prepare import Prepared, prepare
from evals.transcripts import Segment, Transcript, requests_at, single_segment


def user(text: str) -> Message:
    return Message("user", text)


def says(
    text: str, *calls: tuple[str, str, dict[str, Any]], reasoning: str | None = None
) -> Message:
    """Return an assistant message; a call is (id, tool, arguments)."""
    made = tuple(ToolCall(call_id, name, json.dumps(args)) for call_id, name, args in calls)
    return Message("assistant", text, tool_calls=made, reasoning=reasoning)


def result(call_id: str, text: str) -> Message:
    return Message("tool", text, tool_call_id=call_id)


def steps(count: int, *, start: int = 0) -> list[Message]:
    """Return rounds of a call and a result that name nothing."""
    return [
        message
        for number in range(start, start + count)
        for message in (
            says("Next.", (f"s{number}", "run", {"go": "on"})),
            result(f"s{number}", "ok"),
        )
    ]


def transcript(*messages: Message, name: str = "talk", facts: tuple[Any, ...] = ()) -> Transcript:
    return Transcript(name, single_segment(tuple(messages)), source="talk.json", facts=facts)


def prepared(*messages: Message, facts: tuple[Any, ...] = ()) -> Prepared:
    return prepare(transcript(*messages, facts=facts))


def in_segments(*segments: tuple[Message, ...]) -> Prepared:
    """Prepare a transcript that was compacted between its segments."""
    return prepare(
        Transcript(
            "talk",
            tuple(
                Segment(
                    segment,
                    requests_at(
                        at for at, message in enumerate(segment) if message.role == "assistant"
                    ),
                )
                for segment in segments
            ),
        )
    )


@dataclass
class Shelf:
    """A compactor of a view that is made already: it only gives back what was put into it."""

    texts: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def steps(self, *_: object) -> None:
        raise AssertionError("a scorer asked for another view")

    def record_usage(self, *_: object) -> None:
        raise AssertionError("a scorer told of usage")

    def recover(self, handle: str) -> str | None:
        self.asked.append(handle)
        return self.texts.get(handle)
