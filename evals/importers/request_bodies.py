"""Files of request bodies, with or without their answers, of any API: finding them, joining them.

`{request}`, `{request, response}` and `{...request, response}`, one a document, in a list or one a
line. Bodies with answers are put together by `chains`, because each repeats the history.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from compaction.errors import MessageError, TranscriptError
from compaction.messages import Json
from evals.cassettes import Interaction
from evals.importers.exchanges import Exchange, MessageMemo, exchange_of
from evals.importers.fields import mapping
from evals.importers.files import JsonValue, head_of, read_document
from evals.importers.jsonl import read_records
from evals.importers.logged_calls import Origin, transcripts_of_calls
from evals.importers.reports import Report, unique_names
from evals.importers.usages import unix_seconds
from evals.transcripts import Transcript

TIME_KEYS: Final = ("timestamp", "created_at", "time", "start_time")


class Body(NamedTuple):
    """One request of a file."""

    where: str
    """`file.json` or `file.jsonl:3`."""
    request: Json
    response: Json
    """Empty if none was logged."""
    time: float | None = None


BuildOne = Callable[[Body, str, str], Transcript]
"""Makes a transcript of one body without an answer: body, source, name."""


def values_of(path: Path, source: str, report: Report) -> Iterator[tuple[str, JsonValue]]:
    """Yield the JSON values of a file with their places; a document is one value."""
    if head_of(path, source).layout == "document":
        yield source, read_document(path, source)
        return
    for line, value in read_records(path, source, report):
        yield f"{source}:{line}", value


def body_of(where: str, value: Json) -> Body:
    """Split a logged value into request and answer; the model may stand beside the request."""
    request = value.get("request")
    inner = request if isinstance(request, dict) else value
    if "model" in value:
        inner = {"model": value["model"], **inner}
    times = (raw.get(key) for raw in (value, inner) for key in TIME_KEYS)
    time = next((seconds for raw in times if (seconds := unix_seconds(raw)) is not None), None)
    return Body(where, inner, mapping(value.get("response")), time)


def read_bodies(
    bodies: list[Body], path_end: str, format_name: str, source: str, build: BuildOne
) -> list[Transcript]:
    """Build the conversations of requests; `build` makes those without an answer.

    `path_end` is the end of the API's URL, which tells `exchanges` how to read an answer.

    Raises:
        TranscriptError: with the place of a body that cannot be read.
    """
    report = Report()
    transcripts: list[Transcript] = []
    exchanges: list[Exchange] = []
    for index, body in enumerate(bodies):
        if not body.response:
            name = f"{index + 1}" if bodies[1:] else "conversation"
            transcripts.append(_built(build, body, source, name))
            continue
        found = _exchange(body, index, path_end)
        if isinstance(found, Exchange):
            exchanges.append(found)
        else:
            report.add(body.where, found)
    if exchanges:
        origin = Origin(source, format_name, "conversation")
        transcripts += transcripts_of_calls(exchanges, origin)
    if not transcripts:
        reasons = "; ".join(item.reason for item in report.skipped()[:3])
        raise TranscriptError(f"{source}: no request is understood ({reasons}); export it again")
    names = unique_names(transcript.name for transcript in transcripts)
    named = [replace(t, name=name) for t, name in zip(transcripts, names, strict=True)]
    return [replace(named[0], skipped=(*report.skipped(), *named[0].skipped)), *named[1:]]


def _built(build: BuildOne, body: Body, source: str, name: str) -> Transcript:
    try:
        return build(body, source, name)
    except (MessageError, TypeError, ValueError, KeyError, AttributeError) as error:
        text = f"{body.where}: not understood ({error}); correct it or export it again"
        raise TranscriptError(text) from error


def _exchange(body: Body, index: int, path_end: str) -> Exchange | str:
    interaction = Interaction(
        uri=f"https://logged{path_end}",
        method="POST",
        request_body=body.request,
        response_status=200,
        response_body=json.dumps(body.response),
    )
    found = exchange_of(interaction, index, MessageMemo())
    if not isinstance(found, Exchange):
        return found.reason
    return found if body.time is None else replace(found, time=body.time)
