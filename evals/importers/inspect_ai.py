"""Inspect AI logs: `.json` documents and `.eval` archives (zip), one transcript a sample and agent.

Each model event of a sample holds what was really sent, so these make the requests; the sample's
own message list adds what came after the last of them. Attachments are put back where they are
referred to. The package itself reads its logs, but it installs a whole evaluation framework with
some forty dependencies, so it is not used.

Source: https://inspect.aisi.org.uk/eval-logs.html; older logs (2024) keep events in `transcript`.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from compaction.errors import MessageError, TranscriptError
from compaction.messages import Json, Message, Messages, messages_from_openai
from evals.importers import inspect_messages as convert
from evals.importers.exchanges import Exchange
from evals.importers.fields import mapping, objects, text
from evals.importers.files import Head, JsonValue, UnknownFormatError, head_of, read_document
from evals.importers.logged_calls import Origin, logged_call, transcripts_of_calls
from evals.importers.reports import Report, orphan_results
from evals.importers.usages import unix_seconds
from evals.importers.zip_archives import Archive, open_archive
from evals.transcripts import RecordedRequest, Segment, Transcript, single_segment

FORMAT: Final = "inspect"
HEADERS: Final = ("header.json", "_journal/start.json")
"""The second one is all that a run which was broken off leaves."""


class _Sample(NamedTuple):
    where: str
    value: JsonValue


def matches(head: Head) -> bool:
    if head.layout == "archive":
        names = head.text.split("\n")
        return any(header in names for header in HEADERS) and any(map(_is_sample, names))
    first = head.values[0] if head.values else None
    return (
        isinstance(first, dict)
        and isinstance(first.get("eval"), dict)
        and "version" in first
        and ("samples" in first or "plan" in first)
    )


def read(path: Path, source: str) -> Iterator[Transcript]:
    if head_of(path, source).layout == "archive":
        yield from _archive(path, source)
        return
    document = mapping(read_document(path, source))
    samples = document.get("samples")
    if not isinstance(samples, list) or not samples:
        raise UnknownFormatError(
            f"{source}: an Inspect log without samples; name one that was not written header-only"
        )
    listed = (_Sample(f"samples[{index}]", sample) for index, sample in enumerate(samples))
    yield from _transcripts(listed, mapping(document.get("eval")), source)


def _archive(path: Path, source: str) -> Iterator[Transcript]:
    with open_archive(path, source) as archive:
        names = list(dict.fromkeys(archive.names))
        header = next(name for name in HEADERS if name in names)
        about = mapping(mapping(_member(archive, header)).get("eval"))
        listed = (_Sample(name, _member(archive, name)) for name in names if _is_sample(name))
        yield from _transcripts(listed, about, source)


def _is_sample(name: str) -> bool:
    return name.startswith("samples/") and name.endswith(".json")


def _member(archive: Archive, name: str) -> JsonValue:
    try:
        return json.loads(archive.read(name))
    except (ValueError, RecursionError) as error:
        text = f"{archive.source}: {name} is not usable JSON ({error}); export the log again"
        raise TranscriptError(text) from error


def _transcripts(samples: Iterator[_Sample], about: Json, source: str) -> Iterator[Transcript]:
    used: Counter[str] = Counter()
    for index, sample in enumerate(samples):
        raw = mapping(sample.value)
        given = f"{raw.get('id', index)} epoch {raw.get('epoch', 1)}"
        used[given] += 1
        origin = Origin(
            source=source,
            format=FORMAT,
            name=given if used[given] == 1 else f"{given}#{used[given]}",
            session=text(raw.get("uuid")) or f"{text(about.get('eval_id')) or source}/{given}",
            project=text(about.get("task")),
        )
        yield from _sample(raw, origin, sample.where, text(about.get("model")))


def _sample(raw: Json, origin: Origin, where: str, model: str | None) -> list[Transcript]:
    report = Report()
    attachments = convert.attachments_of(raw)
    final = _messages(raw.get("messages"), attachments, f"{origin.source}: {where}")
    calls = list(_calls(raw, attachments, report, where))
    if calls:
        return transcripts_of_calls(calls, origin, skipped=report.skipped(), final_messages=final)
    if not final:
        raise TranscriptError(f"{origin.source}: {where} has no messages; run the sample again")
    return [
        Transcript(
            name=origin.name,
            segments=_without_events(raw, final, model),
            source=origin.source,
            format=FORMAT,
            session=origin.session,
            project=origin.project,
            skipped=(*report.skipped(), *orphan_results(final)),
            includes_reasoning=any(message.reasoning for message in final[:-1]),
        )
    ]


def _messages(raw: JsonValue, attachments: convert.Attachments, where: str) -> Messages:
    listed = raw if isinstance(raw, list) else []
    try:
        return messages_from_openai([convert.message(m, attachments) for m in listed])
    except MessageError as error:
        raise TranscriptError(f"{where}: {error}; run the sample again") from error


def _without_events(raw: Json, final: Messages, model: str | None) -> tuple[Segment, ...]:
    """Give the usage that is logged, that of the last call, to the last request."""
    (segment,) = single_segment(final, model)
    output = mapping(raw.get("output"))
    *others, last = segment.requests or (None,)
    if last is None:
        return (segment,)
    usage = convert.usage(output.get("usage"))
    request = RecordedRequest(last.position, None, text(output.get("model")) or model, usage)
    return (Segment(final, (*[r for r in others if r], request)),)


def _calls(
    raw: Json, attachments: convert.Attachments, report: Report, where: str
) -> Iterator[Exchange]:
    events = raw.get("events", mapping(raw.get("transcript")).get("events"))
    pool = raw.get("message_pool")
    memo = convert.Memo(attachments, pool if isinstance(pool, list) else [])
    others = 0
    for index, event in enumerate(objects(events)):
        place = f"{where}.events[{index}]"
        if event.get("event") != "model":
            others += 1
            continue
        choices = objects(mapping(event.get("output")).get("choices"))
        if event.get("error") or event.get("pending") or not choices:
            report.add(place, "a model call without an answer: no request counted", expected=True)
            continue
        try:
            yield _call(event, choices[0], memo, place)
        except MessageError as error:
            report.add(place, f"model event is not understood: {error}")
    if others:
        reason = f"{others} events that are no model calls: no part of the conversation"
        report.add(f"{where}.events", reason, expected=True)


def _call(event: Json, choice: Json, memo: convert.Memo, place: str) -> Exchange:
    output = mapping(event.get("output"))
    answer = convert.message(mapping(choice.get("message")), memo.attachments)
    return logged_call(
        place,
        memo.input_of(event),
        Message.from_openai(answer),
        time=unix_seconds(event.get("timestamp")),
        model=text(output.get("model")) or text(event.get("model")),
        usage=convert.usage(output.get("usage")),
        tools=convert.tools(event.get("tools"), memo.attachments),
    )
