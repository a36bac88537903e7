"""Traces of Langfuse and OpenTelemetry GenAI: model calls in the order in which they started.

A model call whose input is a message list is read as it is; the calls of an agent form
conversations as in a cassette. Instrumentations that log only the last input give calls that are
put together below their parent span, with the results of the tool spans between them. Other spans
repeat these texts. The `langfuse` client fetches traces but does not read messages out of them, so
it is not used.

Source: https://langfuse.com/docs/observability/data-model and
https://opentelemetry.io/docs/specs/semconv/gen-ai/.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from compaction.errors import MessageError
from compaction.messages import Message, messages_from_openai
from evals.importers.exchanges import Exchange
from evals.importers.fields import first_text, mapping, text
from evals.importers.files import Head, JsonValue, UnknownFormatError
from evals.importers.genai_messages import history_of
from evals.importers.logged_calls import Origin, logged_call, transcripts_of_calls
from evals.importers.observations import Observation, is_observation, is_trace, observations_of
from evals.importers.reports import Report, unique_names
from evals.importers.request_bodies import values_of
from evals.importers.trace_turns import conversation_below
from evals.transcripts import Transcript

FORMAT: Final = "langfuse-otel"
MAX_DEPTH: Final = 50
"""Spans between a tool span and its agent; more of them are a loop of damaged parents."""


def matches(head: Head) -> bool:
    first = head.values[0] if head.values else None
    if isinstance(first, list):
        return any(is_observation(item) or is_trace(item) for item in first[:3])
    return any(is_observation(value) or is_trace(value) for value in head.values[:3])


def read(path: Path, source: str) -> Iterator[Transcript]:
    report = Report("observation")
    of_file = Report()
    traces: dict[str, list[Observation]] = {}
    about: dict[str, JsonValue] = {}
    for where, value in values_of(path, source, of_file):
        for item in value if isinstance(value, list) else [value]:
            found = observations_of(item)
            if not found:
                of_file.add(where, "no observation")
            for observation in found:
                trace = observation.trace or ""
                traces.setdefault(trace, []).append(observation)
                about.setdefault(trace, item)
    built: list[Transcript] = []
    for trace, observations in traces.items():
        ordered = sorted(observations, key=lambda observation: observation.time)
        built += _of_trace(ordered, _origin(about[trace], trace, source), report)
    if not built:
        raise UnknownFormatError(
            f"{source}: no model call with messages in the trace; name a trace of an agent"
        )
    names = unique_names(transcript.name for transcript in built)
    named = [replace(t, name=name) for t, name in zip(built, names, strict=True)]
    skipped = (*of_file.skipped(), *report.skipped(), *named[0].skipped)
    yield replace(named[0], skipped=skipped)
    yield from named[1:]


def _origin(value: JsonValue, trace: str, source: str) -> Origin:
    given = mapping(value)
    inner = mapping(given.get("trace")) or given
    return Origin(
        source=source,
        format=FORMAT,
        name=first_text(inner, "name") or trace or "trace",
        session=first_text(inner, "sessionId") or trace or None,
        project=text(inner.get("projectId")),
    )


def _of_trace(
    observations: Sequence[Observation], origin: Origin, report: Report
) -> list[Transcript]:
    calls: list[Exchange] = []
    incomplete: set[str | None] = set()
    for number, observation in enumerate(observations):
        if not observation.is_model_call:
            report.count(number, f"{observation.kind}: no model call of its own")
            continue
        call = _call(observation)
        if call is None:
            incomplete.add(observation.parent)
        else:
            calls.append(call)
    by_id = {observation.id: observation for observation in observations}
    members: dict[str | None, list[Observation]] = {parent: [] for parent in incomplete}
    taken: set[str] = set()
    for observation in observations:
        owner = _owner(observation, by_id, members)
        if owner in members and (observation.is_model_call or observation.kind == "TOOL"):
            members[owner].append(observation)
            taken.add(observation.id)
    below = [
        found
        for parent, listed in members.items()
        if (found := conversation_below(by_id.get(parent or ""), listed, origin, report))
    ]
    calls = [call for call in calls if call.where not in taken]
    return [*(transcripts_of_calls(calls, origin) if calls else []), *below]


def _owner(
    observation: Observation,
    by_id: Mapping[str, Observation],
    owners: Collection[str | None],
) -> str | None:
    """Return the nearest span above that is put together; a model call must be right below it."""
    parent, seen = observation.parent, 0
    while parent is not None and parent not in owners and not observation.is_model_call:
        above = by_id.get(parent)
        seen += 1
        parent = above.parent if above and seen < MAX_DEPTH else None
    return parent


def _call(observation: Observation) -> Exchange | None:
    """Read a model call whose input is a message list; None if it is not."""
    sent, made = history_of(observation.input), history_of(observation.output)
    if isinstance(observation.input, str):
        sent = [{"role": "user", "content": observation.input}]
    if isinstance(observation.output, str):
        made = [{"role": "assistant", "content": observation.output}]
    if not sent or not made:
        return None
    try:
        return logged_call(
            observation.id,
            messages_from_openai(sent),
            Message.from_openai({**made[-1], "role": "assistant"}),
            time=observation.time or None,
            model=observation.model,
            usage=observation.usage,
            tools=observation.tools,
        )
    except MessageError:
        return None
