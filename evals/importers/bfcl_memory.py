"""BFCL's memory tasks: a conversation of user turns, and the questions and answers beside it.

The questions are asked after the conversation, each with its first accepted answer as reply: those
are the requests. An answer becomes a fact at the turn that its quoted source is from. Questions and
answers alone are refused. The `bfcl-eval` package runs the benchmark and reads no conversations.

Source: https://github.com/ShishirPatil/gorilla, `berkeley-function-call-leaderboard/bfcl_eval`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from compaction.errors import MessageError, TranscriptError
from compaction.messages import Json, messages_from_openai
from evals.importers.fields import as_text, mapping, objects, text
from evals.importers.files import Head, JsonValue, UnknownFormatError
from evals.importers.jsonl import read_records
from evals.importers.recall_facts import accepted_answers, fact
from evals.importers.reports import Report
from evals.transcripts import Transcript, single_segment

FORMAT: Final = "bfcl-memory"
MIN_QUOTE_CHARS: Final = 12
"""Shorter pieces of a quote occur by chance."""
_GAP: Final = re.compile(r"\.\.\.|…")


class _Asked(NamedTuple):
    """A question of the set with its answer."""

    id: str
    question: str
    accepted: list[str]
    quote: str


def matches(head: Head) -> bool:
    return any(
        _is_conversation(value) or _is_question(value) or _is_answer(value)
        for value in head.objects[:3]
    )


def read(path: Path, source: str) -> Iterator[Transcript]:
    report = Report()
    turns: list[Json] = []
    scenario: str | None = None
    for line, value in read_records(path, source, report, needs_texts=True):
        if _is_conversation(value):
            turns += [turn for turns_of in value["question"] for turn in objects(turns_of)]
            scenario = scenario or text(value.get("scenario"))
        elif _is_question(value) or _is_answer(value):
            raise UnknownFormatError(
                f"{source}:{line}: questions or answers of a recall set without its conversation; "
                "name the conversation file, which takes them from beside it"
            )
        else:
            report.add(f"line {line}", "no session of the conversation")
    if not turns:
        raise TranscriptError(f"{source}: a recall set without a turn; download it again")
    asked = list(_asked(path, scenario, report))
    facts = list(_facts(asked, turns, report))
    for item in asked:
        turns.append({"role": "user", "content": item.question})
        turns.append({"role": "assistant", "content": item.accepted[0]})
    try:
        messages = messages_from_openai(turns)
    except MessageError as error:
        raise TranscriptError(f"{source}: {error}; download the set again") from error
    yield Transcript(
        name=scenario or Path(source).name.split(".")[0],
        segments=single_segment(messages),
        source=source,
        format=FORMAT,
        project="bfcl-memory",
        facts=tuple(facts),
        skipped=report.skipped(),
    )


def _is_turns(value: JsonValue) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(x, list) for x in value)


def _is_conversation(value: JsonValue) -> bool:
    return isinstance(value, dict) and "topic" in value and _is_turns(value.get("question"))


def _is_question(value: JsonValue) -> bool:
    return (
        isinstance(value, dict)
        and str(value.get("id", "")).startswith("memory_")
        and "topic" not in value
        and _is_turns(value.get("question"))
    )


def _is_answer(value: JsonValue) -> bool:
    return (
        isinstance(value, dict)
        and "source" in value
        and isinstance(value.get("ground_truth"), list)
    )


def _beside(path: Path) -> tuple[Path, Path]:
    """Return where the questions and the answers of a conversation are."""
    if ".conversation." in path.name:
        return (
            path.with_name(path.name.replace(".conversation.", ".questions.")),
            path.with_name(path.name.replace(".conversation.", ".answers.")),
        )
    data = path.parent.parent
    name = "BFCL_v4_memory.json"
    return data / name, data / "possible_answer" / name


def _asked(path: Path, scenario: str | None, report: Report) -> Iterator[_Asked]:
    questions, answers = _beside(path)
    if not (questions.is_file() and answers.is_file()):
        report.add("questions", "none beside the conversation: no fact to judge", expected=True)
        return
    by_id = {as_text(raw.get("id")): raw for raw in _records(answers, report)}
    for raw in _records(questions, report):
        if scenario and raw.get("scenario", scenario) != scenario:
            continue
        question_id = as_text(raw.get("id"))
        turns = raw.get("question")
        listed = (
            [turn for turns_of in turns if isinstance(turns_of, list) for turn in turns_of]
            if isinstance(turns, list)
            else []
        )
        question = "\n".join(as_text(mapping(turn).get("content")) for turn in listed)
        answer = mapping(by_id.get(question_id))
        accepted = accepted_answers(answer.get("ground_truth"))
        if question and accepted:
            yield _Asked(question_id, question, accepted, as_text(answer.get("source")))
        else:
            report.add(question_id, "a question without text or accepted answer")


def _records(path: Path, report: Report) -> list[Json]:
    own = Report()
    records = read_records(path, path.name, own, needs_texts=True)
    found = objects([record.value for record in records])
    for item in own.skipped():
        report.add(f"{path.name}: {item.where}", item.reason, expected=item.expected)
    return found


def _facts(asked: list[_Asked], turns: list[Json], report: Report) -> Iterator[Json]:
    texts = [as_text(turn.get("content")) for turn in turns]
    for number, item in enumerate(asked):
        found = _located(item.quote, texts)
        if found is None:
            reason = "no fact: the quoted source is not in the conversation"
            report.add(item.id, reason, expected=True)
            continue
        index, quote = found
        stated = fact(item.id, item.question, item.accepted, stated_at=index, evidence=quote)
        yield {**stated, "needed_at": number}


def _located(quote: str, texts: list[str]) -> tuple[int, str] | None:
    """Find the turn that a source quotes; quotes leave out what stands at `...`."""
    pieces = (piece.strip() for piece in _GAP.split(quote))
    for piece in pieces:
        if len(piece) >= MIN_QUOTE_CHARS:
            index = next((i for i, text in enumerate(texts) if piece in text), None)
            if index is not None:
                return index, piece
    return None
