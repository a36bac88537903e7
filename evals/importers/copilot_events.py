"""What single events of Copilot CLI say, as OpenAI chat dicts."""

import json
from typing import Any

from compaction.llm import Usage
from compaction.messages import Json
from evals.importers.segment_builder import count_of, object_of, objects_of, text_of
from evals.importers.usages import logged_usage


def user_content(data: Json) -> str | list[Json]:
    """Return what was sent for a user message: with the reminders that were added to it."""
    text = text_of(data, "transformedContent", "content") or ""
    images = [_image(item) for item in objects_of(data.get("attachments")) if is_image(item)]
    return [{"type": "text", "text": text}, *images] if images else text


def is_image(attachment: Json) -> bool:
    media = text_of(attachment, "mimeType", "mediaType")
    return isinstance(attachment.get("data"), str) and str(media).startswith("image/")


def answer_of(data: Json) -> Json:
    """Convert an `assistant.message`; the encrypted reasoning stays a field of its own."""
    calls = [_call(call) for call in objects_of(data.get("toolRequests"))]
    message: Json = {"role": "assistant", "content": text_of(data, "content")}
    if reasoning := text_of(data, "reasoningText"):
        message["reasoning_content"] = reasoning
    if opaque := text_of(data, "reasoningOpaque"):
        message["reasoning_opaque"] = opaque
    if made := [call for call in calls if call]:
        message["tool_calls"] = made
    return message


def result_of(data: Json) -> Json:
    """Convert a `tool.execution_complete`; the model is sent `content`, not `detailedContent`."""
    result, error = data.get("result"), data.get("error")
    text = text_of(result, "content") if isinstance(result, dict) else result
    if text is None and error is not None:
        text = text_of(error, "message") if isinstance(error, dict) else error
    content = text if isinstance(text, str) else json.dumps(text) if text is not None else ""
    message: Json = {"role": "tool", "tool_call_id": data.get("toolCallId"), "content": content}
    return {**message, "is_error": True} if data.get("success") is False else message


def usage_of(data: Json) -> Usage | None:
    """Read an `assistant.usage` event; its input is all input, cached or not."""
    given, answered = count_of(data, "inputTokens"), count_of(data, "outputTokens")
    if not given:
        return None
    read, written = count_of(data, "cacheReadTokens"), count_of(data, "cacheWriteTokens")
    return logged_usage(given, answered, read, written)


def removed_by(data: Json) -> int | None:
    """Return how many of the oldest messages a compaction or truncation took away."""
    counts = (count_of(data, key) for key in ("messagesRemoved", "messagesRemovedDuringTruncation"))
    return next((count for count in counts if count is not None), None)


def _call(raw: Json) -> Json | None:
    call_id, name = text_of(raw, "toolCallId"), text_of(raw, "name")
    if call_id is None or name is None:
        return None
    given: Any = raw.get("arguments")
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    if raw.get("type") == "custom":
        return {"id": call_id, "type": "custom", "custom": {"name": name, "input": text}}
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def _image(attachment: Json) -> Json:
    media = text_of(attachment, "mimeType", "mediaType")
    url = f"data:{media};base64,{attachment['data']}"
    return {"type": "image_url", "image_url": {"url": url}}


def attachment_kinds(data: Json) -> list[str]:
    """Name the attachments whose content is not in the log."""
    others = [item for item in objects_of(data.get("attachments")) if not is_image(item)]
    return [str(object_of(item).get("type")) for item in others]
