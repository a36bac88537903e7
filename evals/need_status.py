"""What became of each need under a strategy: visible, restated, recoverable, mentioned or lost.

Looks again only at the entries that changed since the request before; a recoverable need is one
whose reference was found in what the compactor gave back for a handle, never assumed.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from statistics import fmean
from typing import Any, Final, Literal

from compaction.history import Entries, Entry, History, exchanged
from compaction.messages import Message
from compaction.pairing import Pairing
from compaction.strategy import Promises
from evals.fates import FateTracker
from evals.message_text import held_text
from evals.needs import Need, NeedSet
from evals.quotes import holds_quote
from evals.references import Reference, extract_references, lines_with, matches
from evals.replay import Step
from evals.wording import informative

Status = Literal[
    "visible_source", "restated", "recoverable", "mentioned", "regenerable", "undeclared", "lost"
]
"""From best to worst; a need has the best that applies."""
REACHED: Final = frozenset({"visible_source", "restated", "recoverable"})
MIN_SHARED_WORDS: Final = 3
"""Informative words that a line must share with a line of a source to restate it."""

_NAME_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_READING: Final = "read view cat grep search find list ls glob get fetch show open head tail stat"
_WRITING: Final = "write edit create delete remove update send replace"
"""How a word of a tool's name begins."""
_WRITING_WORDS: Final = frozenset({"set", "post"})


@dataclass(frozen=True, slots=True)
class NeedSummary:
    """Columns of a row; see `evals.results.Row`."""

    reach: float | None
    reach_all_gaps: float | None
    needs: int
    needs_all_gaps: int
    requests_with_needs: int
    visible_source: int
    restated: int
    mentioned: int
    recoverable: int
    regenerable: int
    lost: int
    undeclared: int
    quote_needs: int
    quote_kept_fraction: float | None
    pinned_needs: int
    pinned_kept_fraction: float | None
    derived_needs: int
    placebo_fraction: float | None


class NeedScorer:
    """Judges the needs of one cell, request by request."""

    def __init__(
        self,
        needs: NeedSet,
        promises: Promises,
        *,
        is_declared: bool = True,
        first_messages: Mapping[int, int] | None = None,
    ) -> None:
        """Start at the first request.

        Args:
            needs: Of the transcript.
            promises: Of the strategy.
            is_declared: Whether the strategy says if it is recoverable. If not, what is not visible
                is `undeclared` and not `lost`.
            first_messages: Request index -> index of the first message of its segment. If given,
                each row of `details` also has the needed text and the message that brought it last.
        """
        self._needs = needs
        self._first_messages = first_messages
        self._is_declared = is_declared
        self._recoverable = promises.recoverable
        self._segment = -1
        self._shown = _Shown(needs)
        self._judged: list[tuple[Need, Status]] = []

    def see(self, step: Step, fates: FateTracker | None = None) -> None:
        """Judge the needs of a request; fates are not looked at."""
        if step.request.segment != self._segment:
            self._segment = step.request.segment
            self._shown = _Shown(self._needs)
        self._shown.exchange(step.view.entries, step.unchanged)
        for need in self._needs.by_request.get(step.request.index, ()):
            self._judged.append((need, self._status(need, step)))

    def summary(self) -> NeedSummary:
        headline = [(need, status) for need, status in self._judged if need.kind == "need"]
        long = [(need, status) for need, status in headline if need.is_long]
        count = Counter(status for _, status in long)
        quotes = [status for need, status in self._judged if need.kind == "quote"]
        pinned = [status for need, status in self._judged if need.kind == "pinned"]
        return NeedSummary(
            reach=_macro_reach(long),
            reach_all_gaps=_macro_reach(headline),
            needs=len(long),
            needs_all_gaps=len(headline),
            requests_with_needs=len({need.request for need, _ in long}),
            visible_source=count["visible_source"],
            restated=count["restated"],
            mentioned=count["mentioned"],
            recoverable=count["recoverable"],
            regenerable=count["regenerable"],
            lost=count["lost"],
            undeclared=count["undeclared"],
            quote_needs=len(quotes),
            quote_kept_fraction=_share(status == "visible_source" for status in quotes),
            pinned_needs=len(pinned),
            pinned_kept_fraction=_share(status in {*REACHED, "mentioned"} for status in pinned),
            derived_needs=sum(need.kind == "derived" for need, _ in self._judged),
            placebo_fraction=self._needs.placebo_fraction,
        )

    def columns(self) -> dict[str, Any]:
        return asdict(self.summary())

    def sections(self) -> dict[str, Any]:
        return {"needs": self.details()}

    def details(self) -> dict[str, Any]:
        """Return a row per need."""
        first_messages = self._first_messages
        columns = ["digest", "class", "kind", "request", "gap", "status"]
        rows: list[list[Any]] = []
        for need, status in self._judged:
            row = [need.digest, need.class_name, need.kind, need.request, need.gap, status]
            if first_messages is not None:
                source = max((*need.sources, *need.others)) + first_messages[need.request]
                row += [need.value, source]
            rows.append(row)
        return {
            "columns": [*columns, *(("value", "source") if first_messages is not None else ())],
            "rows": rows,
            "placebo_by_class": self._needs.placebo_by_class,
        }

    def _status(self, need: Need, step: Step) -> Status:
        if need.reference is None:
            return self._quote_status(need, step)
        visible = self._shown.best(need, need.reference, step.history)
        if visible in ("visible_source", "restated"):
            return visible
        if self._is_recoverable(need, step):
            return "recoverable"
        if visible is not None:
            return visible
        if self._shown.can_repeat(need, step.history):
            return "regenerable"
        return "lost" if self._is_declared else "undeclared"

    def _quote_status(self, need: Need, step: Step) -> Status:
        holders = (*need.sources, *need.others)
        if any(self._shown.is_whole(at) for at in holders):
            return "visible_source"
        edited = (self._shown.edited_text(at) for at in holders)
        if any(text is not None and holds_quote(need.value, text) for text in edited):
            return "visible_source"
        if self._is_recoverable(need, step):
            return "recoverable"
        return "lost" if self._is_declared else "undeclared"

    def _is_recoverable(self, need: Need, step: Step) -> bool:
        """Read the store behind the handles of the sources that the view names."""
        if not self._recoverable:
            return False
        for at in need.sources:
            handle = self._shown.handle_of(at)
            text = step.compactor.recover(handle) if handle is not None else None
            if text is not None and _holds(need, text):
                return True
        return False


class _Shown:
    """What the present view shows of one segment's history."""

    def __init__(self, needs: NeedSet) -> None:
        self._needs = needs
        self._entries: Entries = ()
        self._whole: set[int] = set()
        self._edited: dict[int, Entry] = {}
        """History index -> the entry that shows it edited."""
        self._written: defaultdict[Reference, dict[int, Entry]] = defaultdict(dict)
        """Needed reference -> edited and written entries that hold it, by object id."""
        self._found: dict[Message, tuple[Reference, ...]] = {}
        self._pairing = Pairing()

    def exchange(self, entries: Entries, same: int) -> None:
        """Replace all entries from `same` on."""
        gone, come = exchanged(self._entries, entries, same)
        for entry in gone:
            self._drop(entry)
        for entry in come:
            self._take(entry)
        # Equal leading entries may be other objects; those that were taken are the ones to drop.
        self._entries = self._entries[:same] + entries[same:]

    def _take(self, entry: Entry) -> None:
        index = entry.origin.first
        if entry.origin.kind == "whole":
            self._whole.add(index)
            return
        if entry.origin.kind == "edited":
            self._edited[index] = entry
        for reference in self._references_in(entry.message):
            self._written[reference][id(entry)] = entry

    def _drop(self, entry: Entry) -> None:
        index = entry.origin.first
        if entry.origin.kind == "whole":
            self._whole.discard(index)
            return
        if self._edited.get(index) is entry:
            del self._edited[index]
        for reference in self._references_in(entry.message):
            self._written[reference].pop(id(entry), None)

    def _references_in(self, message: Message) -> tuple[Reference, ...]:
        found = self._found.get(message)
        if found is None:
            found = tuple(self._needs.index.found_in(held_text(message)))
            self._found[message] = found
        return found

    def is_whole(self, index: int) -> bool:
        return index in self._whole

    def edited_text(self, index: int) -> str | None:
        entry = self._edited.get(index)
        return held_text(entry.message) if entry is not None else None

    def handle_of(self, index: int) -> str | None:
        entry = self._edited.get(index)
        return entry.origin.handle if entry is not None else None

    def best(self, need: Need, reference: Reference, history: History) -> Status | None:
        """Return how a reference is visible: in a source, restated, merely mentioned, or not."""
        if any(at in self._whole for at in need.sources):
            return "visible_source"
        texts = []
        for entry in self._written.get(reference, {}).values():
            text = held_text(entry.message)
            index = entry.origin.first
            is_source = entry.origin.kind == "edited" and index in need.sources
            if is_source and _shares_line(reference, text, held_text(history[index])):
                return "visible_source"
            texts.append(text)
        texts += [held_text(history[at]) for at in need.others if at in self._whole]
        if not texts:
            return None
        sources = tuple(held_text(history[at]) for at in need.sources)
        if any(_restates(reference, text, sources) for text in texts):
            return "restated"
        return "mentioned"

    def can_repeat(self, need: Need, history: History) -> bool:
        """Whether a read-only call that brought the reference stands in the view unchanged."""
        for at in range(len(self._pairing), len(history)):
            self._pairing.append(history[at])
        for at in need.sources:
            caller, call = self._pairing.call_of.get(at, (None, None))
            if caller in self._whole and call is not None and is_read_only(call.name):
                return True
        return False


def is_read_only(tool_name: str) -> bool:
    """Guess from its name whether a tool only reads."""
    words = [word.lower() for word in _NAME_WORD.findall(tool_name)]
    if any(word in _WRITING_WORDS or word.startswith(tuple(_WRITING.split())) for word in words):
        return False
    return any(word.startswith(tuple(_READING.split())) for word in words)


def _holds(need: Need, text: str) -> bool:
    if need.reference is None:
        return holds_quote(need.value, text)
    return matches(need.reference, text, extract_references(text))


@lru_cache(maxsize=16_384)
def _shares_line(reference: Reference, text: str, source: str) -> bool:
    """Whether a line of the source that holds the reference is still there, as far as it goes."""
    lines = {line.strip() for line in _lines(reference, source)}
    return any(line.strip() in lines for line in _lines(reference, text))


@lru_cache(maxsize=16_384)
def _restates(reference: Reference, text: str, sources: tuple[str, ...]) -> bool:
    own = frozenset(informative(reference.value))
    known = [_told_by(line) - own for source in sources for line in _lines(reference, source)]
    for line in _lines(reference, text):
        words = _told_by(line) - own
        if any(len(words & others) >= MIN_SHARED_WORDS for others in known):
            return True
    return False


def _lines(reference: Reference, text: str) -> list[str]:
    """Return the lines that hold a reference; for a normalised one, those that yield it."""
    lines = lines_with(reference.value, text)
    if lines or reference.kind not in ("key_value", "error_line"):
        return lines
    return [line for line in text.split("\n") if reference in extract_references(line)]


@lru_cache(maxsize=16_384)
def _told_by(line: str) -> frozenset[str]:
    """Return the words of a line that say something about its references, not the names in them.

    Otherwise a bare list of references would restate each by the names of its neighbours.
    """
    names = "\n".join(reference.value for reference in extract_references(line))
    return frozenset(informative(line)).difference(informative(names))


def _macro_reach(judged: Iterable[tuple[Need, Status]]) -> float | None:
    """Mean over requests of the share of their needs that are reached."""
    by_request: defaultdict[int, list[bool]] = defaultdict(list)
    for need, status in judged:
        by_request[need.request].append(status in REACHED)
    return fmean(fmean(reached) for reached in by_request.values()) if by_request else None


def _share(kept: Iterable[bool]) -> float | None:
    values = list(kept)
    return fmean(values) if values else None
