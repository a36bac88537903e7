"""The project's own format: one transcript, a list of them, or one a line."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from compaction.errors import TranscriptError
from evals.importers.files import Head, JsonValue, head_of, read_document
from evals.importers.jsonl import read_records
from evals.importers.reports import Report, unique_names
from evals.transcripts import NATIVE_FORMAT, Transcript, from_native

FORMAT: Final = NATIVE_FORMAT


def matches(head: Head) -> bool:
    first = head.values[0] if head.values else None
    if isinstance(first, list) and first:
        first = first[0]
    return isinstance(first, dict) and first.get("format") == NATIVE_FORMAT


def read(path: Path, source: str) -> Iterator[Transcript]:
    report = Report()
    found = [_transcript(raw, where, source) for where, raw in _values(path, source, report)]
    names = unique_names(transcript.name for transcript in found)
    for transcript, name in zip(found, names, strict=True):
        yield replace(transcript, name=name, skipped=transcript.skipped + report.skipped())


def _values(path: Path, source: str, report: Report) -> Iterator[tuple[str, JsonValue]]:
    if head_of(path, source).layout == "document":
        document = read_document(path, source)
        listed = document if isinstance(document, list) else [document]
        yield from ((f"{source}[{index}]", raw) for index, raw in enumerate(listed))
        return
    for record in read_records(path, source, report):
        values = record.value if isinstance(record.value, list) else [record.value]
        yield from ((f"{source}:{record.line}", raw) for raw in values)


def _transcript(raw: JsonValue, where: str, source: str) -> Transcript:
    if not isinstance(raw, dict) or raw.get("format") != NATIVE_FORMAT:
        raise TranscriptError(f"{where}: not a native transcript; convert it from its source again")
    named = raw if raw.get("source") else {**raw, "source": source}
    transcript = from_native(named, where=where)
    texts = (transcript.name, transcript.source, transcript.format)
    if not all(isinstance(text, str) for text in texts) or not transcript.segments:
        raise TranscriptError(f"{where}: name, source or segments are damaged; convert it again")
    return transcript
