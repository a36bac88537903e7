"""One recorded HTTP exchange with a model as chat messages, whatever API it used.

Chat Completions, Responses, Anthropic Messages and Google `generateContent`; plain and streamed
answers. How exchanges form conversations is in `chains`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from compaction.errors import MessageError
from compaction.llm import Usage
from compaction.messages import Json, Message, Messages, messages_from_openai
from evals.cassettes import Interaction
from evals.importers import (
    anthropic_blocks,
    event_streams,
    google_contents,
    responses_items,
    usages,
)
from evals.transcripts import Skipped

Api = Literal["chat", "responses", "anthropic", "google"]
JsonValue = Any

PATH_ENDS: Final[tuple[tuple[str, Api], ...]] = (
    ("/chat/completions", "chat"),
    ("/responses", "responses"),
    ("/messages", "anthropic"),
    (":rawPredict", "anthropic"),
    (":streamRawPredict", "anthropic"),
    (":generateContent", "google"),
    (":streamGenerateContent", "google"),
)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its answer."""

    where: str
    api: Api
    messages: Messages
    """What the model saw: without what a server-side compaction had dropped."""
    history: Messages
    """What the client sent."""
    answer: Message
    time: float | None
    model: str | None
    usage: Usage | None
    tools: tuple[Json, ...]
    answer_id: str | None
    previous_id: str | None
    """The answer that a Responses request continues without repeating the history."""

    @property
    def compacted(self) -> bool:
        """Whether a compaction item stands in the history."""
        return self.messages != self.history


def exchange_of(interaction: Interaction, index: int, memo: "MessageMemo") -> Exchange | Skipped:
    """Read an interaction, or say why it is no request to a model."""
    where = f"interactions[{index}]"
    try:
        url = urlsplit(interaction.uri)
    except ValueError as error:
        return Skipped(where, f"no address of a model: {error}")
    place = f"{interaction.method} {url.hostname}{url.path}"
    api = next((api for end, api in PATH_ENDS if url.path.endswith(end)), None)
    body = interaction.request_body
    if api is None or not isinstance(body, dict):
        is_chat = isinstance(body, dict) and ("messages" in body or "contents" in body)
        return Skipped(where, f"no chat request ({place})", expected=not is_chat)
    if interaction.response_status >= 400:
        reason = f"answered with status {interaction.response_status} ({place}): no request counted"
        return Skipped(where, reason, expected=True)
    try:
        answer = _answer_json(interaction, api)
        if answer is None:
            return Skipped(where, f"the answer is not understood ({place})")
        return _exchange(where, api, body, answer, interaction, memo)
    except (MessageError, TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
        return Skipped(where, f"not understood ({place}): {type(error).__name__}: {error}")


class MessageMemo:
    """Converts chat messages, but not those again that the request before held at the same place.

    Requests repeat the history, so that the cost is that of the new messages, and equal messages of
    a conversation are one object.
    """

    def __init__(self) -> None:
        self._last: list[tuple[JsonValue, Message]] = []

    def messages(self, raw: JsonValue) -> Messages:
        if not isinstance(raw, list):
            raise TypeError("no list of messages")
        known = self._last
        self._last = [
            known[index]
            if index < len(known) and known[index][0] == item
            else (item, Message.from_openai(item))
            for index, item in enumerate(raw)
        ]
        return tuple(message for _, message in self._last)


def _answer_json(interaction: Interaction, api: Api) -> Json | None:
    body = interaction.response_body
    if isinstance(body, str) and event_streams.is_event_stream(body):
        joins: dict[Api, Callable[[Iterator[Json]], Json | None]] = {
            "chat": event_streams.chat_completion,
            "responses": event_streams.response,
            "anthropic": event_streams.anthropic_message,
            "google": event_streams.generated_content,
        }
        return joins[api](event_streams.events_of(body))
    value = interaction.response_json()
    if api == "google" and isinstance(value, list):
        return event_streams.generated_content(chunk for chunk in value if isinstance(chunk, dict))
    return value if isinstance(value, dict) else None


def _exchange(
    where: str, api: Api, body: Json, answer: Json, interaction: Interaction, memo: MessageMemo
) -> Exchange:
    readers = {
        "chat": _chat,
        "responses": _responses,
        "anthropic": _anthropic,
        "google": _google,
    }
    parts = readers[api](body, answer, memo)
    previous, answer_id = body.get("previous_response_id"), answer.get("id")
    model = next(
        (m for m in (answer.get("model"), answer.get("modelVersion"), body.get("model")) if m), None
    )
    times = (interaction.recorded_at, answer.get("created"), answer.get("created_at"))
    return Exchange(
        where=where,
        api=api,
        messages=parts.messages,
        history=parts.history,
        answer=parts.answer,
        time=next((t for raw in times if (t := usages.unix_seconds(raw)) is not None), None),
        model=model if isinstance(model, str) else None,
        usage=parts.usage,
        tools=parts.tools,
        answer_id=answer_id if isinstance(answer_id, str) else None,
        previous_id=previous if isinstance(previous, str) else None,
    )


@dataclass(frozen=True, slots=True)
class _Parts:
    """What differs between the APIs."""

    messages: Messages
    history: Messages
    answer: Message
    usage: Usage | None
    tools: tuple[Json, ...]


def _chat(body: Json, answer: Json, memo: MessageMemo) -> _Parts:
    messages = memo.messages(body["messages"])
    functions = [{"type": "function", "function": f} for f in body.get("functions") or []]
    return _Parts(
        messages,
        messages,
        Message.from_openai(answer["choices"][0]["message"]),
        usages.chat_usage(answer.get("usage")),
        tuple(body.get("tools") or functions),
    )


def _responses(body: Json, answer: Json, _memo: MessageMemo) -> _Parts:
    instructions = body.get("instructions")
    system = [{"role": "system", "content": instructions}] if instructions else []
    items = body.get("input", [])
    listed = items if isinstance(items, list) else []
    marks = [i for i, item in enumerate(listed) if responses_items.is_compaction(item)]
    last = marks[-1] if marks else 0
    history = messages_from_openai(system + responses_items.messages_of(items))
    seen = messages_from_openai(system + responses_items.messages_of(listed[last:]))
    return _Parts(
        seen if last else history,
        history,
        _only(responses_items.messages_of(answer["output"])),
        usages.responses_usage(answer.get("usage")),
        responses_items.tools_of(body.get("tools")),
    )


def _anthropic(body: Json, answer: Json, _memo: MessageMemo) -> _Parts:
    system = anthropic_blocks.system_message(body.get("system"))
    history: list[Json] = []
    start = 0
    for raw in body["messages"]:
        content = raw.get("content")
        if raw.get("role") != "assistant":
            history += anthropic_blocks.user_messages(content)
            continue
        blocks = anthropic_blocks.blocks_of(content)
        if any(responses_items.is_compaction(block) for block in blocks):
            start = len(history)
        history.append(anthropic_blocks.assistant_message(content))
    messages = messages_from_openai(system + history)
    return _Parts(
        messages[: len(system)] + messages[len(system) + start :] if start else messages,
        messages,
        Message.from_openai(anthropic_blocks.assistant_message(answer["content"])),
        usages.anthropic_usage(answer.get("usage")),
        anthropic_blocks.tools(body.get("tools")),
    )


def _google(body: Json, answer: Json, _memo: MessageMemo) -> _Parts:
    system = google_contents.system_message(
        body.get("systemInstruction", body.get("system_instruction"))
    )
    contents = body["contents"]
    messages = messages_from_openai(system + google_contents.messages_of(contents))
    content = {**answer["candidates"][0]["content"], "role": "model"}
    length = len(contents) if isinstance(contents, list) else 1
    return _Parts(
        messages,
        messages,
        _only(google_contents.messages_of([content], first_index=length)),
        usages.google_usage(answer.get("usageMetadata")),
        google_contents.tools_of(body.get("tools")),
    )


def _only(listed: list[Json]) -> Message:
    """Return the one message of an answer."""
    if len(listed) != 1:
        raise ValueError(f"an answer of {len(listed)} messages")
    return Message.from_openai(listed[0])
