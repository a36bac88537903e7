"""Cline: sessions of its SDK, and `api_conversation_history.json` of the older extension.

Both are Anthropic messages with a time. A compaction rewrites the file: what was before is in no
file, and answers kept from then are no requests of what is left. `clinescope` of PyPI scores
patches in such files; it is no reader that could be called for messages, usage and compactions.

Source: github.com/cline/cline, sdk/packages/core/fixtures/session
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from compaction.llm import Usage
from compaction.messages import Json
from evals.importers.anthropic_blocks import (
    assistant_message,
    blocks_of,
    system_message,
    user_messages,
)
from evals.importers.files import Head, JsonValue, read_document
from evals.importers.reports import Report, orphan_results
from evals.importers.segment_builder import (
    SegmentBuilder,
    checked_segments,
    count_of,
    includes_reasoning,
    object_of,
    text_of,
)
from evals.importers.usages import logged_usage, unix_seconds, usd
from evals.transcripts import RecordedCompaction, Transcript

FORMAT: Final = "cline"

COMPACTION_KINDS: Final = ("compaction", "compaction_summary")
MESSAGES_LOOKED_AT: Final = 20


def matches(head: Head) -> bool:
    return len(head.values) == 1 and _messages(head.values[0]) is not None


def read(path: Path, source: str) -> Iterator[Transcript]:
    document = read_document(path, source)
    report = Report()
    session = _Session(SegmentBuilder(report), report)
    fields = object_of(document)
    system = system_message(fields.get("system_prompt"))
    session.builder.add(system, "system_prompt")
    for index, message in enumerate(_messages(document) or []):
        if isinstance(message, dict):
            session.add(message, f"messages[{index}]")
        else:
            report.add(f"messages[{index}]", "not an object")
    segments = checked_segments(session.builder, source)
    messages = [message for segment in segments for message in segment.messages]
    session_id = text_of(fields, "sessionId")
    agent = text_of(fields, "agent")
    yield Transcript(
        name="/".join(part for part in (session_id or "conversation", agent) if part),
        segments=segments,
        source=source,
        format=FORMAT,
        session=session_id,
        skipped=(*report.skipped(), *orphan_results(messages)),
        includes_reasoning=includes_reasoning(segments),
    )


class _Session:
    """A file while it is read."""

    def __init__(self, builder: SegmentBuilder, report: Report) -> None:
        self.builder = builder
        self._report = report
        self._compacted_at: float | None = None
        """Unix seconds; answers from before are kept ones."""

    def add(self, message: Json, where: str) -> None:
        content = _blocks(message.get("content"))
        metadata = object_of(message.get("metadata"))
        if metadata.get("kind") in COMPACTION_KINDS:
            self._compacted(metadata, message, where)
        if message.get("role") == "user":
            self.builder.add(user_messages(content), where)
        elif message.get("role") != "assistant":
            role = message.get("role")
            self._report.add(where, f"message of unknown role {role!r}")
        elif metadata.get("compaction") == "preserved" or self._is_kept(message):
            self.builder.add([assistant_message(content)], where)
            self._report.add(where, "answered before the compaction: no request", expected=True)
        else:
            self.builder.add_answer(
                [assistant_message(content)],
                where,
                time=unix_seconds(message.get("ts")),
                model=object_of(message.get("modelInfo")).get("id"),
                usage=_usage(message.get("metrics")),
                cost_usd=usd(object_of(message.get("metrics")).get("cost")),
            )

    def _is_kept(self, message: Json) -> bool:
        time = unix_seconds(message.get("ts"))
        return time is not None and self._compacted_at is not None and time < self._compacted_at

    def _compacted(self, metadata: Json, message: Json, where: str) -> None:
        """Open a segment; in the middle of a list its earlier messages were sent before it."""
        self._compacted_at = unix_seconds(metadata.get("generatedAt"))
        kept = [m for m in self.builder.messages[:1] if m.role == "system"]
        if self.builder.messages[len(kept) :]:
            self._report.add(where, "compaction inside the list: a segment begins", expected=True)
        else:
            self.builder.messages = []
        summary = text_of(metadata, "summary")
        if summary is None:
            texts = [text_of(object_of(b), "text") for b in blocks_of(message.get("content"))]
            summary = next((text for text in reversed(texts) if text), None)
        self.builder.open(
            kept,
            RecordedCompaction(
                "full",
                trigger=text_of(metadata, "reason"),
                tokens_before=count_of(metadata, "tokensBefore"),
                summary=summary,
            ),
        )


def _messages(document: JsonValue) -> list[JsonValue] | None:
    """Return the messages of a document that is a session or a bare list with times."""
    if isinstance(document, dict):
        listed = document.get("messages")
        is_session = isinstance(document.get("sessionId"), str) and (
            "system_prompt" in document or "agent" in document
        )
        return listed if is_session and isinstance(listed, list) and listed else None
    if not isinstance(document, list) or not document:
        return None
    looked_at = document[:MESSAGES_LOOKED_AT]
    is_bare = all(
        isinstance(item, dict)
        and item.get("role") in ("user", "assistant")
        and isinstance(item.get("content"), str | list)
        for item in looked_at
    ) and any(unix_seconds(item.get("ts")) is not None for item in looked_at)
    return document if is_bare else None


def _blocks(content: Any) -> list[Any]:
    return [_block(block) if isinstance(block, dict) else block for block in blocks_of(content)]


def _block(block: Json) -> Json:
    """Write the blocks that Cline has and Anthropic has not as Anthropic's."""
    kind = block.get("type")
    if kind == "file" and isinstance(block.get("content"), str):
        text = f'<file_content path="{block.get("path")}">\n{block["content"]}\n</file_content>'
        return {"type": "text", "text": text}
    if kind == "image" and isinstance(block.get("data"), str):
        media = text_of(block, "mediaType", "mimeType") or "image/png"
        source = {"type": "base64", "media_type": media, "data": block["data"]}
        return {"type": "image", "source": source}
    if kind == "tool_result" and isinstance(block.get("content"), list):
        return {**block, "content": _blocks(block["content"])}
    return block


def _usage(raw: object) -> Usage | None:
    """Read the metrics of an answer; `inputTokens` is all input, cached or not."""
    metrics = object_of(raw)
    older = object_of(metrics.get("tokens"))
    given = count_of(metrics, "inputTokens")
    if given is None:
        given = count_of(older, "prompt")
        answered, cached = count_of(older, "completion"), count_of(older, "cached")
        return None if given is None else logged_usage(given, answered, cached)
    read, written = count_of(metrics, "cacheReadTokens"), count_of(metrics, "cacheWriteTokens")
    return logged_usage(given, count_of(metrics, "outputTokens"), read, written)
