"""Model calls as the bodies of HTTP requests, and replies from the bodies of answers. No I/O.

Two APIs: Chat Completions, which every compatible server has, and Responses. A parameter that an
endpoint refuses is left out the next time; what may be left out is `REFUSABLE`.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, Literal

from compaction.errors import MessageError, ModelError
from compaction.messages import (
    REASONING_FIELDS,
    Json,
    Message,
    ToolCall,
    messages_to_openai,
)
from compaction.model_calls import FinishReason, ModelCall, ModelReply, Usage

Api = Literal["chat", "responses"]
REFUSABLE: Final = (
    "max_completion_tokens",
    "max_tokens",
    "max_output_tokens",
    "temperature",
    "seed",
    "response_format",
    "text",
    "stream_options",
)
"""Parameters that some models reject. Without the first one `max_tokens`, its older name, is
sent, unless that is rejected as well."""
STREAMING: Final = ("stream", "stream_options")
"""How an answer is sent, which changes nothing about it."""
FIRST_SEED: Final = 1
"""The only seed that may be left out: without theirs, later replicates would be the same request,
and a recorded answer to the first would be taken for one to each."""
LEAST_RESPONSES_TOKENS: Final = 16
"""The Responses API refuses a lower limit."""
_REFUSALS: Final = (
    "unsupported",
    "not supported",
    "does not support",
    "unrecognized",
    "unknown parameter",
    "unexpected",
    "extra inputs",
    "extra fields",
    "not permitted",
    "not allowed",
    "deprecated",
)
_USAGE_TOO: Final[Mapping[Api, Json]] = {
    "chat": {"stream_options": {"include_usage": True}},
    "responses": {},
}
_FINISHED: Final[Mapping[str | None, FinishReason]] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}


def request_body(
    call: ModelCall,
    *,
    model: str,
    temperature: float | None,
    api: Api = "chat",
    refused: Collection[str] = (),
    stream: bool = False,
) -> dict[str, Any]:
    """Return the body of the request that asks for a call.

    Args:
        call: What is asked.
        model: As the endpoint names it.
        temperature: None sends none.
        api: Which of the two.
        refused: Parameters that this endpoint rejected before.
        stream: Ask for the answer in pieces, with usage.

    Raises:
        ModelError: a replicate needs a seed, and the endpoint takes none.
    """
    takes_seed = api == "chat" and "seed" not in refused
    if not takes_seed and call.seed is not None and call.seed > FIRST_SEED:
        raise ModelError(
            f"model {model!r}: the endpoint takes no seed, so replicates cannot be told apart; "
            "ask for one only"
        )
    make = _chat_body if api == "chat" else _responses_body
    body = {key: value for key, value in make(call, temperature).items() if value is not None}
    if "max_completion_tokens" in refused and "max_completion_tokens" in body:
        body["max_tokens"] = body["max_completion_tokens"]
    if stream:
        body |= {"stream": True, **_USAGE_TOO[api]}
    return {"model": model, **{key: body[key] for key in body if key not in refused}}


def refused_parameter(error_text: str, body: Mapping[str, Any]) -> str | None:
    """Return which parameter of a body an endpoint says that it does not take, or None."""
    text = error_text.lower()
    if not any(phrase in text for phrase in _REFUSALS):
        return None
    named = (key for key in REFUSABLE if key in body and re.search(rf"\b{key}\b", text))
    return next(named, None)


def reply_of(raw: Any, *, api: Api = "chat", seconds: float = 0.0) -> ModelReply:
    """Read the body of an answer.

    Raises:
        ModelError: it holds no message.
    """
    if not isinstance(raw, dict):
        raise ModelError(f"the reply is no JSON object: {str(raw)[:200]!r}")
    return _chat_reply(raw, seconds) if api == "chat" else _response_reply(raw, seconds)


def _chat_body(call: ModelCall, temperature: float | None) -> dict[str, Any]:
    schema = call.response_schema
    return {
        "messages": messages_to_openai(call.messages),
        "tools": list(call.tools) or None,
        "max_completion_tokens": call.max_output_tokens,
        "temperature": temperature,
        "seed": call.seed,
        "response_format": schema
        and {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}},
    }


def _responses_body(call: ModelCall, temperature: float | None) -> dict[str, Any]:
    schema = call.response_schema
    limit = call.max_output_tokens
    tools = [{"type": "function", **tool.get("function", tool)} for tool in call.tools]
    return {
        "input": [item for message in call.messages for item in _items(message)],
        "tools": tools or None,
        "max_output_tokens": None if limit is None else max(limit, LEAST_RESPONSES_TOKENS),
        "temperature": temperature,
        "text": schema and {"format": {"type": "json_schema", "name": "answer", "schema": schema}},
        "store": False,
    }


def _items(message: Message) -> Iterator[Json]:
    """Yield the Responses items of one message; pictures and files become a word in brackets."""
    if message.is_result:
        yield {
            "type": "function_call_output",
            "call_id": message.tool_call_id or "",
            "output": message.text,
        }
        return
    text = message.text
    if text or not message.tool_calls:
        yield {"role": message.role, "content": text}
    for call in message.tool_calls:
        yield {
            "type": "function_call",
            "call_id": call.call_id,
            "name": call.name,
            "arguments": call.arguments,
        }


def _chat_reply(raw: Json, seconds: float) -> ModelReply:
    choices = raw.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    found = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(found, dict):
        raise ModelError(f"the reply holds no choice with a message: {str(raw)[:200]!r}")
    message = _received(found)
    usage = raw.get("usage")
    return ModelReply(
        text=found.get("content") or "",
        finish_reason=_FINISHED.get(choice.get("finish_reason"), "other"),
        usage=_usage(usage, "prompt_tokens", "completion_tokens"),
        model=raw.get("model"),
        seconds=seconds,
        refusal=found.get("refusal"),
        tool_names=tuple(call.name for call in message.tool_calls),
        tool_calls=message.tool_calls,
        message=message,
    )


def _response_reply(raw: Json, seconds: float) -> ModelReply:
    output = raw.get("output")
    if not isinstance(output, list) or raw.get("status") == "failed":
        reason = raw.get("error") or str(raw)[:200]
        raise ModelError(f"the reply holds no output: {reason!r}")
    items = [item for item in output if isinstance(item, dict)]
    parts = [
        part
        for item in items
        if item.get("type") == "message"
        for part in item.get("content") or ()
        if isinstance(part, dict)
    ]
    calls = tuple(
        ToolCall(str(item.get("call_id")), str(item.get("name")), str(item.get("arguments")))
        for item in items
        if item.get("type") == "function_call"
    )
    refusals = [part.get("refusal") for part in parts if part.get("type") == "refusal"]
    cut = (raw.get("incomplete_details") or {}).get("reason")
    stops = {"max_output_tokens": "length", "content_filter": "content_filter"}
    finished = stops.get(str(cut))
    return ModelReply(
        text="".join(part.get("text") or "" for part in parts if part.get("type") == "output_text"),
        finish_reason=_FINISHED.get(finished or ("tool_calls" if calls else "stop"), "other"),
        usage=_usage(raw.get("usage"), "input_tokens", "output_tokens"),
        model=raw.get("model"),
        seconds=seconds,
        refusal=refusals[0] if refusals else None,
        tool_names=tuple(call.name for call in calls),
        tool_calls=calls,
    )


def _usage(raw: Any, input_key: str, output_key: str) -> Usage | None:
    if not isinstance(raw, dict) or input_key not in raw or output_key not in raw:
        return None
    details = raw.get(f"{input_key}_details") or {}
    cached = details.get("cached_tokens") or 0
    return Usage(raw[input_key], raw[output_key], cached_input_tokens=cached)


def _received(raw: Json) -> Message:
    """Keep of a received message what may be sent back; servers reject their own other fields."""
    sent_back = ("role", "content", "refusal", "tool_calls", *REASONING_FIELDS)
    kept = {key: raw[key] for key in sent_back if raw.get(key) is not None}
    try:
        empty = None if "tool_calls" in kept else ""
        return Message.from_openai({"role": "assistant", "content": empty, **kept})
    except MessageError as error:
        raise ModelError(f"the reply is no message: {error}") from error
