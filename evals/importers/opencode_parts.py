"""The parts of opencode messages as OpenAI chat dicts."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from compaction.llm import Usage
from compaction.messages import Json
from evals.importers.reports import Report
from evals.importers.segment_builder import count_of, object_of, objects_of, text_of
from evals.importers.usages import logged_usage, unix_seconds

SIDE_TYPES: Final = frozenset(
    {"agent", "compaction", "patch", "retry", "snapshot", "step-finish", "step-start", "subtask"}
)
"""Parts that are not sent as they are."""
READ_TYPES: Final = ("text/plain", "application/x-directory")
"""Files whose text stands beside them as a part of its own."""


@dataclass(slots=True)
class Result:
    """What a tool gave back."""

    message: Json
    pruned_at: float | None
    """Unix seconds; from then on a notice was sent instead."""


@dataclass(slots=True)
class Step:
    """What one request produced."""

    texts: list[Json] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: list[Json] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    usage: Usage | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.texts or self.reasoning or self.calls)

    @property
    def message(self) -> Json:
        content = self.texts[0]["text"] if len(self.texts) == 1 else self.texts or None
        message: Json = {"role": "assistant", "content": content}
        if self.reasoning:
            message["reasoning_content"] = "\n\n".join(self.reasoning)
        if self.calls:
            message["tool_calls"] = self.calls
        return message


def user_parts(parts: list[Json], report: Report, where: str) -> str | list[Json]:
    """Return the content of a user message, empty if nothing of it was sent."""
    content: list[Json] = []
    for part in parts:
        kind = str(part.get("type"))
        if kind == "text" and part.get("ignored") is True:
            report.add(where, "text that the user was shown only", expected=True)
        elif kind == "text":
            content.append({"type": "text", "text": text_of(part, "text") or ""})
        elif kind == "file" and part.get("mime") not in READ_TYPES:
            content.append(_file(part))
        elif kind not in SIDE_TYPES and kind != "file":
            report.add(where, f"part of unknown type {kind!r}")
    if len(content) == 1 and content[0]["type"] == "text":
        text: str = content[0]["text"]
        return text
    return content


def steps_of(info: Json, parts: list[Json], report: Report, where: str) -> list[Step]:
    """Split an answer where steps start; each is counted by its own `step-finish`."""
    steps = [Step()]
    for part in parts:
        kind = str(part.get("type"))
        if kind == "step-start":
            if not steps[-1].is_empty:
                steps.append(Step())
        elif kind == "step-finish":
            steps[-1].usage = count_usage(object_of(part.get("tokens")))
        elif not _take(steps[-1], kind, part) and kind not in SIDE_TYPES and kind != "file":
            report.add(where, f"part of unknown type {kind!r}")
    found = [step for step in steps if not step.is_empty]
    if found and not any(step.usage for step in found):
        found[-1].usage = count_usage(object_of(info.get("tokens"))) or _flat_usage(info)
    return found


def count_usage(tokens: Json) -> Usage | None:
    """Read the tokens of a step; cached input is counted apart, and reasoning beside the output.

    Where the total is logged, the output is what the input leaves of it, because older versions
    counted reasoning as output too. All zero is no usage.
    """
    cache = object_of(tokens.get("cache"))
    read, written = count_of(cache, "read"), count_of(cache, "write")
    given = (count_of(tokens, "input") or 0) + (read or 0) + (written or 0)
    answered = (count_of(tokens, "output") or 0) + (count_of(tokens, "reasoning") or 0)
    total = count_of(tokens, "total")
    if total is not None and total > given:
        answered = total - given
    return logged_usage(given, answered, read, written) if given + answered else None


def _flat_usage(info: Json) -> Usage | None:
    cache = {"read": info.get("tokens_cache_read"), "write": info.get("tokens_cache_write")}
    flat = {key: info.get(f"tokens_{key}") for key in ("input", "output", "reasoning")}
    return count_usage({**flat, "cache": cache})


def _take(step: Step, kind: str, part: Json) -> bool:
    if kind == "text" and part.get("ignored") is not True:
        if text := text_of(part, "text"):
            step.texts.append({"type": "text", "text": text})
    elif kind == "reasoning":
        if text := text_of(part, "text"):
            step.reasoning.append(text)
    elif kind == "tool" and text_of(part, "callID") and text_of(part, "tool"):
        state = object_of(part.get("state"))
        arguments = json.dumps(state.get("input", {}), ensure_ascii=False)
        function = {"name": part["tool"], "arguments": arguments}
        step.calls.append({"id": part["callID"], "type": "function", "function": function})
        step.results.extend(_results(part["callID"], state))
    else:
        return kind == "text"
    return True


def _results(call_id: str, state: Json) -> Iterator[Result]:
    """Yield the result of a call; none while it waits or runs."""
    message: Json = {"role": "tool", "tool_call_id": call_id}
    pruned_at = unix_seconds(object_of(state.get("time")).get("compacted"))
    if state.get("status") == "completed":
        files = [_file(item) for item in objects_of(state.get("attachments"))]
        output = state.get("output")
        text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
        content = [{"type": "text", "text": text}, *files] if files else text
        yield Result({**message, "content": content}, pruned_at)
    elif state.get("status") == "error":
        error = text_of(state, "error") or ""
        yield Result({**message, "content": error, "is_error": True}, pruned_at)


def _file(part: Json) -> Json:
    url = text_of(part, "url") or ""
    if str(part.get("mime")).startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url}}
    name = text_of(part, "filename")
    return {"type": "file", "file": {**({"filename": name} if name else {}), "file_data": url}}
