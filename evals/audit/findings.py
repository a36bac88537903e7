"""One recorded compaction in sentences: what it cost, kept, lost and invented, and what to do."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from evals.audit.values import BoundaryAudit, NeedCounts, Survived
from evals.audit.words import (
    CLASS_WORDS,
    KIND_WORDS,
    NEED_KIND_WORDS,
    counted,
    cut,
    dollars,
    listed,
)

NEARLY_ALL_FRACTION: Final = 0.9
"""Of the history; keeping as much is no advice."""


def findings_of(each: BoundaryAudit) -> Iterator[str]:
    """Yield the sentences, what matters most first."""
    yield _cost(each)
    yield _needs(each)
    yield from _infeasible(each)
    yield from _missing(each)
    yield from _other_kinds(each)
    if each.unlogged_tokens:
        yield (
            f"The provider counted {each.unlogged_tokens:,} tokens more than the log holds: an "
            "encrypted summary, or files that were put in again. What was used and may have been "
            "there is not called lost."
        )
    yield _honesty(each)
    if each.is_readable:
        how_far = ", as far as the log shows" if each.unlogged_tokens else ""
        yield from _also_survived(each.survived, how_far)
    if each.gone_before:
        yield (
            f"{counted(each.gone_before, 'reference')} came from before an earlier compaction: "
            f"nobody could have kept {'it' if each.gone_before == 1 else 'them'} here."
        )
    for one in each.contestants:
        if one.error is not None:
            yield f"{one.label} failed: {one.error}."
    yield from _names(each)


def _cost(each: BoundaryAudit) -> str:
    cost = each.reacquired
    if not cost.calls:
        return "Nothing was read or run again that had been there before."
    kinds = [counted(n, *KIND_WORDS[kind]) for kind, n in cost.by_kind.items()]
    return (
        f"Read or run again although it had been there: {listed(kinds)}, {cost.tokens:,.0f} "
        f"tokens, {dollars(cost.usd)}; {cost.requests_only:,} of "
        f"{counted(each.requests_after, 'request')} did nothing else."
    )


def _needs(each: BoundaryAudit) -> str:
    needs = each.needs
    if not needs.asked:
        return "Nothing that was used afterwards came from before the boundary."
    if needs.kept == needs.asked:
        if needs.asked == 1:
            return "Nothing was lost: the 1 reference needed afterwards had been kept."
        return f"Nothing was lost: all {needs.asked:,} references needed afterwards had been kept."
    if not each.is_readable:
        return (
            f"{counted(needs.asked, 'reference')} from before {_were(needs.asked)} needed "
            f"afterwards; the summary cannot be read, so {needs.unseen:,} of them "
            f"{'is' if needs.unseen == 1 else 'are'} not judged{_visibly(needs)}."
        )
    parts = [
        f"{needs.kept:,} kept",
        f"{needs.named:,} only named",
        f"{needs.read_again:,} read again in time",
        f"{needs.lost:,} lost",
        *([f"{needs.unseen:,} that cannot be judged"] if needs.unseen else []),
    ]
    return (
        f"{counted(needs.asked, 'reference')} from before {_were(needs.asked)} needed afterwards: "
        f"{listed(parts)}."
    )


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _visibly(needs: NeedCounts) -> str:
    if not (needs.kept or needs.named):
        return ""
    parts = [f"{needs.kept:,} kept", f"{needs.named:,} only named"]
    return f"; in messages that were sent on, {listed(parts)}"


def _infeasible(each: BoundaryAudit) -> Iterator[str]:
    if each.fixed_tokens > each.view_tokens:
        yield (
            f"Instructions and what came after the boundary are {each.fixed_tokens:,} tokens "
            f"alone, more than the {each.view_tokens:,} that were sent: nothing that keeps "
            "these can be as small, so there is no bound."
        )


def _other_kinds(each: BoundaryAudit) -> Iterator[str]:
    parts = [
        f"{counted(n.asked, *NEED_KIND_WORDS[kind])} ({n.kept:,} kept, {n.named:,} named, "
        f"{n.read_again:,} read again)"
        for kind, n in each.needs_by_kind.items()
    ]
    if parts:
        yield f"Not in these numbers: {listed(parts)}."


def _missing(each: BoundaryAudit) -> Iterator[str]:
    missing = each.missing
    if not missing:
        return
    classes = Counter(line.class_name for line in missing)
    what = listed([counted(n, CLASS_WORDS.get(name, name)) for name, n in classes.most_common()])
    within = max(line.after_requests for line in missing)
    were = _were(len(missing))
    gone = f"{were} gone"
    if each.unlogged_tokens:
        gone = "nowhere in what the log shows of the compacted view"
    text = f"{what} {were} needed again within {counted(within, 'request')} and {gone}"
    keeping = each.clearing
    all_of = "it" if len(missing) == 1 else "all of them"
    if keeping is None:
        yield f"{text}."
    elif keeping.keep_last_results == 0:
        yield (
            f"{text}; clearing every tool result would still have kept {all_of}, in "
            f"{keeping.tokens:,} tokens."
        )
    elif keeping.tokens > NEARLY_ALL_FRACTION * each.history_tokens:
        yield (
            f"{text}; only nearly everything would have kept {all_of}: the last "
            f"{keeping.keep_last_results:,} of {counted(keeping.results, 'result')}, "
            f"{keeping.tokens:,} tokens."
        )
    else:
        yield (
            f"{text}; keep_last_results={keeping.keep_last_results:,} would have kept {all_of} in "
            f"{keeping.tokens:,} tokens; {each.view_tokens:,} of {each.history_tokens:,} were sent."
        )
    yield _at_same_size(each, len(missing))


def _at_same_size(each: BoundaryAudit, n_missing: int) -> str:
    able = [
        one
        for one in each.contestants[1:]
        if one.error is None and one.is_within_budget and one.missing_reached
    ]
    if not able:
        return f"Within {each.view_tokens:,} tokens no strategy here would have kept any of it."
    best = max(able, key=lambda one: (one.missing_reached, not one.is_control, -one.tokens))
    handle = ""
    if best.recoverable:
        handle = f"; {best.recoverable:,} of all {best.asked:,} needs only through a handle"
    return (
        f"Within the same {each.view_tokens:,} tokens {best.label} would have kept "
        f"{best.missing_reached:,} of {n_missing:,}, in {best.tokens:,}{handle}."
    )


def _honesty(each: BoundaryAudit) -> str:
    found = each.survived
    if each.kind == "micro":
        return "No summary was written, so nothing was invented."
    if not each.is_readable:
        return "The log has no text of the summary: what it keeps and invents cannot be checked."
    if not found.written_references:
        return "The summary names nothing exact."
    names = f"The summary names {counted(found.written_references, 'reference')}"
    if not found.unsupported:
        return f"{names}; all stand before it."
    verb = "stands" if found.unsupported == 1 else "stand"
    drifted = f", {found.drifted:,} of them a known key with another value" if found.drifted else ""
    return f"{names}; {found.unsupported:,} {verb} nowhere before it{drifted}."


def _also_survived(found: Survived, how_far: str) -> Iterator[str]:
    if found.constraints:
        yield (
            f"Of {counted(found.constraints, 'standing instruction')} no longer there, "
            f"{found.constraints_kept:,} {'is' if found.constraints_kept == 1 else 'are'} repeated"
            f"{how_far}."
        )
    if found.tasks:
        ticked = f", {found.tasks_ticked:,} told as done" if found.tasks_ticked else ""
        kept = f"{found.tasks_kept:,} repeated"
        yield f"Of {counted(found.tasks, 'open task')}, {kept}{ticked}{how_far}."
    if found.files_stale or found.files_lost:
        files = counted(found.files, "file or folder", "files and folders")
        yield (
            f"Of {files} read, searched or changed before, {found.files_lost:,} no longer named, "
            f"{found.files_stale:,} without the last state{how_far}."
        )


def _names(each: BoundaryAudit) -> Iterator[str]:
    """Name what was missing, read again and invented, where text is shown."""
    cost = each.reacquired
    if not each.is_text_shown:
        return
    if missing := [f"{line.name} (+{line.after_requests})" for line in each.missing]:
        yield f"Missing, and how many requests later: {cut(missing)}"
    if unseen := [line.name for line in each.lines if line.outcome == "unseen"]:
        yield f"Cannot be judged: {cut(unseen)}"
    if cost.names:
        yield f"Read or run again: {cut(list(cost.names))}"
    if invented := [name for name, _ in each.survived.invented]:
        yield f"Nowhere before the summary: {cut(invented)}"
