"""Arbitrarily large transcripts with a known truth: what was stated where and used when.

For benchmarks and for checks of the instrument itself. The filler is made
up of lines like those of logs, tables and code that no later request uses, so every need was
planted; nothing here is work, and no result on it is about real use.
"""

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Final

from compaction.messages import Json, Message, ToolCall
from evals.transcripts import Transcript, single_segment

DEFAULT_GAPS: Final = (2, 5, 12, 40, 150)
"""Requests between the statement of a planted reference and its use, taken in turn."""

_WORDS: Final = (
    "the of and to in is that for it as was with be by on not he this are or his from at which but",
    "have an had they you were there one all we can her has been if more when will would who so no",
    "each she how other into could time than then them these some two may first like over such our",
    "man me even most made after also did many before must through back years where much your way",
    "well down should because long just state those people too little good very make world still",
    "own see men work get here between both life being under never day same another know while",
)
_NOUNS: Final = ("amber", "basil", "cedar", "delta", "ember", "fjord", "grove", "harbor", "lotus")
_VOCABULARY: Final = tuple(word for line in _WORDS for word in line.split())


@dataclass(frozen=True, slots=True)
class Planted:
    """One reference: stated in a tool result, used in a later call and nowhere else."""

    kind: str
    value: str
    stated_at: int
    """Index of the message."""
    used_at: int
    """Index of the request."""
    gap: int
    """Requests from the first that saw the statement to the use, both counted: 1 is fresh."""


def generate(
    n_messages: int,
    *,
    seed: int = 0,
    round_chars: int = 1_800,
    gaps: tuple[int, ...] = DEFAULT_GAPS,
    plant_every: int = 7,
    facts_every: int | None = None,
) -> Transcript:
    """Return one user order followed by tool rounds, and a last answer.

    Args:
        n_messages: An odd number from 5 on: system, user, (call, result) pairs, answer.
        seed: Equal arguments give equal transcripts.
        round_chars: Approximate size of a call with its result.
        gaps: Distances of the planted references, in turn.
        plant_every: A reference is planted in every so many rounds.
        facts_every: A key fact is stated in every so many rounds; None spreads about 25 of them,
            as many as a person annotates.
    """
    rounds = (n_messages - 3) // 2
    facts_every = max(2, rounds // 25) if facts_every is None else facts_every
    if n_messages < 5 or n_messages % 2 == 0:
        raise ValueError(f"n_messages must be odd and >= 5, got {n_messages}")
    if min(gaps, default=0) < 1 or min(plant_every, facts_every) < 1:
        raise ValueError(
            "plant_every, facts_every and each of gaps must be >= 1, and one gap given"
        )
    source = random.Random(seed)
    planted = list(_plant(rounds, gaps, plant_every, source))
    stated = {item.stated_at: item for item in planted}
    used = {item.used_at: item for item in planted}
    messages = [
        Message("system", "You are an agent that works through a long list of records."),
        Message("user", "Go through every record, keep notes, and report at the end."),
    ]
    facts: list[Json] = []
    amounts: set[int] = set()
    for number in range(rounds):
        call_id = f"call_{number}"
        arguments = {"record": number, "note": used[number].value if number in used else "next"}
        messages.append(
            Message(
                "assistant",
                f"Record {number}: {_sentence(source, 8)}",
                tool_calls=(ToolCall(call_id, "open_record", json.dumps(arguments)),),
            )
        )
        lines = _filler(source, round_chars - 160)
        here = len(messages)
        if here in stated:
            lines.insert(len(lines) // 2, _statement(stated[here]))
        if number % facts_every == facts_every // 2:
            fact, line = _fact(number, here, source, amounts)
            facts.append(fact)
            lines.insert(len(lines) // 3, line)
        messages.append(Message("tool", "\n".join(lines), tool_call_id=call_id))
    messages.append(Message("assistant", "All records are done."))
    return Transcript(
        name=f"generated-{n_messages}-{seed}",
        segments=single_segment(tuple(messages)),
        source="evals.synthetic",
        format="generated",
        provenance="generated",
        session=f"generated-{n_messages}-{seed}",
        facts=tuple(facts),
        extra={"planted": [asdict(item) for item in planted]},
    )


def planted_in(transcript: Transcript) -> list[Planted]:
    """Return the truth of a generated transcript."""
    return [Planted(**item) for item in _listed(transcript.extra)]


def _listed(extra: Mapping[str, object]) -> list[Json]:
    listed = extra.get("planted", [])
    return listed if isinstance(listed, list) else []


def _plant(
    rounds: int, gaps: tuple[int, ...], plant_every: int, source: random.Random
) -> Iterator[Planted]:
    """Choose statements and uses; no request uses two, so that each use is one need."""
    taken: set[int] = set()
    for count, number in enumerate(range(0, rounds, plant_every)):
        gap = gaps[count % len(gaps)]
        use = number + gap
        while use in taken:
            use, gap = use + 1, gap + 1
        if use >= rounds:
            continue
        taken.add(use)
        kind, value = _value(count, source)
        # Round n is request n; its result is message 3 + 2n, first seen by request n + 1.
        yield Planted(kind, value, stated_at=3 + 2 * number, used_at=use, gap=gap)


def _value(count: int, source: random.Random) -> tuple[str, str]:
    tag = f"{source.randrange(16**6):06x}"
    noun, other = source.choice(_NOUNS), source.choice(_NOUNS)
    options = (
        ("path", f"store_{noun}/{other}_{tag}/part_{count}.dat"),
        ("identifier", f"handle_{noun}_{tag}_{count}"),
        ("url", f"https://{noun}-{tag}.example/{other}/{count}"),
    )
    return options[count % len(options)]


def _statement(item: Planted) -> str:
    return f"the entry that belongs to this record is {item.value} and stays valid"


def _fact(
    number: int, stated_at: int, source: random.Random, amounts: set[int]
) -> tuple[Json, str]:
    """Return a fact and its line; no two have the same amount, so none can stand for another."""
    while (amount := source.randrange(10_000, 99_999)) in amounts:
        continue
    amounts.add(amount)
    name = f"acct_{source.randrange(16**6):06x}"
    line = f"The limit of {name} is {amount} crowns."
    return {
        "id": f"limit-{number}",
        "kind": "value",
        "values": [[f"{amount} crowns"]],
        "stated_at": stated_at,
        "evidence": line,
        "question": f"What is the limit of {name}?",
        "answers": [f"{amount} crowns", str(amount)],
    }, line


def _filler(source: random.Random, chars: int) -> list[str]:
    """Return lines of log, table, code, JSON and prose; no later request uses anything in them."""
    lines: list[str] = []
    while chars > 0:
        number, word = source.randrange(10**6), source.choice(_NOUNS)
        style = source.randrange(5)
        if style == 0:
            clock = (
                f"2026-03-{number % 28 + 1:02} {number % 24:02}:{number % 60:02}:07.{number % 997}"
            )
            line = (
                f"{clock} INFO [{word}-{number % 9}] {_sentence(source, 5)} took {number % 800} ms"
            )
        elif style == 1:
            line = (
                f"| {word} | {number:,} | {number % 1000 / 10} % | {source.choice(_NOUNS)} | ok |"
            )
        elif style == 2:
            line = f"    if total_{word} > {number % 97}:  # {_sentence(source, 4)}"
        elif style == 3:
            fields = {"name": word, "count": number, "state": "done", "ratio": number % 100 / 100}
            line = json.dumps(fields)
        else:
            line = _sentence(source, 12)
        lines.append(line)
        chars -= len(line) + 1
    return lines


def _sentence(source: random.Random, words: int) -> str:
    return " ".join(source.choices(_VOCABULARY, k=words)) + "."
