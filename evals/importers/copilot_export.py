"""The export of older versions of Copilot CLI: one document without usage."""

from compaction.messages import Json
from evals.importers.reports import Report, orphan_results
from evals.importers.segment_builder import (
    SegmentBuilder,
    checked_segments,
    includes_reasoning,
    objects_of,
    text_of,
)
from evals.transcripts import Transcript


def is_export(record: Json) -> bool:
    return isinstance(record.get("chatMessages"), list) and "sessionId" in record


def exported(document: Json, report: Report, source: str, format_name: str) -> Transcript:
    """Read the older export, whose `chatMessages` are OpenAI chat messages."""
    builder = SegmentBuilder(report)
    for index, raw in enumerate(objects_of(document.get("chatMessages"))):
        add = builder.add_answer if raw.get("role") == "assistant" else builder.add
        add([raw], f"chatMessages[{index}]")
    timeline = document.get("timeline")
    if isinstance(timeline, list) and timeline:
        report.add("timeline", "repeats the messages for the screen", expected=True)
    segments = checked_segments(builder, source)
    session = text_of(document, "sessionId")
    messages = [message for segment in segments for message in segment.messages]
    return Transcript(
        name=(session or "session")[:8],
        segments=segments,
        source=source,
        format=format_name,
        session=session,
        skipped=(*report.skipped(), *orphan_results(messages)),
        includes_reasoning=includes_reasoning(segments),
    )
