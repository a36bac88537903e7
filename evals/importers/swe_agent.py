"""SWE-agent trajectories (`.traj`): function calling, thought and action as text, history only.

`history` is the conversation; `query` or `messages` of a step repeat it as it was sent, often with
older observations shortened, and are only read where there is no history. Demonstrations are sent,
so they stay. Tokens are logged for the whole run only. The `sweagent` package writes this format
but offers no reader, so none is used.

Source: https://swe-agent.com/latest/usage/trajectories/.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from compaction.errors import MessageError, TranscriptError
from compaction.messages import Json, messages_from_openai
from evals.importers.fields import as_text, mapping, objects, text
from evals.importers.files import Head, JsonValue, UnknownFormatError, read_document
from evals.importers.reports import Report, orphan_results
from evals.transcripts import RecordedRequest, Segment, Skipped, Transcript

FORMAT: Final = "swe-agent"
STEP_KEYS: Final = ("action", "observation", "response")
OWN_KEYS: Final = frozenset(
    {"agent", "message_type", "thought", "action", "is_demo", "tool_call_ids", "tags"}
)
"""Fields of a history item that are not sent."""


def matches(head: Head) -> bool:
    first = head.values[0] if head.values else None
    if not isinstance(first, dict) or head.layout == "text":
        return False
    steps, history = objects(first.get("trajectory")), objects(first.get("history"))
    is_step = bool(steps) and any(key in steps[0] for key in STEP_KEYS)
    is_item = bool(history) and "role" in history[0] and "agent" in history[0]
    return is_step or is_item


def read(path: Path, source: str) -> Iterator[Transcript]:
    document = mapping(read_document(path, source))
    report = Report()
    history = objects(document.get("history"))
    listed = history or _of_steps(objects(document.get("trajectory")))
    if not listed:
        raise UnknownFormatError(f"{source}: a trajectory without steps; name another file")
    converted = [_message(item, index, report) for index, item in enumerate(listed)]
    try:
        messages = messages_from_openai(converted)
    except MessageError as error:
        raise TranscriptError(f"{source}: history: {error}; run the instance again") from error
    model = _model(document)
    requests = [
        RecordedRequest(index, model=model)
        for index, (message, item) in enumerate(zip(messages, listed, strict=True))
        if message.role == "assistant" and item.get("is_demo") is not True
    ]
    yield Transcript(
        name=_name(document, source),
        segments=(Segment(messages, tuple(requests)),),
        source=source,
        format=FORMAT,
        project=text(document.get("environment")),
        skipped=(*report.skipped(), *_shortened(document, history), *orphan_results(messages)),
        includes_reasoning=any(message.reasoning for message in messages[:-1]),
        extra=_extra(document),
    )


def _message(item: Json, index: int, report: Report) -> Json:
    message = {key: value for key, value in item.items() if key not in OWN_KEYS}
    if message.get("tool_calls") is None:
        message.pop("tool_calls", None)
    if item.get("role") == "tool":
        ids = _call_ids(item.get("tool_call_ids", item.get("tool_call_id")))
        if len(ids) != 1:
            report.add(f"history[{index}]", f"a result that names {len(ids)} calls, not one")
        message["tool_call_id"] = ids[0] if ids else ""
    return message


def _call_ids(raw: JsonValue) -> list[str]:
    """Read ids; older files hold the text of a Python list."""
    if isinstance(raw, str) and raw.startswith("["):
        try:
            raw = ast.literal_eval(raw)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return [as_text(raw)]
    if isinstance(raw, str):
        return [raw]
    return [item for item in raw if isinstance(item, str)] if isinstance(raw, list) else []


def _of_steps(steps: list[Json]) -> list[Json]:
    """Build the conversation of a file without history, from its last query if there is one."""
    query = _query(steps[-1]) if steps else []
    if query:
        last = steps[-1]
        end: list[Json] = [{"role": "assistant", "content": as_text(last.get("response"))}]
        if query[-1].get("role") == "assistant":
            end = []
        return [*query, *end]
    listed: list[Json] = []
    for step in steps:
        listed.append({"role": "assistant", "content": as_text(step.get("response"))})
        if step.get("observation") is not None:
            listed.append({"role": "user", "content": as_text(step.get("observation"))})
    return listed


def _query(step: Json) -> list[Json]:
    return objects(step.get("query")) or objects(step.get("messages"))


def _shortened(document: Json, history: list[Json]) -> list[Skipped]:
    """Report steps whose query is not the history: what was sent was edited before."""
    if not history:
        return []
    texts = [item.get("content") for item in history]
    edited = [
        index
        for index, step in enumerate(objects(document.get("trajectory")))
        if any(
            item.get("content") != content
            for item, content in zip(_query(step), texts, strict=False)
        )
    ]
    if not edited:
        return []
    reason = (
        f"{len(edited)} queries differ from the history, the first one here: SWE-agent's history "
        "processors shortened what was sent; the whole history is read"
    )
    return [Skipped(f"trajectory[{edited[0]}]", reason, expected=True)]


def _agent(document: Json) -> Json:
    return mapping(mapping(document.get("replay_config")).get("agent"))


def _model(document: Json) -> str | None:
    name = text(mapping(_agent(document).get("model")).get("name"))
    return None if name == "replay" else name


def _name(document: Json, source: str) -> str:
    problem = mapping(mapping(document.get("replay_config")).get("problem_statement"))
    return text(problem.get("id")) or Path(source).name.split(".")[0]


def _extra(document: Json) -> Json:
    info = mapping(document.get("info"))
    kept = {"exit_status": info.get("exit_status"), "model_stats": info.get("model_stats")}
    return {key: value for key, value in kept.items() if value is not None}
