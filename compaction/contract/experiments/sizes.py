"""Sizes that events tell, and the target that was promised (I12, I17, I18)."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

from compaction.contract.drives import Found, Good, Verdict, at_step, first_per_rule
from compaction.contract.texts import KINDS_OF_TEXT, RequestBytes
from compaction.contract.trial import Step
from compaction.errors import CompactionError
from compaction.strategy import Promises


def target_is_met_or_missed_aloud(good: Good) -> Verdict:
    target = good.trial.strategy.promises.target_tokens or 0
    found = []
    for step in good.steps:
        outcomes = {event.outcome for event in step.view.events}
        size = step.size
        if "applied" in outcomes and not outcomes & {"failed", "skipped"} and size > target:
            text = f"the pass ended at {size}, the target is {target}, and no event says why"
            found.append(at_step(step, "target_is_met_or_missed_aloud", text))
    return found[:1]


def counts_are_faithful(good: Good) -> Verdict:
    """Compare the sizes in events with those of a counter that tells kinds of text apart.

    The conversation is driven as it is and once for each of `KINDS_OF_TEXT`, because an estimate
    that is right for English is wrong for Chinese, and one that leaves images, reasoning or calls
    out is right where there are none.
    """
    found = []
    for kind, change in KINDS_OF_TEXT.items():
        messages = tuple(change(message) for message in good.trial.messages)
        counted = replace(good.trial, counter=RequestBytes())
        try:
            steps = counted.drive(messages=messages)
            found += _miscounted(steps, good.trial.strategy.promises, kind)
        except CompactionError:
            continue
    return first_per_rule(found)


def _miscounted(steps: Iterable[Step], promises: Promises, kind: str) -> list[Found]:
    """Return the first request whose events tell other sizes than before and after it."""
    allowed, measure = promises.counts_within_fraction or 0.0, RequestBytes()
    size_before, seen = 0, 0
    for step in steps:
        arrived = sum(measure.count(message) for message in step.history.messages(seen))
        whole = step.history.total(measure)
        sized = [event for event in step.view.events if event.tokens_after is not None]
        told = sized[-1].tokens_after if sized else None
        if told is not None and _is_off(told, (step.size,), allowed):
            text = f"{kind}: an event says {told} afterwards, the counter {step.size}"
            return [at_step(step, "counts_are_faithful", text)]
        told = sized[0].tokens_before if sized else None
        # A view that is made anew is made of the whole history, if nothing is kept between.
        if told is not None and _is_off(told, (size_before + arrived, whole), allowed):
            text = f"{kind}: an event says {told} before, the counter {size_before + arrived}"
            return [at_step(step, "counts_are_faithful", text)]
        size_before, seen = step.size, len(step.history)
    return []


def _is_off(told: int, sizes: Iterable[int], allowed: float) -> bool:
    # Sizes in events are whole numbers.
    return all(abs(told - size) > allowed * size + 1 for size in sizes)


def counts_share_one_basis(good: Good) -> Verdict:
    for step in good.steps:
        events = [e for e in step.view.events if None not in (e.tokens_before, e.tokens_after)]
        for one, two in pairwise(events):
            if one.tokens_after != two.tokens_before:
                text = (
                    f"{one.tier} ended with {one.tokens_after}, "
                    f"{two.tier} begins with {two.tokens_before}"
                )
                return [at_step(step, "counts_share_one_basis", text)]
    return []
