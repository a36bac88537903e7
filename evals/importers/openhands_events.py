"""The events of one OpenHands V0 run, in order, as messages."""

from typing import Final

from compaction.llm import Usage
from compaction.messages import Json
from evals.importers.event_segments import EventLog, Sent
from evals.importers.fields import (
    as_text,
    function_call,
    image_part,
    mapping,
    objects,
    result,
    text,
    text_part,
)
from evals.importers.files import JsonValue
from evals.importers.reports import Report
from evals.importers.usages import chat_usage, unix_seconds
from evals.transcripts import Segment

SILENT: Final = frozenset(
    {
        "agent_state_changed",
        "change_agent_state",
        "condensation_request",
        "null",
        "recall",
        "start_task",
        "task_tracking_state",
    }
)
"""Actions and observations that steer the program; the model never sees them."""
CLIENT_FIELDS: Final = ("function_call", "audio", "tool_calls")
"""Of a response's message; calls are added again without their index."""


class EventReader:
    """Takes events one by one."""

    def __init__(self, report: Report, usages: list[Json]) -> None:
        self.tools: tuple[Json, ...] = ()
        self.version: str | None = None
        self._log = EventLog()
        self._report = report
        self._usages = {
            as_text(raw["response_id"]): raw for raw in usages if text(raw.get("response_id"))
        }
        self._answers: dict[str, Sent] = {}
        """Response id -> its message."""
        self._calls: dict[object, str] = {}
        """Event of an action -> the id of the call that was made for it."""
        self._last_action: object = None

    def segments(self) -> tuple[Segment, ...]:
        return self._log.segments()

    def add(self, event: Json, index: int) -> None:
        given = event.get("id")
        event_id: object = given if isinstance(given, int | str) else f"#{index}"
        if isinstance(event.get("observation"), str):
            self._observation(event, event_id, index)
        elif isinstance(event.get("action"), str):
            self._action(event, event_id, index)
        else:
            self._report.count(index, "neither an action nor an observation", expected=False)

    def _action(self, event: Json, event_id: object, index: int) -> None:
        kind, args = str(event["action"]), mapping(event.get("args"))
        source = event.get("source")
        if kind in SILENT:
            self._report.count(index, f"{kind}: steers the program, not sent")
        elif kind == "condensation":
            self._condensation(args, index)
        elif kind == "system":
            self.tools = tuple(objects(args.get("tools")))
            self.version = text(args.get("openhands_version"))
            self._say("system", args.get("content"), event_id)
        elif kind == "message" and source != "agent" and not _is_answer(event):
            content = _with_images(as_text(args.get("content")), args.get("image_urls"))
            self._say("user", content, event_id)
        elif source == "user":
            self._say("user", _as_written(kind, args), event_id)
        else:
            self._answer(event, event_id, kind, args)

    def _say(self, role: str, content: JsonValue, event_id: object) -> None:
        self._log.current.append(Sent({"role": role, "content": content}, {event_id}))

    def _answer(self, event: Json, event_id: object, kind: str, args: Json) -> None:
        metadata = mapping(event.get("tool_call_metadata"))
        response = mapping(metadata.get("model_response"))
        response_id = text(response.get("id")) or text(event.get("response_id"))
        known = self._answers.get(response_id or "")
        self._last_action = event_id
        if text(metadata.get("tool_call_id")):
            self._calls[event_id] = str(metadata["tool_call_id"])
        if known is not None:
            known.event_ids.add(event_id)
            return
        choices = objects(response.get("choices"))
        message = _logged(mapping(choices[0].get("message"))) if choices else None
        if message is None:
            message = self._written(event_id, kind, args)
        sent = Sent(
            message,
            {event_id},
            time=unix_seconds(event.get("timestamp")),
            model=text(response.get("model")),
            usage=self._usage(response, response_id),
            is_request=True,
        )
        self._log.current.append(sent)
        if response_id:
            self._answers[response_id] = sent

    def _written(self, event_id: object, kind: str, args: Json) -> Json:
        """Make the message of an action whose response is not logged."""
        if kind in ("message", "finish"):
            content = text(args.get("content")) or text(args.get("thought")) or ""
            return {"role": "assistant", "content": content}
        call_id = f"event_{event_id}"
        self._calls[event_id] = call_id
        arguments = {key: value for key, value in args.items() if key != "thought"}
        return {
            "role": "assistant",
            "content": as_text(args.get("thought")),
            "tool_calls": [function_call(call_id, kind, arguments)],
        }

    def _usage(self, response: Json, response_id: str | None) -> Usage | None:
        logged = self._usages.get(response_id or "")
        usage = chat_usage(response.get("usage"))
        if logged is None or usage is not None:
            return usage
        read, written = logged.get("cache_read_tokens"), logged.get("cache_write_tokens")
        return chat_usage(
            {**logged, "cache_read_input_tokens": read, "cache_creation_input_tokens": written}
        )

    def _observation(self, event: Json, event_id: object, index: int) -> None:
        kind = str(event["observation"])
        metadata = mapping(event.get("tool_call_metadata"))
        cause = event.get("cause", self._last_action)
        call_id = text(metadata.get("tool_call_id"))
        if kind == "recall":
            self._recalled(mapping(event.get("extras")), event_id, index)
        elif kind in SILENT and call_id is None:
            self._report.count(index, f"{kind}: steers the program, not sent")
        else:
            content = _with_images(
                as_text(event.get("content")), mapping(event.get("extras")).get("image_urls")
            )
            call_id = call_id or self._calls.get(cause if _is_id(cause) else None)
            message = (
                result(call_id, content, is_error=kind == "error")
                if call_id
                else {"role": "user", "content": content}
            )
            self._log.current.append(Sent(message, {event_id}))

    def _recalled(self, extras: Json, event_id: object, index: int) -> None:
        known = objects(extras.get("microagent_knowledge"))
        texts = [
            extras.get("repo_instructions"),
            extras.get("additional_agent_instructions"),
            *(item.get("content") for item in known),
        ]
        found = [value for raw in texts if (value := text(raw))]
        if found:
            self._say("user", "\n\n".join(found), event_id)
        else:
            self._report.count(index, "recalled context without a text: not in the log")

    def _condensation(self, args: Json, index: int) -> None:
        listed = args.get("forgotten_event_ids") or args.get("pruned_event_ids")
        start, end = args.get("forgotten_events_start_id"), args.get("forgotten_events_end_id")
        named = listed if isinstance(listed, list) else []
        forgotten: set[object] = {event_id for event_id in named if _is_id(event_id)}
        if not forgotten and isinstance(start, int) and isinstance(end, int):
            forgotten = {
                event_id
                for sent in self._log.current
                for event_id in sent.event_ids
                if isinstance(event_id, int) and start <= event_id <= end
            }
        if not self._log.condense(forgotten, text(args.get("summary"))):
            self._report.count(index, "condensation that forgets no message")


def _is_id(raw: object) -> bool:
    return isinstance(raw, int | str)


def _is_answer(event: Json) -> bool:
    return bool(mapping(mapping(event.get("tool_call_metadata")).get("model_response")))


def _logged(message: Json) -> Json | None:
    """Return a response's message without the fields that only a client adds."""
    if message.get("role") != "assistant":
        return None
    kept = {k: v for k, v in message.items() if k not in CLIENT_FIELDS and v}
    calls = objects(message.get("tool_calls"))
    if calls:
        kept["tool_calls"] = [{k: v for k, v in call.items() if k != "index"} for call in calls]
    return {**kept, "content": message.get("content")}


def _as_written(kind: str, args: Json) -> str:
    return f"{kind}: {as_text(args)}"


def _with_images(content: str, urls: JsonValue) -> JsonValue:
    listed = [url for url in urls if isinstance(url, str)] if isinstance(urls, list) else []
    return [text_part(content), *map(image_part, listed)] if listed else content
