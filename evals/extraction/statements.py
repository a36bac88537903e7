"""Sentences that have to outlive a compaction: standing instructions of the user, open tasks.

A constraint is a sentence of a user message that tells what to do or not to do from then on. An
obligation is an open item of the last plan that was recorded: a todo list in the arguments of a
call, or check boxes in a text. Source of both: reference/methods.md section 5, F5 and F7.
"""

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, Final

from compaction.messages import Message, ToolCall
from evals.extraction.message_text import held_text
from evals.extraction.reference_index import ReferenceIndex
from evals.extraction.references import Reference
from evals.fidelity.artifacts import State, failed_calls, names_of, states_of
from evals.prepare import PreparedSegment

MIN_OVERLAP: Final = 0.9
"""Share of a sentence's words that another sentence must have to keep it. methods.md, F5."""
MIN_WORDS: Final = 4
"""Shorter sentences ("Never!") are kept by too many others."""
MAX_SENTENCE_CHARS: Final = 400
"""Longer ones are pasted text and no instruction."""
MAX_CONSTRAINTS: Final = 100
"""Of one segment, the first ones: a pasted manual is no list of wishes."""

_CUE: Final = re.compile(
    r"\b(?:always|never|do not|don't|must(?:n't)?|only|without|make sure|be sure|from now on"
    r"|under no circumstances|not allowed|required to|has to be|have to be|before you|keep in mind"
    r"|remember to|at (?:most|least)|no more than|stick to|avoid"
    r"|immer|niemals|nie|keinesfalls|ab jetzt|nur|ohne|höchstens|mindestens)\b"
    r"|不得|不要|不能|不许|禁止|严禁|切勿|务必|必须|一定要|只能|只许|始终|一律|每次都|从现在起|最多|至少|避免",
    re.IGNORECASE,
)
"""Words that make a sentence a standing instruction."""
_END: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+")
_WORD: Final = re.compile(r"[㐀-鿿豈-﫿]|[^\W_㐀-鿿豈-﫿]+")
"""Chinese is compared character by character."""
_FENCE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_NO_SENTENCES: Final = re.compile(
    r"<(?P<tag>[a-z]+(?:-[a-z]+)+)>.*?</(?P=tag)>|(?m:^[ \t]*\|.*\|[ \t]*$)", re.DOTALL
)
"""Blocks such as `<system-reminder>`, and rows of tables."""
_BOX: Final = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+\[([ xX~-])\][ \t]+(\S.*)$", re.MULTILINE)
_LISTS: Final = ("todos", "plan", "items", "tasks", "todo_list", "steps")
_TEXTS: Final = ("content", "step", "text", "title", "task", "description", "subject")
_STATES: Final = ("status", "state", "done", "completed")
_CLOSED: Final = frozenset({"done", "completed", "complete", "cancelled", "canceled", "true"})


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence that somebody counts on."""

    text: str
    stated_at: int
    """Index of the message in its segment."""
    also_at: tuple[int, ...] = ()
    """Other messages of users and the assistant that hold the sentence word by word."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The open items of a todo list as it stood after one message."""

    stated_at: int
    open_items: tuple[str, ...]


class Statements:
    """What must survive of one segment; the same for all settings."""

    def __init__(self, segment: PreparedSegment) -> None:
        self._segment = segment

    @cached_property
    def constraints(self) -> tuple[Statement, ...]:
        return constraints_of(self._segment)

    @cached_property
    def plans(self) -> tuple[Plan, ...]:
        return plans_of(self._segment.history.messages())

    @cached_property
    def failed(self) -> frozenset[ToolCall]:
        return failed_calls(self._segment.history.messages())

    @cached_property
    def files_named(self) -> dict[int, dict[str, str]]:
        """Message of the segment -> the files that its text or calls name, and by which name."""
        messages = self._segment.history.messages()
        path_of = {name: path for path, name in names_of(states_of(messages, self.failed)).items()}
        index = ReferenceIndex(Reference("path", name) for name in path_of)
        found = {
            at: {path_of[each.value]: each.value for each in index.standing_in(held_text(message))}
            for at, message in enumerate(messages)
        }
        return {at: files for at, files in found.items() if files}

    def plan_at(self, n_messages: int) -> Plan | None:
        at = bisect_right([plan.stated_at for plan in self.plans], n_messages - 1)
        return self.plans[at - 1] if at else None

    def states_before(self, n_messages: int) -> dict[str, State]:
        """Return what was done last to each file in the first messages."""
        return states_of(self._segment.history.messages()[:n_messages], self.failed)


def constraints_of(segment: PreparedSegment) -> tuple[Statement, ...]:
    """Return the standing instructions of a segment's user messages, in their order, each once."""
    messages = segment.history.messages()
    found: dict[str, int] = {}
    for at, message in enumerate(messages):
        if message.role != "user":
            continue
        for sentence in instructions_in(message.text):
            found.setdefault(sentence, at)
        if len(found) >= MAX_CONSTRAINTS:
            break
    chosen = list(found.items())[:MAX_CONSTRAINTS]
    spoken = [
        (at, _plain(message.text))
        for at, message in enumerate(messages)
        if message.role in ("user", "assistant")
    ]
    return tuple(
        Statement(text, at, tuple(i for i, said in spoken if i != at and _plain(text) in said))
        for text, at in chosen
    )


def instructions_in(text: str) -> Iterator[str]:
    """Yield the sentences of a text that tell what to do or not to do.

    Code, rows of tables and what a program put in between its own tags are nobody's wishes.
    """
    for sentence in sentences(_NO_SENTENCES.sub("\n", _FENCE.sub("\n", text))):
        is_short = len(sentence) <= MAX_SENTENCE_CHARS
        if is_short and _CUE.search(sentence) and len(_WORD.findall(sentence)) >= MIN_WORDS:
            yield sentence


def sentences(text: str) -> list[str]:
    """Cut a text at line breaks and sentence ends; marks of lists and quotes are taken off."""
    return [piece for each in _END.split(text) if (piece := each.strip(" \t>-*+#•\r"))]


def plans_of(messages: Sequence[Message]) -> tuple[Plan, ...]:
    """Return every plan that a message states, in order; a later one replaces an earlier one."""
    found = []
    for at, message in enumerate(messages):
        items = _items_of(message)
        if items:
            found.append(Plan(at, tuple(text for text, is_open in items if is_open)))
    return tuple(found)


def is_kept_in(statement: str, text: str) -> bool:
    """Whether a sentence of a text has nearly all words of a statement."""
    wanted = _words(statement)
    needed = MIN_OVERLAP * wanted.total()
    return any((wanted & found).total() >= needed for found in _sentence_words(text))


def is_ticked_in(item: str, text: str) -> bool:
    """Whether a text lists an item as done."""
    return any(not is_open and is_kept_in(item, found) for found, is_open in _boxes(text))


def _items_of(message: Message) -> list[tuple[str, bool]]:
    """Return (text, is open) of the items of a plan in a message."""
    for call in reversed(message.tool_calls):
        if items := _listed(call.arguments):
            return items
    if message.role in ("user", "assistant") and "[" in message.text:
        return _boxes(_FENCE.sub("\n", message.text))
    return []


def _boxes(text: str) -> list[tuple[str, bool]]:
    return [(found[2].strip(), found[1] not in "xX") for found in _BOX.finditer(text)]


@lru_cache(maxsize=4096)
def _listed(arguments: str) -> list[tuple[str, bool]]:
    if not any(f'"{name}"' in arguments for name in _LISTS):
        return []
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        return []
    rows: list[Any] = next((given[name] for name in _LISTS if _is_list(given, name)), [])
    items = [item for row in rows if (item := _item(row)) is not None]
    # A list of which some rows have no state is something else, such as search results.
    return items if len(items) == len(rows) else []


def _is_list(given: Any, name: str) -> bool:
    return isinstance(given, dict) and isinstance(given.get(name), list)


def _item(row: Any) -> tuple[str, bool] | None:
    if not isinstance(row, dict):
        return None
    text = next((row[name] for name in _TEXTS if isinstance(row.get(name), str)), None)
    state = next((row[name] for name in _STATES if name in row), None)
    if text is None or not isinstance(state, (str, bool)):
        return None
    return text, str(state).lower() not in _CLOSED


@lru_cache(maxsize=8192)
def _words(text: str) -> Counter[str]:
    return Counter(word.casefold() for word in _WORD.findall(text))


@lru_cache(maxsize=1024)
def _sentence_words(text: str) -> tuple[Counter[str], ...]:
    """Return the words of each sentence, and of each two that follow one another."""
    alone = [_words(sentence) for sentence in sentences(text)]
    pairs = [one + other for one, other in pairwise(alone)]
    return (*alone, *pairs)


@lru_cache(maxsize=8192)
def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
