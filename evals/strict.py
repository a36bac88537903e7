"""The `doctor --strict` command: structural faults of conversations, each with its place."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, NamedTuple

from compaction.contract.linter import Lint, lint
from compaction.errors import TranscriptError, one_line
from compaction.messages import Json
from evals.loading import find_files, load_file

EXIT_FAULTY: Final = 1
_ENCODING: Final = "utf-8-sig"


class Conversation(NamedTuple):
    """A list of messages of a file, as raw as they stand there."""

    where: str
    messages: Sequence[object]


class Faulty(NamedTuple):
    """One fault, or a file that holds no conversation (`lint` is None)."""

    where: str
    lint: Lint | None
    text: str


def examine_strictly(paths: Sequence[Path], *, as_json: bool) -> int:
    """Print every structural fault of the conversations below `paths`; return the exit code.

    Raises:
        TranscriptError: a path does not exist, or is a run folder.
    """
    n_files, n_conversations, found = 0, 0, list[Faulty]()
    for path in find_files(paths):
        n_files += 1
        try:
            for conversation in conversations_of(path):
                n_conversations += 1
                found += _faults(conversation)
        except TranscriptError as error:
            found.append(Faulty(str(path), None, str(error)))
    if as_json:
        sys.stdout.write(json.dumps([_to_json(item) for item in found], indent=2) + "\n")
    else:
        for item in found:
            sys.stdout.write(one_line(_line(item)) + "\n")
        counts = f"{n_files} files, {n_conversations} conversations, {len(found)} faults"
        sys.stdout.write(counts + "\n")
    return EXIT_FAULTY if found or not n_conversations else 0


def conversations_of(path: Path) -> Iterator[Conversation]:
    """Yield the conversations of a file: chat messages as they stand there, else as imported.

    Raises:
        TranscriptError: the file is no conversation of any format.
    """
    raw = list(_raw_conversations(path))
    if raw:
        yield from raw
        return
    for transcript in load_file(path):
        for number, segment in enumerate(transcript.segments):
            part = f", segment {number}" if len(transcript.segments) > 1 else ""
            yield Conversation(f"{path}: {transcript.name}{part}", segment.messages)


def _raw_conversations(path: Path) -> Iterator[Conversation]:
    """Yield message lists of a JSON document, or of JSON lines; nothing if the file is neither."""
    if not path.is_file():
        return  # a pipe would be waited for without end
    try:
        text = path.read_text(_ENCODING)
    except (OSError, ValueError):
        return
    try:
        yield from _within(json.loads(text), str(path))
        return
    except (ValueError, RecursionError):
        pass
    values = list(_lines(text))
    if values and all(isinstance(value, dict) and "role" in value for _, value in values):
        yield Conversation(str(path), [value for _, value in values])
        return
    for number, value in values:
        yield from _within(value, f"{path}:{number}")


def _lines(text: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError):
                return


def _within(value: Any, where: str) -> Iterator[Conversation]:
    if isinstance(value, dict) and _is_chat(value.get("messages")):
        yield Conversation(where, value["messages"])
    elif _is_chat(value):
        yield Conversation(where, value)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, dict) and _is_chat(item.get("messages")):
                yield Conversation(f"{where}[{index}]", item["messages"])


def _is_chat(value: object) -> bool:
    """Whether most entries look like chat messages, and none like another provider's."""
    if not isinstance(value, list) or not value:
        return False
    messages = [item for item in value if isinstance(item, dict) and "role" in item]
    return 2 * len(messages) > len(value) and not any(map(_is_foreign, messages))


def _is_foreign(message: Json) -> bool:
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    foreign = {"tool_use", "tool_result", "thinking", "tool_call"}
    kinds = {part.get("type") for part in parts if isinstance(part, dict)}
    return bool(kinds & foreign) or "parts" in message


def _faults(conversation: Conversation) -> Iterator[Faulty]:
    for item in lint(conversation.messages):
        yield Faulty(conversation.where, item, f"{item.rule}: {item.explanation}")


def _line(item: Faulty) -> str:
    return item.text if item.lint is None else f"{item.where}: {item.lint.pointer}: {item.text}"


def _to_json(item: Faulty) -> Json:
    details = asdict(item.lint) if item.lint is not None else {"explanation": item.text}
    return {"where": item.where, **details}
