"""Gemini `generateContent`: contents of parts, and what the API refuses.

Source: the API reference of `generateContent`, its guide to function calling, and the texts of its
400 errors ("Please ensure that the number of function response parts is equal to the number of
function call parts of the function call turn", "function call turn comes immediately after a user
turn or after a function response turn", "contents are required", "must include at least one parts
field").
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from compaction.contract.providers.media import data_url
from compaction.contract.providers.profiles import (
    EMPTY,
    Converted,
    Illegality,
    Profile,
    last_source,
)
from compaction.messages import INSTRUCTION_ROLES, Json, Message, Part, ToolCall
from compaction.pairing import pair


def to_gemini(messages: Sequence[Message]) -> Converted:
    """Return `systemInstruction` and `contents` of a request.

    Neighbours of one role become one content, but results never stand with other parts. A result
    is named after the call that it answers. Empty text is left out, reasoning too.
    """
    system: list[Json] = []
    contents: list[Json] = []
    sources: list[tuple[int, ...]] = []
    unconverted: list[str] = []
    names = {result: call.name for result, (_, call) in pair(messages).call_of.items()}
    was_result = False
    for at, message in enumerate(messages):
        parts = list(_parts(message, at, names.get(at), unconverted))
        if message.role in INSTRUCTION_ROLES:
            system += parts
            if contents:
                unconverted.append(f"message {at}: instructions moved to the front")
            continue
        role = "model" if message.role == "assistant" else "user"
        is_like = bool(contents) and contents[-1]["role"] == role
        if is_like and was_result == message.is_result:
            contents[-1]["parts"] += parts
            sources[-1] += (at,)
        else:
            contents.append({"role": role, "parts": parts})
            sources.append((at,))
        was_result = message.is_result
    body: Json = {"contents": contents}
    if system:
        body["systemInstruction"] = {"parts": system}
    return Converted(body, tuple(sources), tuple(unconverted))


def _parts(message: Message, at: int, name: str | None, unconverted: list[str]) -> Iterator[Json]:
    if message.is_result:
        if any(part.kind not in ("text", "refusal") for part in message.parts):
            unconverted.append(f"message {at}: media in a result")
        answer: Json = {"name": name or message.name or "unknown"}
        answer["response"] = {"result": message.text}
        if message.tool_call_id:
            answer["id"] = message.tool_call_id
        yield {"functionResponse": answer}
        return
    if message.reasoning:
        unconverted.append(f"message {at}: reasoning")
    for part in message.parts:
        made = _part(part)
        if made is None:
            unconverted.append(f"message {at}: a part of kind {part.kind}")
        elif made.get("text") != "":
            yield made
    for call in message.tool_calls:
        yield _call(call, at, unconverted)


def _call(call: ToolCall, at: int, unconverted: list[str]) -> Json:
    arguments: Any = None
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        unconverted.append(f"message {at}: the arguments of {call.name} are no JSON")
    made: Json = {"name": call.name, "args": arguments}
    if call.call_id:
        made["id"] = call.call_id
    return {"functionCall": made}


def _part(part: Part) -> Json | None:
    if part.kind in ("text", "refusal"):
        return {"text": part.text}
    raw: Any = part.to_openai()
    if part.kind == "image" and isinstance(raw.get("image_url"), dict):
        url = str(raw["image_url"].get("url", ""))
        inline = data_url(url)
        if inline is None:
            return {"fileData": {"fileUri": url}}
        return {"inlineData": {"mimeType": inline.media_type, "data": inline.data}}
    if part.kind == "audio" and isinstance(raw.get("input_audio"), dict):
        sound = raw["input_audio"]
        kind = f"audio/{sound.get('format', 'wav')}"
        return {"inlineData": {"mimeType": kind, "data": sound.get("data")}}
    file = raw.get("file") if part.kind == "file" else None
    inline = data_url(str(file.get("file_data", ""))) if isinstance(file, dict) else None
    if inline is None:
        return None
    return {"inlineData": {"mimeType": inline.media_type, "data": inline.data}}


def _refusals(converted: Converted) -> Iterator[Illegality]:
    contents: list[Json] = converted.body["contents"]
    if not contents:
        yield Illegality("empty_request", -1, EMPTY, is_at_end=True)
        return
    if contents[0]["role"] != "user":
        text = "the first content must be of the user"
        yield Illegality("first_is_not_user", converted.sources[0][0], text, is_at_end=True)
    if contents[-1]["role"] != "user":
        text = "the last content must be of the user or a result"
        yield Illegality("last_is_not_user", last_source(converted, -1), text, is_at_end=True)
    called = 0
    for at, content in enumerate(contents):
        position = last_source(converted, at)
        calls, answers = (_count(content, key) for key in ("functionCall", "functionResponse"))
        if answers != called:
            rule = "result_without_call" if answers > called else "call_without_result"
            text = f"{answers} results stand behind {called} calls"
            where = position if answers > called else last_source(converted, at - 1)
            yield Illegality(rule, where, text)
        if not content["parts"]:
            yield Illegality("empty_content", position, "the content has no parts", "/content")
        if any(not isinstance(call.get("args"), dict) for call in _calls(content)):
            text = "the arguments of a call are no object"
            yield Illegality("bad_arguments", position, text, "/tool_calls")
        called = calls
    if called:
        text = f"{called} calls at the end have no results"
        yield Illegality("call_without_result", last_source(converted, -1), text)


def _calls(content: Json) -> list[Json]:
    return [part["functionCall"] for part in content["parts"] if "functionCall" in part]


def _count(content: Json, key: str) -> int:
    return sum(key in part for part in content["parts"])


GEMINI: Final = Profile("gemini", to_gemini, _refusals)
