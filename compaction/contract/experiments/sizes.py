"""Sizes that events tell, and the target that was promised (I12, I17, I18)."""

from itertools import pairwise

from compaction.contract.drives import Good, Verdict, at_step


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
    allowed = good.trial.strategy.promises.counts_within_fraction or 0.0
    for step in good.steps:
        told = [event.tokens_after for event in step.view.events if event.tokens_after is not None]
        size = step.size
        if told and abs(told[-1] - size) > allowed * size:
            text = f"the event says {told[-1]}, the counter {size}"
            return [at_step(step, "counts_are_faithful", text)]
    return []


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
