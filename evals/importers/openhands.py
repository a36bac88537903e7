"""OpenHands V0 event streams: evaluation output (one run a line), exported lists of events.

What the model wrote is in the `model_response` that each of its events repeats; oldest streams lack
it, so that their actions become calls with ids made from the event. Usage is taken once a response.
OpenHands words recalled context, working folder and exit codes itself; of those only the texts
that are logged are read. `openhands-ai` reads these events but brings a whole agent runtime, so it
is not used.

Source: https://github.com/OpenHands/OpenHands, `openhands/events` (0.x).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from compaction.errors import MessageError, TranscriptError
from compaction.messages import Json
from evals.importers.fields import mapping, objects, text
from evals.importers.files import Head, JsonValue, UnknownFormatError
from evals.importers.openhands_events import EventReader
from evals.importers.reports import Report, orphan_results, unique_names
from evals.importers.request_bodies import values_of
from evals.transcripts import Transcript

FORMAT: Final = "openhands"


class _Run(NamedTuple):
    where: str
    events: list[Json]
    about: Json
    """The evaluation's record; empty for a bare list of events."""


def matches(head: Head) -> bool:
    first = head.values[0] if head.values else None
    if isinstance(first, dict) and isinstance(first.get("history"), list):
        return any(map(_is_event, _flat(first["history"])[:5]))
    listed = first if isinstance(first, list) else list(head.values)
    if listed and isinstance(listed[0], dict) and isinstance(listed[0].get("history"), list):
        return any(map(_is_event, _flat(listed[0]["history"])[:5]))
    return any(map(_is_event, _flat(listed)[:5]))


def read(path: Path, source: str) -> Iterator[Transcript]:
    report = Report()
    runs = _runs(path, source, report)
    names = unique_names(text(run.about.get("instance_id")) or "conversation" for run in runs)
    n_read = 0
    for run, name in zip(runs, names, strict=True):
        transcript = _transcript(run, name, source, report if n_read == 0 else None)
        if transcript is not None:
            n_read += 1
            yield transcript
    if n_read == 0:
        raise UnknownFormatError(f"{source}: runs without messages; name another file")


def _runs(path: Path, source: str, report: Report) -> list[_Run]:
    runs: list[_Run] = []
    loose: list[JsonValue] = []
    for where, value in values_of(path, source, report):
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict) and isinstance(item.get("history"), list):
                runs.append(_Run(where, _flat(item["history"]), item))
            else:
                loose.append(item)
    if loose:
        runs.append(_Run(source, _flat(loose), {}))
    return runs


def _flat(raw: list[JsonValue]) -> list[Json]:
    """Return events; the oldest outputs keep pairs of action and observation."""
    nested = (item if isinstance(item, list) else [item] for item in raw)
    return [event for items in nested for event in items if isinstance(event, dict)]


def _is_event(value: JsonValue) -> bool:
    if not isinstance(value, dict):
        return False
    is_action = isinstance(value.get("action"), str) and isinstance(value.get("args"), dict)
    is_seen = isinstance(value.get("observation"), str) and "content" in value
    return (is_action or is_seen) and "role" not in value


def _transcript(run: _Run, name: str, source: str, of_file: Report | None) -> Transcript | None:
    metrics = mapping(run.about.get("metrics"))
    report = Report("event")
    reader = EventReader(report, objects(metrics.get("token_usages")))
    for index, event in enumerate(run.events):
        reader.add(event, index)
    try:
        segments = reader.segments()
    except MessageError as error:
        reason = f"{run.where}: not understood ({error}); export the run again"
        raise TranscriptError(reason) from error
    if not any(segment.messages for segment in segments):
        return None
    orphans = orphan_results(segments[0].messages) if len(segments) == 1 else []
    about = mapping(run.about.get("metadata"))
    return Transcript(
        name=name,
        segments=segments,
        source=source,
        format=FORMAT,
        project=text(mapping(run.about.get("instance")).get("repo")),
        tools=reader.tools,
        skipped=(*(of_file.skipped() if of_file else ()), *report.skipped(), *orphans),
        includes_reasoning=any(m.reasoning for segment in segments for m in segment.messages),
        extra={
            key: value
            for key, value in {
                "version": reader.version,
                "agent": about.get("agent_class"),
            }.items()
            if value is not None
        },
    )
