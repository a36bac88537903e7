"""What a broken invariant looks like in a terminal, without a traceback."""

import json
from collections.abc import Iterator

from compaction.contract.invariants import INVARIANTS
from compaction.contract.search import Broken, Outcome
from compaction.messages import Json, Messages, messages_to_openai

MAX_SHOWN_MESSAGES = 30
"""A longer conversation is shown by its first and last messages."""


def described(broken: Broken) -> str:
    """Return the rule, the place, the messages concerned and the conversation, over many lines."""
    return "\n".join(_lines(broken))


def headline(broken: Broken) -> str:
    """Return one line: what is wrong, and where."""
    violation = broken.finding.violation
    places = []
    if broken.finding.request >= 0:
        places.append(f"request {broken.finding.request}")
    if violation.position >= 0:
        places.append(f"message {violation.position} of the view ({violation.pointer})")
    where = f"{', '.join(places)}: " if places else ""
    return f"{where}{violation.explanation}"


def summary(outcome: Outcome) -> str:
    """Return one line: how much was looked at, and what came of it."""
    checked = f"{outcome.conversations} conversations in {outcome.seconds:.1f} s"
    result = f"{len(outcome.broken)} of {len(outcome.applicable)} invariants broken"
    notes = [f"stopped by {outcome.stopped}"] if outcome.stopped else []
    if not outcome.has_acted and outcome.conversations:
        notes.append(
            "it changed none of them, so nothing was tested: lower its thresholds "
            "(a size may be a share of the conversation: 50%)"
        )
    return "; ".join([f"{checked}, {result}", *notes])


def conversation_json(messages: Messages) -> str:
    """Return a JSON list with one message on each line."""
    return _listed([_dumped(raw) for raw in messages_to_openai(messages)])


def _lines(broken: Broken) -> Iterator[str]:
    invariant = INVARIANTS[broken.invariant]
    yield f"{invariant.id} {invariant.name}: {invariant.statement}"
    yield headline(broken)
    if broken.finding.excerpt:
        yield from (f"    {line}" for line in broken.finding.excerpt.splitlines())
    if broken.parameters:
        inside = ", ".join(f"{key}={value}" for key, value in broken.parameters.items())
        yield f"with {inside}"
    count = len(broken.messages)
    shrunk = "" if count == broken.messages_before else f", shrunk to {count}"
    yield f"found in {broken.source} of {broken.messages_before} messages{shrunk}:"
    yield _shortened(broken.messages)


def _shortened(messages: Messages) -> str:
    lines = [_dumped(raw) for raw in messages_to_openai(messages)]
    if len(lines) > MAX_SHOWN_MESSAGES:
        half = MAX_SHOWN_MESSAGES // 2
        between = f"... {len(lines) - 2 * half} more ..."
        return "\n".join(["[", *lines[:half], between, *lines[-half:], "]"])
    return _listed(lines)


def _listed(lines: list[str]) -> str:
    return "[\n" + ",\n".join(lines) + "\n]" if lines else "[]"


def _dumped(raw: Json) -> str:
    # Escapes keep control characters of a conversation out of the terminal.
    text = json.dumps(raw, ensure_ascii=False)
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)
