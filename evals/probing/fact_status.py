"""How the fact behind a question stands in a view: the statuses of needs, for annotated facts.

The definitions are those of `evals.fidelity.need_status`; a fact's values take the place of a
reference. With them what a model still answers can be held against what is measured without one.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Literal

from compaction.history import Entry
from evals.extraction.message_text import held_text
from evals.fidelity.annotations import Fact
from evals.matcher.occurrences import Form, TextIndex, index_text, occurrences
from evals.matcher.restating import MIN_SHARED_WORDS, told_by
from evals.matcher.wording import informative
from evals.replay import Step

FactStatus = Literal["visible_source", "restated", "recoverable", "mentioned", "lost"]
"""From best to worst; a fact has the best that applies."""
Values = tuple[tuple[Form, ...], ...]

_MAX_TEXTS: Final = 4096


def status_of(fact: Fact, step: Step) -> FactStatus:
    """Say how the values of a fact are seen in the view of a step.

    The message that states it whole, or those of its lines; in another text a line that shares
    informative words with it; behind a handle that was tried; in another text, bare; not at all.
    """
    values, at = fact.claim.values, fact.stated_at
    source = held_text(step.history[at])
    own = [entry for entry in step.view.entries if _shows(entry, at)]
    if any(entry.origin.kind == "whole" or _keeps_lines(values, entry, source) for entry in own):
        return "visible_source"
    texts = [held_text(entry.message) for entry in step.view.entries]
    holding = [text for text in texts if _holds(values, text)]
    if any(_restates(values, text, source) for text in holding):
        return "restated"
    if any(_is_recoverable(values, entry, step) for entry in own):
        return "recoverable"
    return "mentioned" if holding else "lost"


def _shows(entry: Entry, at: int) -> bool:
    return entry.origin.kind != "generated" and entry.origin.first == at


def _keeps_lines(values: Values, entry: Entry, source: str) -> bool:
    """Whether an edited entry still has lines of the source that hold all values."""
    lines = {line.strip() for line in source.split("\n")}
    kept = [line for line in held_text(entry.message).split("\n") if line.strip() in lines]
    return _holds(values, "\n".join(kept))


def _is_recoverable(values: Values, entry: Entry, step: Step) -> bool:
    handle = entry.origin.handle
    text = step.compactor.recover(handle) if handle is not None else None
    return text is not None and _holds(values, text)


def _restates(values: Values, text: str, source: str) -> bool:
    """Whether each value stands in a line that tells what a line of the source tells of it."""
    own = {word for forms in values for form in forms for word in informative(form.needle)}
    return all(
        any(
            len((told_by(line) & told_by(known)) - own) >= MIN_SHARED_WORDS
            for line in _lines(forms, text)
            for known in _lines(forms, source)
        )
        for forms in values
    )


def _lines(forms: tuple[Form, ...], text: str) -> Iterable[str]:
    return (line for line in text.split("\n") if occurrences(forms, _indexed(line)))


def _holds(values: Values, text: str) -> bool:
    return bool(text) and all(occurrences(forms, _indexed(text)) for forms in values)


@lru_cache(maxsize=_MAX_TEXTS)
def _indexed(text: str) -> TextIndex:
    return index_text(text)
