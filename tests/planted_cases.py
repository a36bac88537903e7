"""Conversations whose needs are known because they were planted, in material like an agent's.

Made without anything of `evals`' extraction: the classes are spelled out here, beside things that
look alike and are no needs (common names, dates, versions, what stands everywhere, what the
assistant named first, what the instructions name).
"""

import json
import random
import uuid
from dataclasses import dataclass

from compaction.messages import Message, ToolCall
from evals.transcripts import Transcript, single_segment

CLASSES = ("path", "url", "uuid", "hash", "identifier", "key_value", "error_line", "quote")
GAPS = (1, 2, 4, 7, 15, 30)
_NAMES = """
    ledger invoice harbor meadow copper violet lantern walnut canyon thistle saddle ember
    garnet willow quarry beacon cinder marble falcon juniper
"""
_WORDS = _NAMES.split()
_TALK = "then we look at the next part of it and go on from here"


@dataclass(frozen=True)
class Planted:
    kind: str
    stated: str
    """The line of the tool result."""
    used: str
    """What the assistant later writes or quotes."""
    round: int
    use: int
    """Index of the request."""


def planted_conversation(seed, rounds=120):
    """Return a transcript and what was planted in it."""
    draw = random.Random(seed)
    planted, taken = [], set()
    for number in range(2, rounds - 1, 2):
        use = number + draw.choice(GAPS)
        if use >= rounds or use in taken:
            continue
        taken.add(use)
        kind = CLASSES[len(planted) % len(CLASSES)]
        stated, used = _value(kind, draw)
        planted.append(Planted(kind, stated, used, number, use))
    by_round = {item.round: item for item in planted}
    by_use = {item.use: item for item in planted}
    messages = [
        Message("system", "You repair the service in /srv/shared/common_repo, see docs/rules.md."),
        Message("user", "Please find out why the nightly import of harbor_feed_daily fails."),
    ]
    for number in range(rounds):
        messages += _round(number, by_round.get(number), by_use.get(number), draw)
    messages.append(Message("assistant", "The import works again."))
    return Transcript("planted", single_segment(tuple(messages))), planted


def _round(number, stated, used, draw):
    lines = [_filler(draw) for _ in range(draw.randint(4, 12))]
    if stated is not None:
        lines.insert(draw.randrange(len(lines) + 1), stated.stated)
    text, arguments = _sentence(draw), {"command": draw.choice(_COMMANDS)}
    if used is not None and used.kind == "quote":
        arguments = {"old_string": used.used, "new_string": "pass"}
    elif used is not None and (used.kind == "error_line" or draw.random() < 0.5):
        text = f"{text}\n{used.used}\n{_sentence(draw)}"
    elif used is not None:
        arguments = {"command": f"check {used.used}"}
    name = "edit_file" if "old_string" in arguments else "shell"
    call = ToolCall(f"c{number}", name, json.dumps(arguments))
    return (
        Message("assistant", text, tool_calls=(call,)),
        Message("tool", "\n".join(lines), tool_call_id=f"c{number}"),
    )


def _value(kind, draw):
    """Return the line that states a value, and the value as it is used."""
    one, two = draw.sample(_WORDS, 2)
    tag = draw.randrange(10**5)
    if kind == "path":
        value = f"/opt/{one}/{two}_{tag}.yaml"
        return f"-rw-r--r-- 1 root root 4120 Mar  3 09:14 {value}", value
    if kind == "url":
        value = f"https://{one}.example/{two}/{tag}?page=2"
        return f"  Location: {value}", value
    if kind == "uuid":
        value = str(uuid.UUID(int=draw.getrandbits(128), version=4))
        return f'{{"id": "{value}", "state": "queued"}}', value
    if kind == "hash":
        value = f"{draw.getrandbits(160):040x}"
        return f"commit {value}", value
    if kind == "identifier":
        value = f"{one}{two.title()}Q{tag}"
        return f"    def {value}(self, row):", value
    if kind == "key_value":
        value = f"{one}_{two}={1000 + tag}"
        return f"{value}  # set by the deploy", value
    if kind == "error_line":
        value = f"{one.title()}Error: cannot open the {two} store of shelf {one[:3]}{two}"
        return value, value
    value = f"    if {one}.{two}_total > limit and not {two}.is_done:\n        return {one}"
    return f"{value}  # {tag}" if tag % 2 else value, value


_COMMANDS = ("git status", "python -m pytest -q", "ls -la", "cat README.md", "npm test")


def _sentence(draw):
    return " ".join(draw.choices(_TALK.split(), k=9))


def _filler(draw):
    """Return a line that looks as if it named something."""
    one, two, number = draw.choice(_WORDS), draw.choice(_WORDS), draw.randrange(10**4)
    return draw.choice(
        (
            f"2026-03-{number % 28 + 1:02} 09:{number % 60:02}:11 INFO  {one} took {number} ms",
            f"@@ -{number},7 +{number},9 @@ import os.path",
            f'  File "/usr/lib/python3.11/json/decoder.py", line {number}, in raw_decode',
            f"+    return json.dumps({one})",
            f"{one}  {number}  v1.{number % 9}.{number % 7}  {number / 7:.2f} %",
            f"Downloading package.json ({number} kB)",
            f"| {one} | {two} | {number:,} | and/or |",
            f"npm warn deprecated left-pad@1.{number % 9}.0",
            f"see docs/rules.md and harbor_feed_daily, section {number % 12}",
            f"</{one}> // {two} of {number}",
        )
    )
