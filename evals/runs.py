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

from compaction.history import Entry, History, View
from compaction.strategy import CompactionEvent, Promises
from compaction.tiers.results import original_text
from evals.prepare import PreparedRequest
from evals.replay import Step

MAX_HELD_ENTRIES: Final = 4_000_000
"""Of the views that wait for the key of their run: 32 MB of references. A longer run has none."""


_EVENT: Final = attrgetter(*(item.name for item in fields(CompactionEvent)))


class Run(NamedTuple):
    """The steps of a replay."""

    steps: Iterable[Step]
    key: str | None
    """Names all that is scored of it; None if it was not read to the end or may not be repeated."""


def keyed(steps: Iterator[Step], promises: Promises) -> Run:
    """Read a run to its end, as far as it is certain to be the same when it is made again.

    Args:
        steps: From a strategy whose store gives back what was put there.
        promises: Of the strategy: they say which rules it is held to.
    """
    held: list[Step | _Growth] = []
    digest = blake2b(repr(promises).encode(), digest_size=16)
    n_entries, twin = 0, View(())
    for step in steps:
        if step.grew:
            held.append(_Growth(step.request, step.history, step.tokens))
        else:
            n_entries += len(step.view)
            if n_entries > MAX_HELD_ENTRIES or not _is_certain(step, twin):
                return Run(chain(_unfolded(held), (step,), steps), None)
            # The twin's view is equal, and is not held as well.
            held.append(step._replace(twin=step.view))
            digest.update(_content(step).encode())
        twin = step.twin
    return Run(_unfolded(held), digest.hexdigest())


class _Growth(NamedTuple):
    """A step that only grew: its view is made again when it is looked at."""

    request: PreparedRequest
    history: History
    tokens: float


def _unfolded(held: Iterable["Step | _Growth"]) -> Iterator[Step]:
    last: Step | None = None
    for item in held:
        if isinstance(item, Step):
            last = item
        elif last is not None:
            said = item.history.entries(len(last.history))
            view = last.view.telling(()).appended(said)
            last = last._replace(
                request=item.request,
                history=item.history,
                view=view,
                twin=view,
                unchanged=len(last.view),
                tokens=item.tokens,
                model_calls=(),
                grew=True,
            )
        else:
            raise ValueError("the first step of a run is no growth")
        yield last


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
