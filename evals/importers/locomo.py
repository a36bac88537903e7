"""LoCoMo: long conversations of two people over many sessions, with questions and evidence.

The first speaker is the user, the second the assistant; each session starts with its date. A
question becomes a fact at the last turn that its evidence names. Category 5 asks for what was never
said. No package reads it; `blip_caption` stands for the image, which is not in the file.

Source: https://github.com/snap-research/locomo, both layouts (flat, and below `conversation`).
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from compaction.errors import MessageError, TranscriptError
from compaction.messages import Json, Messages, messages_from_openai
from evals.importers.fields import as_text, objects, text
from evals.importers.files import Head, JsonValue
from evals.importers.recall_facts import accepted_answers, fact, session_note
from evals.importers.reports import Report, unique_names
from evals.importers.request_bodies import values_of
from evals.transcripts import Transcript, single_segment

FORMAT: Final = "locomo"
ADVERSARIAL: Final = 5
_SESSION: Final = re.compile(r"session_(\d+)")
_TURN: Final = re.compile(r"D:?(\d+):(\d+)")
"""`D8:6`; some entries hold several, and some are written `D:11:26`."""


def matches(head: Head) -> bool:
    first = head.values[0] if head.values else None
    if isinstance(first, list) and first:
        first = first[0]
    return _is_set(first)


def read(path: Path, source: str) -> Iterator[Transcript]:
    of_file = Report()
    found: list[tuple[str, Json]] = []
    for where, value in values_of(path, source, of_file):
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict) and _is_set(item):
                found.append((where, item))
            else:
                of_file.add(where, "no conversation of this set")
    names = unique_names(_name(raw, source, number) for number, (_, raw) in enumerate(found))
    for number, ((where, raw), name) in enumerate(zip(found, names, strict=True)):
        report = Report()
        messages, turns = _messages(raw, where)
        facts = tuple(_facts(raw, messages, turns, report))
        yield Transcript(
            name=name,
            segments=single_segment(messages),
            source=source,
            format=FORMAT,
            project="locomo",
            facts=facts,
            skipped=(*(of_file.skipped() if number == 0 else ()), *report.skipped()),
        )


def _is_set(value: JsonValue) -> bool:
    if not isinstance(value, dict):
        return False
    inner = _conversation(value)
    return "speaker_a" in inner and any(_SESSION.fullmatch(key) for key in inner)


def _conversation(raw: Json) -> Json:
    inner = raw.get("conversation")
    return inner if isinstance(inner, dict) else raw


def _name(raw: Json, source: str, number: int) -> str:
    return text(raw.get("sample_id")) or f"{Path(source).name.split('.')[0]} {number + 1}"


def _messages(raw: Json, where: str) -> tuple[Messages, dict[str, int]]:
    """Return the messages and the index of each turn by its id."""
    talk = _conversation(raw)
    numbers = sorted(int(m[1]) for key in talk if (m := _SESSION.fullmatch(key)))
    listed: list[Json] = []
    turns: dict[str, int] = {}
    for number in numbers:
        spoken = objects(talk.get(f"session_{number}"))
        if spoken:
            listed.append(session_note(number, talk.get(f"session_{number}_date_time")))
        for turn in spoken:
            turns.setdefault(as_text(turn.get("dia_id")), len(listed))
            role = "user" if turn.get("speaker") == talk.get("speaker_a") else "assistant"
            listed.append({"role": role, "content": _words(turn)})
    try:
        messages = messages_from_openai(listed)
    except MessageError as error:
        raise TranscriptError(f"{where}: {error}; download the set again") from error
    if not messages:
        raise TranscriptError(f"{where}: a conversation without turns; download the set again")
    return messages, turns


def _words(turn: Json) -> str:
    caption = text(turn.get("blip_caption"))
    image = f"[shares an image: {caption}]" if caption else ""
    spoken = f"{as_text(turn.get('speaker'))}: {as_text(turn.get('text'))}"
    return f"{spoken}\n{image}" if image else spoken


def _facts(raw: Json, messages: Messages, turns: dict[str, int], report: Report) -> Iterator[Json]:
    for index, item in enumerate(objects(raw.get("qa"))):
        where = f"qa[{index}]"
        accepted = accepted_answers(item.get("answer"))
        named = [f"D{m[1]}:{m[2]}" for m in _TURN.finditer(_evidence(item.get("evidence")))]
        stated = [turns[turn] for turn in named if turn in turns]
        if item.get("category") == ADVERSARIAL or not accepted:
            report.add(where, "no fact: asks for what was not said", expected=True)
        elif not stated:
            report.add(where, "no fact: its evidence names no turn of the file", expected=True)
        else:
            at = max(stated)
            question = as_text(item.get("question"))
            yield fact(f"qa-{index}", question, accepted, stated_at=at, evidence=messages[at].text)


def _evidence(raw: JsonValue) -> str:
    listed = raw if isinstance(raw, list) else [raw]
    return " ".join(map(as_text, listed))
