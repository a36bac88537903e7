"""An audit in words: the same sections for terminal, Markdown and page.

Every sentence is made of numbers of `evals.audit.values`; nothing is stated that was not counted.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from evals.audit.checks import NOT_MET, checks_of
from evals.audit.findings import NEARLY_ALL_FRACTION, findings_of
from evals.audit.tables import Grid, contestants, fires
from evals.audit.values import Audit, BoundaryAudit, Contestant, SessionAudit
from evals.audit.words import counted, dollars

CAVEATS: Final = (
    "Needs: references that were used after a boundary and that a tool result or user message had "
    "brought before it. Reached: with its line, restated, or in the store behind a handle. Named: "
    "only mentioned. Gone: none of these. Tables ask the view right after the boundary, so what is "
    "gone there is lost only if it was used before it was read again; read again in time it is a "
    "cost. Unseen: gone from the log, but more was sent than the log holds, so nobody can say. Of "
    "missing: of what was gone after the recorded compaction.",
    "Nowhere before (in files): references that a strategy wrote and nothing before has. Its own "
    "headings and names that it cut short count too.",
    "Other strategies get the same history and the tokens of what was really sent; what the agent "
    "did is held fixed. In brackets: the part of these tokens that a strategy used; it is set to "
    "use as many as fit, and what it leaves its own rules leave. Summaries are extractive unless "
    "--model is given. identity sends everything, drop_all the instructions and the last user "
    "message.",
    "Tokens at boundaries are counted with o200k_base; those read again are scaled to what the "
    "provider reported, and priced as {prices}.",
)


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    level: int
    """1 for the whole, 2 for a session, 3 for a boundary."""
    findings: tuple[str, ...] = ()
    grid: Grid | None = None


def sections_of(audit: Audit) -> list[Section]:
    """Return everything that is said, what matters most first."""
    compacted = [each for each in audit.sessions if each.is_compacted]
    compacted.sort(key=_weight, reverse=True)
    plain = [each for each in audit.sessions if not (each.is_compacted or each.error)]
    elsewhere = {each.conversation for each in compacted}
    others = [each for each in plain if each.conversation not in elsewhere]
    boundaries = [boundary for each in compacted for boundary in each.boundaries]
    checks = tuple(checks_of(boundaries)) if boundaries else ()
    overall = (*_overall(audit), *_unmet(checks))
    sections = [Section("Audit of recorded compactions", 1, overall)]
    for session in compacted:
        beside = [each for each in plain if each.conversation == session.conversation]
        said = (*_unused(session), *_beside(session, compacted, beside))
        sections.append(Section(_session_title(session), 2, said))
        sections += [
            Section(_boundary_title(each), 3, tuple(findings_of(each)), contestants(each))
            for each in session.boundaries
        ]
    if others:
        findings = (_what_fires(others),)
        sections.append(Section("Conversations without a compaction", 2, findings, fires(others)))
    if checks:
        sections.append(Section("Checks of this audit", 2, checks))
    if boundaries:
        sections.append(Section("How to read this", 2, tuple(_notes(audit))))
    return sections


def _notes(audit: Audit) -> Iterator[str]:
    prices = ", ".join(sorted({each.priced_model for each in audit.sessions if each.boundaries}))
    yield from (note.format(prices=prices) for note in CAVEATS)
    judged = [each for each in audit.sessions if each.boundaries]
    requests = counted(sum(each.requests for each in judged), "request")
    if n_counted := sum(each.counted_outputs for each in judged):
        yield (
            f"Answers of {n_counted:,} of {requests} are priced by the tokens that they hold: the "
            "logs have no number, or less."
        )
    told = [each.price_file_used for each in judged if each.price_file_used is not None]
    if told:
        yield f"Price file: used for {sum(told):,} of {counted(len(told), 'session')}."
    if not audit.show_text:
        yield "Names of what was lost are shown with --show-text."


def _overall(audit: Audit) -> Iterator[str]:
    found = [each for session in audit.sessions for each in session.boundaries]
    unused = sum(len(session.unused) for session in audit.sessions)
    all_of = {session.identity for session in audit.sessions}
    n_files = len({session.source for session in audit.sessions})
    in_files = f" in {counted(n_files, 'file')}" if n_files > len(all_of) else ""
    hidden = sum(not each.is_readable for each in found)
    yield (
        f"{counted(len(all_of), 'session')}{in_files}, {len(_compacted(audit)):,} of them "
        "compacted; "
        f"{counted(len(found) - hidden, 'compaction')} that can be judged"
        f"{f', {hidden:,} whose summary cannot be read' if hidden else ''}"
        f"{f', {unused:,} about which nothing can be asked' if unused else ''}."
    )
    for text in audit.refused:
        yield f"Not read: {text}"
    for session in audit.sessions:
        if session.error:
            yield f"Failed: {session.transcript} ({session.source}): {session.error}"
    if not found:
        return
    yield _total_cost(found)
    readable = [each for each in found if each.is_readable]
    if readable:
        yield _total_needs(readable)
    yield from _unreadable([each for each in found if not each.is_readable])
    best = _best_overall(readable)
    if best:
        yield best
    fewest = [
        each.clearing
        for each in found
        if each.clearing and each.clearing.tokens <= NEARLY_ALL_FRACTION * each.history_tokens
    ]
    if len(fewest) > 1:
        keep = max(each.keep_last_results for each in fewest)
        yield (
            f"Keeping the last {keep:,} tool results would have kept everything that was missing "
            f"at {counted(len(fewest), 'boundary', 'boundaries')}."
        )


def _unmet(checks: Sequence[str]) -> Iterator[str]:
    unmet = sum(line.startswith(NOT_MET) for line in checks)
    if unmet:
        yield (
            f"{counted(unmet, 'check')} of this audit {'is' if unmet == 1 else 'are'} not met: do "
            "not trust these numbers before you know why (Checks of this audit, below)."
        )


def _compacted(audit: Audit) -> set[str]:
    """Return the sessions of which at least one file holds a compaction."""
    return {each.identity for each in audit.sessions if each.is_compacted}


def _weight(session: SessionAudit) -> tuple[float, int]:
    """Return what forgetting cost in a session, for the order: dollars, then missing needs."""
    found = session.boundaries
    return sum(b.reacquired.usd for b in found), sum(len(b.missing) for b in found)


def _total_cost(found: Sequence[BoundaryAudit]) -> str:
    calls = sum(each.reacquired.calls for each in found)
    if not calls:
        return "Nothing was read or run again that had been there before a compaction."
    tokens = sum(each.reacquired.tokens for each in found)
    usd = sum(each.reacquired.usd for each in found)
    only = sum(each.reacquired.requests_only for each in found)
    return (
        f"Forgetting cost {counted(calls, 'call')} that read or ran again what had been there: "
        f"{tokens:,.0f} tokens, {dollars(usd)}, {counted(only, 'request')} for nothing else."
    )


def _total_needs(found: Sequence[BoundaryAudit]) -> str:
    asked = sum(each.needs.asked for each in found)
    if not asked:
        return "Nothing that was used after a compaction came from before it."
    kept = sum(each.needs.kept for each in found)
    named = sum(each.needs.named for each in found)
    read = sum(each.needs.read_again for each in found)
    lost = sum(each.needs.lost for each in found)
    unseen = sum(each.needs.unseen for each in found)
    return (
        f"Of {counted(asked, 'reference')} needed afterwards the recorded compactions kept "
        f"{kept:,}, named {named:,}, left {read:,} to be read again and lost {lost:,}"
        f"{f'; {unseen:,} cannot be judged' if unseen else ''}."
    )


def _unreadable(found: Sequence[BoundaryAudit]) -> Iterator[str]:
    if not found:
        return
    asked = sum(each.needs.asked for each in found)
    judged = sum(each.needs.kept + each.needs.named for each in found)
    visibly = f", {judged:,} kept or named in messages that were sent on" if judged else ""
    yield (
        f"{counted(len(found), 'compaction')} with a summary that cannot be read (encrypted, or "
        f"empty): of {counted(asked, 'reference')} needed after "
        f"{'it' if len(found) == 1 else 'them'}{visibly}, {asked - judged:,} not judged."
    )


def _best_overall(found: Sequence[BoundaryAudit]) -> str | None:
    """Name the strategy that would have kept most at the same sizes, where it fits into them."""
    totals: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for boundary in found:
        for each in boundary.contestants[1:]:
            if each.error is None and not each.is_control and each.is_within_budget:
                totals[_name(each)] += Counter(
                    fits=1,
                    asked=each.asked,
                    reached=each.reached,
                    recoverable=each.recoverable,
                    recorded=boundary.contestants[0].reached,
                    unseen=boundary.needs.unseen,
                )
    others = [one for boundary in found for one in boundary.contestants[1:]]
    if all(one.is_control or one.error for one in others) or not any(
        boundary.needs.asked for boundary in found
    ):
        return None
    if not totals:
        return "No strategy here could be made as small as the recorded compactions."
    name, total = max(
        totals.items(),
        key=lambda item: (
            item[1]["reached"] - item[1]["recorded"],
            -item[1]["recoverable"],
            item[1]["fits"],
        ),
    )
    if total["reached"] <= total["recorded"]:
        return "No strategy here that fits into the same sizes would have kept more."
    handle = (
        f" ({total['recoverable']:,} only through a handle, a request each)"
        if total["recoverable"]
        else ""
    )
    fits = (
        ""
        if total["fits"] == len(found)
        else f", where it fits ({counted(total['fits'], 'boundary', 'boundaries')}),"
    )
    unseen = f" and up to {total['unseen']:,} that the log does not show" if total["unseen"] else ""
    return (
        f"Within the same sizes{fits} {name} would have kept {total['reached']:,} of "
        f"{total['asked']:,}{handle}, the recorded compactions {total['recorded']:,}{unseen}."
    )


def _name(contestant: Contestant) -> str:
    """Return a contestant's label without what was set for one boundary."""
    name = contestant.label
    for key, value in contestant.was_set.items():
        name = name.replace(f", {key}={value}", "").replace(f"{key}={value}", "")
    return name.replace("(, ", "(").removesuffix("()")


def _session_title(session: SessionAudit) -> str:
    return (
        f"{session.transcript} ({session.source}): {counted(session.requests, 'request')}, "
        f"largest input {session.peak_tokens:,} tokens"
    )


def _boundary_title(each: BoundaryAudit) -> str:
    kind = "Compaction" if each.kind == "full" else "Clearing of results"
    trigger = f" ({each.trigger})" if each.trigger else ""
    return (
        f"{kind} {each.number}{trigger} before request {each.before_request:,} (from 0): "
        f"{each.history_tokens:,} tokens became {each.view_tokens:,}; "
        f"{counted(each.requests_after, 'request')} after it"
    )


def _unused(session: SessionAudit) -> Iterator[str]:
    for each in session.unused:
        size = f" of {each.tokens_before:,} tokens" if each.tokens_before else ""
        yield f"A compaction{size} cannot be judged: {each.reason}."


def _beside(
    session: SessionAudit, compacted: Sequence[SessionAudit], plain: Sequence[SessionAudit]
) -> Iterator[str]:
    """Name, once, the files of a conversation that hold none of its compactions."""
    first = next(each for each in compacted if each.conversation == session.conversation)
    if session is first:
        for each in plain:
            size = counted(each.requests, "request")
            yield f"Another file of it holds no compaction: {each.source} ({size})."


def _what_fires(sessions: Sequence[SessionAudit]) -> str:
    return (
        f"{counted(len(sessions), 'conversation')} in which nothing was compacted. Below: before "
        "which request (counted from 0), at how many input tokens, a strategy would first have "
        "done something, and what: as it is, and with half of the session's largest input as its "
        "threshold (half). "
        "my_pi_agent and three_layer clear, snip and offload before their threshold, and decide by "
        "characters; my_pi_agent summarizes from 80 % of it."
    )
