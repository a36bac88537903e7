"""Tools of an agent: how one is declared and run, and those that undo or start a compaction.

A tool that fails answers a text that starts with `error:`; the loop goes on and the model decides.
"""

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, runtime_checkable

from compaction.errors import StoreError
from compaction.messages import Json, Message, ToolCall
from compaction.strategy import Strategy

EXTRACT_TOOL: Final = "extract_compacted_tool_result"
READ_TOOL: Final = "read_persisted_output"
COMPACT_TOOL: Final = "compact"
COMPACT_PLACEHOLDER: Final = "Compacting conversation..."
"""What the `compact` tool answers; the compaction runs after the whole batch of tools."""
MAX_READ_CHARS: Final = 20_000
"""The most that one `read_persisted_output` returns: below every threshold for persisting."""

Recover = Callable[[str], str | None]
RequestCompaction = Callable[[str | None], None]


@runtime_checkable
class CompactsOnRequest(Protocol):
    """A compactor that can be told to compact before the next request."""

    def request_compaction(self, focus: str | None) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Something the model may call."""

    name: str
    description: str
    run: Callable[..., str | Awaitable[str]]
    """Called with the arguments by name. A coroutine function needs the asynchronous driver."""
    parameters: Json
    """JSON Schema of the arguments, an object."""

    def schema(self) -> Json:
        """Return the element of a request's `tools`."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
        }
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What a tool answered."""

    text: str
    is_error: bool = False


class Toolbox:
    """The tools of one agent by name.

    Raises:
        ValueError: two tools of one name.
    """

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        if len(self._tools) != len(tools):
            names = [tool.name for tool in tools]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise ValueError(f"two tools of one name: {', '.join(twice)}")

    def schemas(self) -> tuple[Json, ...]:
        return tuple(tool.schema() for tool in self._tools.values())

    def call(self, call: ToolCall) -> ToolOutcome:
        """Run a tool to its end; whatever goes wrong becomes the answer."""
        try:
            tool, arguments = self._prepared(call)
            if inspect.iscoroutinefunction(tool.run):
                raise TypeError(f"{tool.name} is asynchronous; run the agent with `arun`")
            return ToolOutcome(str(tool.run(**arguments)))
        except Exception as error:  # noqa: BLE001 - tools are foreign code; the model is told
            return _failure(error)

    async def acall(self, call: ToolCall) -> ToolOutcome:
        """Do what `call` does, awaiting coroutine functions and running others in a thread."""
        try:
            tool, arguments = self._prepared(call)
            if inspect.iscoroutinefunction(tool.run):
                return ToolOutcome(str(await tool.run(**arguments)))
            return ToolOutcome(str(await asyncio.to_thread(tool.run, **arguments)))
        except Exception as error:  # noqa: BLE001 - tools are foreign code; the model is told
            return _failure(error)

    def _prepared(self, call: ToolCall) -> tuple[Tool, Mapping[str, Any]]:
        if call.name not in self._tools:
            raise LookupError(f"no tool named {call.name!r}; there are {', '.join(self._tools)}")
        return self._tools[call.name], parsed_arguments(call)


def parsed_arguments(call: ToolCall) -> dict[str, Any]:
    """Read the arguments of a call.

    Raises:
        ValueError: they are not a JSON object; a missing text counts as an empty object.
    """
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the arguments of {call.name} are not JSON: {error}") from error
    if not isinstance(arguments, dict):
        raise ValueError(f"the arguments of {call.name} are not a JSON object")
    return arguments


def result_message(call: ToolCall, text: str) -> Message:
    """Return the message that answers a call."""
    if call.kind == "legacy":
        return Message("function", text, name=call.name)
    return Message("tool", text, tool_call_id=call.call_id)


def _failure(error: Exception) -> ToolOutcome:
    return ToolOutcome(f"error: {str(error) or type(error).__name__}", is_error=True)


def extract_tool(recover: Recover) -> Tool:
    """Return the tool that gives back a cleared result whole."""

    def extract(toolcall_id: str) -> str:
        return _recovered(recover, toolcall_id)

    return Tool(
        name=EXTRACT_TOOL,
        description="Return the full text of a tool result that was compacted.",
        run=extract,
        parameters=_object(
            {"toolcall_id": ("string", "The ID that the placeholder names.")}, "toolcall_id"
        ),
    )


def read_tool(recover: Recover) -> Tool:
    """Return the tool that reads a persisted output piece by piece."""

    def read(handle: str, offset_chars: int = 0, max_chars: int = MAX_READ_CHARS) -> str:
        return read_persisted_output(
            recover, handle, offset_chars=offset_chars, max_chars=max_chars
        )

    return Tool(
        name=READ_TOOL,
        description="Read part of a tool output that was too large to keep in the conversation.",
        run=read,
        parameters=_object(
            {
                "handle": ("string", "What the <persisted-output> block names."),
                "offset_chars": ("integer", "Where to start; 0 is the beginning."),
                "max_chars": ("integer", f"How much to read, at most {MAX_READ_CHARS}."),
            },
            "handle",
        ),
    )


def read_persisted_output(
    recover: Recover, handle: str, *, offset_chars: int = 0, max_chars: int = MAX_READ_CHARS
) -> str:
    """Return a piece of a stored text and, unless it is the whole, where the piece lies.

    Raises:
        LookupError: nothing is stored under the handle.
        ValueError: a negative offset, or one past the end, or nothing asked for.
    """
    text = _recovered(recover, handle)
    if not 0 <= offset_chars <= len(text):
        raise ValueError(f"offset_chars must be 0 to {len(text)}, got {offset_chars}")
    if max_chars < 1:
        raise ValueError(f"max_chars must be >= 1, got {max_chars}")
    stop = min(len(text), offset_chars + min(max_chars, MAX_READ_CHARS))
    if (offset_chars, stop) == (0, len(text)):
        return text
    more = f"; go on with offset_chars={stop}" if stop < len(text) else ""
    return f"[characters {offset_chars} to {stop} of {len(text)}{more}]\n{text[offset_chars:stop]}"


def compact_tool(request_compaction: RequestCompaction) -> Tool:
    """Return the tool with which the model asks for a compaction."""

    def compact(focus: str | None = None) -> str:
        request_compaction(focus)
        return COMPACT_PLACEHOLDER

    return Tool(
        name=COMPACT_TOOL,
        description="Summarize the conversation so far to free context, then go on working.",
        run=compact,
        parameters=_object({"focus": ("string", "What the summary must keep in particular.")}),
    )


def tools_of(
    strategy: Strategy, recover: Recover, request_compaction: RequestCompaction
) -> list[Tool]:
    """Return the tools that go with a strategy: those it names, else those it can serve."""
    named = getattr(strategy, "agent_tools", None)
    if named is None:
        named = (EXTRACT_TOOL, READ_TOOL) if strategy.promises.recoverable else ()
    offered = {
        EXTRACT_TOOL: extract_tool(recover),
        READ_TOOL: read_tool(recover),
        COMPACT_TOOL: compact_tool(request_compaction),
    }
    return [tool for name, tool in offered.items() if name in named]


def _recovered(recover: Recover, handle: str) -> str:
    try:
        text = recover(handle)
    except StoreError as error:
        raise LookupError(f"{error}; run the tool again") from error
    if text is None:
        raise LookupError(f"nothing is stored under {handle!r}; run the tool again")
    return text


def _object(properties: Mapping[str, tuple[str, str]], *required: str) -> Json:
    described = {
        name: {"type": kind, "description": text} for name, (kind, text) in properties.items()
    }
    return {
        "type": "object",
        "properties": described,
        "required": list(required),
        "additionalProperties": False,
    }
