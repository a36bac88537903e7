"""A strategy driven through a transcript, and how it is known that two such runs are the same.

Settings of a sweep often send the same at every request, since a parameter never came into play.
All numbers of a cell are made from what is in a run's key, so such runs are scored once.
"""

from collections.abc import Iterable, Iterator
from dataclasses import fields
from hashlib import blake2b
from itertools import chain
from operator import attrgetter
from typing import Final, NamedTuple

from compaction.history import Entry, View
from compaction.strategy import CompactionEvent, Promises
from compaction.tiers.results import original_text
from evals.prepare import PreparedRequest
from evals.replay import Growth, Step, flat

MAX_HELD_ENTRIES: Final = 4_000_000
"""Of the views that wait for the key of their run: 32 MB of references. A longer run has none."""


_EVENT: Final = attrgetter(*(item.name for item in fields(CompactionEvent)))


class Run(NamedTuple):
    """What a replay gave."""

    parts: Iterable[Step | Growth]
    key: str | None
    """Names all that is scored of it; None if it was not read to the end or may not be repeated."""

    @property
    def steps(self) -> Iterator[Step]:
        return flat(self.parts)


def keyed(parts: Iterator[Step] | Iterator[Step | Growth], promises: Promises) -> Run:
    """Read a run to its end, as far as it is certain to be the same when it is made again.

    Args:
        parts: From a strategy whose store gives back what was put there.
        promises: Of the strategy: they say which rules it is held to.
    """
    held: list[Step | _Grown] = []
    digest = blake2b(repr(promises).encode(), digest_size=16)
    n_entries, twin = 0, View(())
    for part in parts:
        if isinstance(part, Growth):
            _grown(held).add(part.requests, part.tokens)
            twin = part.end.twin
            continue
        if part.grew:
            _grown(held).add((part.request,), (part.tokens,))
        else:
            n_entries += len(part.view)
            if n_entries > MAX_HELD_ENTRIES or not _is_certain(part, twin):
                return Run(chain(_unfolded(held), (part,), parts), None)
            # The twin's view is equal, and is not held as well.
            held.append(part._replace(twin=part.view))
            digest.update(_content(part).encode())
        twin = part.twin
    return Run(list(_unfolded(held)), digest.hexdigest())


class _Grown:
    """Requests that only grew from the same step."""

    def __init__(self, start: Step) -> None:
        self.start = start
        self.requests: list[PreparedRequest] = []
        self.tokens: list[float] = []

    def add(self, requests: Iterable[PreparedRequest], tokens: Iterable[float]) -> None:
        self.requests += requests
        self.tokens += tokens


def _grown(held: list["Step | _Grown"]) -> _Grown:
    """Return what holds the requests that grow from the latest step."""
    last = held[-1]
    if isinstance(last, _Grown):
        return last
    held.append(made := _Grown(last))
    return made


def _unfolded(held: Iterable["Step | _Grown"]) -> Iterator[Step | Growth]:
    for each in held:
        if isinstance(each, _Grown):
            yield Growth(each.start, tuple(each.requests), tuple(each.tokens))
        else:
            yield each


def _is_certain(step: Step, twin_before: View) -> bool:
    """Whether no model was asked, the twin agrees, and every handle gives back the original."""
    same, twin = step.unchanged, step.twin
    new = step.view.entries[same:]
    if step.model_calls or twin.same_as(twin_before) < same or twin.entries[same:] != new:
        return False
    return all(_is_original(entry, step) for entry in new if entry.origin.handle is not None)


def _is_original(entry: Entry, step: Step) -> bool:
    handle, first = entry.origin.handle, entry.origin.first
    if handle is None or first < 0:
        return False
    return step.compactor.recover(handle) == original_text(step.history[first])


def _content(step: Step) -> str:
    """Return which request it is, what stands behind the unchanged entries, and what was told."""
    entries = map(_named, step.view.entries[step.unchanged :])
    events = (str(_EVENT(event)) for event in step.view.events)
    return "\n".join((f"{step.request.index} {step.unchanged}", *entries, *events))


def _named(entry: Entry) -> str:
    origin = entry.origin
    made = f"{origin.kind} {origin.spans} {origin.by!r} {origin.handle!r}"
    return f"{entry.message.digest} {made}"
