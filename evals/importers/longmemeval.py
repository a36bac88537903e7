"""LongMemEval: a question over many dated sessions with an assistant, one transcript a question.

The answer becomes a fact at the last message that is marked as holding it. Questions whose id ends
with `_abs` ask for what was never said. No package reads it.

Source: https://github.com/xiaowu0162/LongMemEval.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from compaction.errors import MessageError, TranscriptError
from compaction.messages import Json, messages_from_openai
from evals.importers.fields import as_text, objects
from evals.importers.files import Head, JsonValue
from evals.importers.recall_facts import accepted_answers, fact, session_note
from evals.importers.reports import Report, unique_names
from evals.importers.request_bodies import values_of
from evals.transcripts import Transcript, single_segment

FORMAT: Final = "longmemeval"


def matches(head: Head) -> bool:
    first = head.values[0] if head.values else None
    if isinstance(first, list) and first:
        first = first[0]
    return _is_question(first)


def read(path: Path, source: str) -> Iterator[Transcript]:
    of_file = Report()
    found: list[tuple[str, Json]] = []
    for where, value in values_of(path, source, of_file):
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict) and _is_question(item):
                found.append((where, item))
            else:
                of_file.add(where, "no question of this set")
    names = unique_names(as_text(raw.get("question_id")) or "question" for _, raw in found)
    for number, ((where, raw), name) in enumerate(zip(found, names, strict=True)):
        transcript = _transcript(raw, where, source, name)
        first = of_file.skipped() if number == 0 else ()
        yield replace(transcript, skipped=(*first, *transcript.skipped))


def _is_question(value: JsonValue) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("haystack_sessions"), list)
        and "question" in value
    )


def _transcript(raw: Json, where: str, source: str, name: str) -> Transcript:
    listed: list[Json] = []
    marked: list[int] = []
    dates = raw.get("haystack_dates")
    days = dates if isinstance(dates, list) else []
    for number, session in enumerate(raw["haystack_sessions"]):
        listed.append(session_note(number + 1, days[number] if number < len(days) else None))
        for turn in objects(session):
            if turn.get("has_answer") is True:
                marked.append(len(listed))
            listed.append({"role": turn.get("role"), "content": turn.get("content")})
    try:
        messages = messages_from_openai(listed)
    except MessageError as error:
        raise TranscriptError(f"{where}: {name}: {error}; download the set again") from error
    if len(messages) <= len(raw["haystack_sessions"]):
        raise TranscriptError(f"{where}: {name} has no turns; download the set again")
    report = Report()
    accepted = accepted_answers(raw.get("answer"))
    facts: list[Json] = []
    if marked and accepted and not name.endswith("_abs"):
        at = marked[-1]
        question = as_text(raw.get("question"))
        facts.append(fact(name, question, accepted, stated_at=at, evidence=messages[at].text))
    else:
        report.add(name, "no fact: no message is marked as holding the answer", expected=True)
    return Transcript(
        name=name,
        segments=single_segment(messages),
        source=source,
        format=FORMAT,
        session=f"longmemeval/{name}",
        project="longmemeval",
        facts=tuple(facts),
        skipped=report.skipped(),
    )
