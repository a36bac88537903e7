"""OpenHands V1 (software-agent-sdk) events, one a line or in a list.

Calls of one response share `llm_response_id` and become one message. Usage is logged as running
totals only: the difference between two of them is that of the response nearest in time.
`openhands-sdk` reads these events but brings a whole agent runtime, so it is not used.

Source: https://github.com/OpenHands/software-agent-sdk, `openhands/sdk/event`.
"""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from compaction.errors import MessageError, TranscriptError
from compaction.llm import Usage
from compaction.messages import Json
from evals.importers.event_segments import EventLog, Sent
from evals.importers.fields import (
    as_text,
    function_call,
    function_tool,
    image_part,
    mapping,
    objects,
    plain,
    result,
    text,
    text_part,
)
from evals.importers.files import Head, JsonValue, UnknownFormatError
from evals.importers.reports import Report, orphan_results
from evals.importers.request_bodies import values_of
from evals.importers.usages import chat_usage, unix_seconds
from evals.transcripts import Transcript

FORMAT: Final = "openhands-sdk"
KINDS: Final = frozenset(
    {
        "ActionEvent",
        "AgentErrorEvent",
        "Condensation",
        "ConversationStateUpdateEvent",
        "MessageEvent",
        "ObservationEvent",
        "SystemPromptEvent",
    }
)
RESULT_KINDS: Final = ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation")


def matches(head: Head) -> bool:
    first = head.values[0] if head.values else None
    listed = first if isinstance(first, list) else list(head.values)
    return any(
        str(event.get("kind")) in KINDS and "source" in event for event in objects(listed)[:5]
    )


def read(path: Path, source: str) -> Iterator[Transcript]:
    report, of_file = Report("event"), Report()
    reader = _Reader(report)
    number = 0
    for _, value in values_of(path, source, of_file):
        for event in value if isinstance(value, list) else [value]:
            number += 1
            if isinstance(event, dict):
                reader.add(event, number)
            else:
                report.count(number, "not an event", expected=False)
    reader.close()
    try:
        segments = reader.log.segments()
    except MessageError as error:
        raise TranscriptError(f"{source}: {error}; export the conversation again") from error
    if not any(segment.messages for segment in segments):
        raise UnknownFormatError(f"{source}: events without messages; name another file")
    orphans = orphan_results(segments[0].messages) if len(segments) == 1 else []
    yield Transcript(
        name="conversation",
        segments=segments,
        source=source,
        format=FORMAT,
        tools=reader.tools,
        skipped=(*of_file.skipped(), *report.skipped(), *orphans),
        includes_reasoning=any(m.reasoning for segment in segments for m in segment.messages),
    )


class _Reader:
    """The conversation while its events are read."""

    def __init__(self, report: Report) -> None:
        self.log = EventLog()
        self.tools: tuple[Json, ...] = ()
        self._report = report
        self._answers: dict[str, Sent] = {}
        self._requests: list[Sent] = []
        self._totals: list[_Total] = [_Total(0.0, Usage(0, 0), None)]

    def add(self, event: Json, number: int) -> None:
        kind = str(event.get("kind"))
        if kind == "SystemPromptEvent":
            self._system(event)
        elif kind == "MessageEvent":
            self._message(event)
        elif kind == "ActionEvent":
            self._action(event)
        elif kind in RESULT_KINDS:
            self._result(event)
        elif kind == "Condensation":
            self._condensation(event, number)
        elif kind == "ConversationStateUpdateEvent":
            self._state(event)
            self._report.count(number, "state update: no part of the conversation")
        else:
            is_known = kind.startswith(("Condensation", "Pause", "Token", "Conversation", "Hook"))
            self._report.count(number, f"{kind}: no message", expected=is_known)

    def _add(self, sent: Sent, event: Json) -> None:
        sent.event_ids.add(as_text(event.get("id")))
        self.log.current.append(sent)
        if sent.is_request:
            self._requests.append(sent)

    def _system(self, event: Json) -> None:
        prompt = event.get("system_prompt")
        content = prompt.get("text") if isinstance(prompt, dict) else prompt
        self._add(Sent({"role": "system", "content": as_text(content)}), event)
        self.tools = tuple(_tool(tool) for tool in objects(event.get("tools")))

    def _message(self, event: Json) -> None:
        given = mapping(event.get("llm_message"))
        parts = _parts([*_listed(given.get("content")), *_listed(event.get("extended_content"))])
        role = given.get("role")
        message: Json = {"role": role, "content": plain(parts)}
        if text(given.get("reasoning_content")):
            message["reasoning_content"] = given["reasoning_content"]
        is_answer = role == "assistant"
        time = unix_seconds(event.get("timestamp")) if is_answer else None
        self._add(Sent(message, time=time, is_request=is_answer), event)

    def _action(self, event: Json) -> None:
        call = mapping(event.get("tool_call"))
        call_id = text(event.get("tool_call_id")) or as_text(call.get("id"))
        name = text(call.get("name")) or event.get("tool_name")
        arguments = call.get("arguments", event.get("action"))
        made = function_call(call_id, name, arguments)
        response = text(event.get("llm_response_id"))
        known = self._answers.get(response or "")
        if known is not None:
            known.message["tool_calls"].append(made)
            known.event_ids.add(as_text(event.get("id")))
            return
        message: Json = {
            "role": "assistant",
            "content": plain(_parts(_listed(event.get("thought")))),
            "tool_calls": [made],
        }
        if text(event.get("reasoning_content")):
            message["reasoning_content"] = event["reasoning_content"]
        if thinking := _listed(event.get("thinking_blocks")):
            message["thinking_blocks"] = thinking
        sent = Sent(message, time=unix_seconds(event.get("timestamp")), is_request=True)
        self._add(sent, event)
        if response:
            self._answers[response] = sent

    def _result(self, event: Json) -> None:
        observation = mapping(event.get("observation"))
        told = text(event.get("error")) or text(event.get("rejection_reason"))
        content = told or plain(_parts(_listed(observation.get("content")))) or ""
        is_error = observation.get("is_error") is True or event.get("kind") == "AgentErrorEvent"
        call_id = as_text(event.get("tool_call_id"))
        self._add(Sent(result(call_id, content, is_error=is_error)), event)

    def _condensation(self, event: Json, number: int) -> None:
        forgotten: set[object] = {as_text(x) for x in _listed(event.get("forgotten_event_ids"))}
        if not self.log.condense(forgotten, text(event.get("summary"))):
            self._report.count(number, "condensation that forgets no message")

    def _state(self, event: Json) -> None:
        value = mapping(event.get("value"))
        stats = value if event.get("key") == "stats" else mapping(value.get("stats"))
        by_use = mapping(stats.get("usage_to_metrics"))
        if not by_use:
            return
        metrics = mapping(by_use.get("default") or by_use.get("agent"))
        total = chat_usage(_spelled(mapping(metrics.get("accumulated_token_usage"))))
        time = unix_seconds(event.get("timestamp"))
        if total is not None and time is not None:
            self._totals.append(_Total(time, total, text(metrics.get("model_name"))))

    def close(self) -> None:
        """Give each difference of running totals to the response it was logged with."""
        nearest: dict[int, tuple[float, _Total, Usage]] = {}
        timed = sorted((sent.time, i) for i, sent in enumerate(self._requests) if sent.time)
        for before, after in pairwise(self._totals):
            usage = _difference(after.usage, before.usage)
            at = bisect_left(timed, (after.time, 0))
            beside = [(abs(time - after.time), i) for time, i in timed[max(at - 1, 0) : at + 1]]
            if usage is None or not beside:
                continue
            distance, index = min(beside)
            if index not in nearest or distance < nearest[index][0]:
                nearest[index] = (distance, after, usage)
        for index, (_, total, usage) in nearest.items():
            self._requests[index].usage = usage
            self._requests[index].model = total.model


class _Total(NamedTuple):
    """Usage of the agent since the start."""

    time: float
    usage: Usage
    model: str | None


def _difference(total: Usage, before: Usage) -> Usage | None:
    usage = Usage(
        total.input_tokens - before.input_tokens,
        total.output_tokens - before.output_tokens,
        total.cached_input_tokens - before.cached_input_tokens,
        total.cache_write_tokens - before.cache_write_tokens,
    )
    counts = (usage.output_tokens, usage.cached_input_tokens, usage.cache_write_tokens)
    return usage if usage.input_tokens > 0 and min(counts) >= 0 else None


def _spelled(raw: Json) -> Json:
    read, written = raw.get("cache_read_tokens"), raw.get("cache_write_tokens")
    return {**raw, "cache_read_input_tokens": read, "cache_creation_input_tokens": written}


def _listed(raw: JsonValue) -> list[JsonValue]:
    return raw if isinstance(raw, list) else []


def _parts(listed: list[JsonValue]) -> list[JsonValue]:
    parts: list[JsonValue] = []
    for part in listed:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text" and isinstance(part.get("text"), str):
            parts.append(text_part(part["text"]))
        elif kind == "image" and isinstance(part.get("image_urls"), list):
            parts += [image_part(url) for url in part["image_urls"] if isinstance(url, str)]
        elif part is not None:
            parts.append(part)
    return parts


def _tool(raw: Json) -> Json:
    if isinstance(raw.get("function"), dict):
        return raw
    schema = raw.get("parameters", raw.get("input_schema", raw.get("inputSchema")))
    return function_tool(raw.get("name", raw.get("title")), raw.get("description"), schema)
