"""ATIF, the Agent Trajectory Interchange Format of Harbor: `{schema_version, agent, steps}`.

Steps copied from an earlier trajectory are context, not requests. Embedded sub-agents are
transcripts of the same session. A summary that the agent hands to itself is told by a system step
that refers to the sub-agent that wrote it: it opens a segment, which keeps the first message. The
`harbor` package validates the format, but installs an evaluation framework with its cloud
clients, so it is not used.

Source: https://harborframework.com/docs/trajectory-format (ATIF 1.0 to 1.7).
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from compaction.errors import MessageError, TranscriptError
from compaction.llm import Usage
from compaction.messages import Json
from evals.importers.event_segments import EventLog, Sent
from evals.importers.fields import (
    as_text,
    first_text,
    function_call,
    image_part,
    mapping,
    objects,
    plain,
    result,
    text,
    text_part,
)
from evals.importers.files import Head, JsonValue, UnknownFormatError
from evals.importers.reports import Report, orphan_results, unique_names
from evals.importers.request_bodies import values_of
from evals.importers.usages import chat_usage, unix_seconds
from evals.transcripts import Transcript

FORMAT: Final = "atif"
ROLES: Final = {"system": "system", "user": "user", "agent": "assistant"}


def matches(head: Head) -> bool:
    first = head.values[0] if head.values else None
    if isinstance(first, list) and first:
        first = first[0]
    return _is_trajectory(first)


def read(path: Path, source: str) -> Iterator[Transcript]:
    of_file = Report()
    found: list[tuple[str, Json]] = []
    for where, value in values_of(path, source, of_file):
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict) and _is_trajectory(item):
                found += _with_sub_agents(item, where)
            else:
                of_file.add(where, "not a trajectory")
    built = [t for where, raw in found if (t := _transcript(raw, where, source))]
    if not built:
        raise UnknownFormatError(f"{source}: a trajectory without steps; name another file")
    names = unique_names(transcript.name for transcript in built)
    named = [replace(t, name=name) for t, name in zip(built, names, strict=True)]
    yield replace(named[0], skipped=(*of_file.skipped(), *named[0].skipped))
    yield from named[1:]


def _is_trajectory(value: JsonValue) -> bool:
    return (
        isinstance(value, dict)
        and str(value.get("schema_version", "")).startswith("ATIF")
        and isinstance(value.get("steps"), list)
    )


def _with_sub_agents(raw: Json, where: str) -> list[tuple[str, Json]]:
    """Return a trajectory and those inside it, which belong to its session."""
    session = text(raw.get("session_id"))
    found = [(where, raw)]
    pending = objects(raw.get("subagent_trajectories"))
    while pending:
        inner = pending.pop(0)
        found.append((where, {**inner, "session_id": session or inner.get("session_id")}))
        pending += objects(inner.get("subagent_trajectories"))
    return found


def _transcript(raw: Json, where: str, source: str) -> Transcript | None:
    agent = mapping(raw.get("agent"))
    report = Report("step")
    reader = _Reader(report, text(agent.get("model_name")))
    for number, step in enumerate(objects(raw.get("steps")), 1):
        reader.add(step, number)
    try:
        segments = reader.log.segments()
    except MessageError as error:
        raise TranscriptError(f"{where}: {error}; export the trajectory again") from error
    if not any(segment.messages for segment in segments):
        return None
    orphans = orphan_results(segments[0].messages) if len(segments) == 1 else []
    return Transcript(
        name=first_text(raw, "trajectory_id", "session_id") or text(agent.get("name")) or "agent",
        segments=segments,
        source=source,
        format=FORMAT,
        session=text(raw.get("session_id")),
        tools=tuple(objects(agent.get("tool_definitions"))),
        skipped=(*report.skipped(), *orphans),
        includes_reasoning=any(m.reasoning for segment in segments for m in segment.messages),
        extra={
            key: value
            for key in ("schema_version", "continued_trajectory_ref")
            if (value := text(raw.get(key)))
        },
    )


class _Reader:
    """The conversation while its steps are read."""

    def __init__(self, report: Report, model: str | None) -> None:
        self.log = EventLog()
        self._report = report
        self._model = model

    def add(self, step: Json, number: int) -> None:
        role = ROLES.get(str(step.get("source")))
        if role is None:
            reason = f"a step from an unknown source {step.get('source')!r}"
            self._report.count(number, reason, expected=False)
        elif role == "system" and _tells_summary(step):
            self._compact(number)
        else:
            message = _message(role, step)
            if message is not None:
                self._say(message, step, number)
            for told in _results(step):
                self.log.current.append(Sent(told, {number}))

    def _say(self, message: Json, step: Json, number: int) -> None:
        is_copied = step.get("is_copied_context") is True
        is_answer = message["role"] == "assistant"
        if is_copied and is_answer:
            self._report.count(number, "answer copied from an earlier trajectory: not counted")
        is_request = is_answer and not is_copied and step.get("llm_call_count") != 0
        sent = Sent(message, {number}, is_request=is_request)
        if is_request:
            sent.time = unix_seconds(step.get("timestamp"))
            sent.model = text(step.get("model_name")) or self._model
            sent.usage = _usage(mapping(step.get("metrics")))
        self.log.current.append(sent)

    def _compact(self, number: int) -> None:
        later = {event_id for sent in self.log.current[1:] for event_id in sent.event_ids}
        if self.log.condense(later, None):
            self._report.count(number, "the agent's handover to itself: opens a segment")
        else:
            self._report.count(number, "a handover without anything before it", expected=False)


def _tells_summary(step: Json) -> bool:
    results = objects(mapping(step.get("observation")).get("results"))
    has_writer = any(item.get("subagent_trajectory_ref") for item in results)
    return has_writer and "summar" in as_text(step.get("message")).lower()


def _message(role: str, step: Json) -> Json | None:
    given = step.get("message")
    content = plain([_part(part) for part in given]) if isinstance(given, list) else given
    message: Json = {"role": role, "content": content}
    if text(step.get("reasoning_content")):
        message["reasoning_content"] = step["reasoning_content"]
    calls = [
        function_call(
            as_text(raw.get("tool_call_id")), raw.get("function_name"), raw.get("arguments")
        )
        for raw in objects(step.get("tool_calls"))
    ]
    if calls and role == "assistant":
        message["tool_calls"] = calls
    is_silent = not content and not calls and role != "assistant"
    return None if is_silent else message


def _part(part: JsonValue) -> JsonValue:
    given = mapping(part)
    path = text(mapping(given.get("source")).get("path"))
    if given.get("type") == "text" and isinstance(given.get("text"), str):
        return text_part(given["text"])
    return image_part(path) if given.get("type") == "image" and path else part


def _results(step: Json) -> Iterator[Json]:
    """Yield results; one that names no call is the single call's, or what the agent is told."""
    calls = [as_text(raw.get("tool_call_id")) for raw in objects(step.get("tool_calls"))]
    results = objects(mapping(step.get("observation")).get("results"))
    for raw in results:
        content = raw.get("content")
        listed = [_part(part) for part in content] if isinstance(content, list) else content
        call_id = text(raw.get("source_call_id"))
        if call_id is None and len(calls) == len(results) == 1:
            call_id = calls[0]
        if call_id:
            yield result(call_id, listed)
        elif content:
            yield {"role": "user", "content": plain(listed) if isinstance(listed, list) else listed}


def _usage(metrics: Json) -> Usage | None:
    """Read metrics; `prompt_tokens` is all input, `cached_tokens` a part of it."""
    written = mapping(metrics.get("extra")).get("cache_creation_input_tokens")
    details = {"cached_tokens": metrics.get("cached_tokens"), "cache_creation_tokens": written}
    return chat_usage({**metrics, "prompt_tokens_details": details})
