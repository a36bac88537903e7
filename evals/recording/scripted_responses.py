"""Scripted answers in the shape of the Responses API, whole or as the events of a stream."""

from collections.abc import Iterator
from typing import Any

from evals.recording.scripted_answers import Json, pieces_of


def response_of(completion: Json) -> Json:
    """Return the response that says what a chat completion says."""
    (choice,) = completion["choices"]
    usage = completion["usage"]
    return {
        "id": completion["id"].replace("chatcmpl-", "resp_"),
        "object": "response",
        "created_at": completion["created"],
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": completion["model"],
        "output": list(_items(choice["message"])),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": usage["prompt_tokens"],
            "input_tokens_details": usage["prompt_tokens_details"],
            "output_tokens": usage["completion_tokens"],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage["total_tokens"],
        },
    }


def events_of(response: Json) -> Iterator[Json]:
    """Yield a response as a stream: begun, its text in pieces, whole at the end."""
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    events: list[Json] = [{"type": "response.created", "response": begun}]
    for at, item in enumerate(response["output"]):
        for part in item.get("content", ()):
            for piece in pieces_of(part.get("text") or ""):
                events.append(
                    {
                        "type": "response.output_text.delta",
                        "item_id": item["id"],
                        "output_index": at,
                        "content_index": 0,
                        "delta": piece,
                        "logprobs": [],
                    }
                )
    events.append({"type": "response.completed", "response": response})
    return ({**event, "sequence_number": number} for number, event in enumerate(events))


def _items(message: Json) -> Iterator[Json]:
    content: list[dict[str, Any]] = []
    if message["content"]:
        content.append({"type": "output_text", "text": message["content"], "annotations": []})
    if message["refusal"]:
        content.append({"type": "refusal", "refusal": message["refusal"]})
    if content:
        yield {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": content,
        }
    for call in message.get("tool_calls") or ():
        yield {
            "type": "function_call",
            "id": f"fc_{call['id']}",
            "call_id": call["id"],
            "status": "completed",
            **call["function"],
        }
