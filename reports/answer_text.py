"""What a setting saves, costs and loses, as the end of the sentence that names it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from evals.stats import TIE, bootstrap_interval, clustered
from reports.aggregates import priced_of
from reports.columns import reached_of
from reports.confirm import ALPHA
from reports.frames import Run, estimate_of
from reports.intervals import Estimate
from reports.proof import best_p, detectable
from reports.wording import clean, count, listed, percent, plural, points


def numbers_of(run: Run, provenance: str, line: Mapping[str, Any]) -> str:
    """Name the numbers of the table as the table does, and over the same transcripts."""
    reach, difference = estimate_of(line, "reach"), estimate_of(line, "reach_difference")
    text = (
        f"saves {percent(line['saving_ratio'])} % of the input tokens{_per_transcript(line)}"
        f"{_dollars(run, provenance, line)}, reaches "
        f"{percent(reach.mean)} % of the needs{_interval(reach)}, {points(difference.mean)} points "
        f"against truncation at the same saving{_interval(difference)}; "
        f"n = {plural(reach.n, 'transcript')}"
    )
    rows = run.rows[run.rows["provenance"] == provenance]
    with_needs, n = rows.loc[rows["needs"] > 0, "key"].nunique(), rows["key"].nunique()
    if reach.n < n:
        text += (
            f" of {n:,}: {with_needs:,} have needs over long gaps, and the setting engaged on "
            f"{line['engaged']:,} of all, {reach.n:,} of those with needs"
        )
    if difference.n < reach.n:
        text += (
            f"; truncation was measured at its saving on {difference.n:,}, where it reaches "
            f"{percent(line['compared_reach_mean'])} % and truncation "
            f"{percent(line['matched_reach'])} %"
        )
    return f"{text}. {_fates(line)}{_lowest(run, provenance, str(line['label']))}"


def _fates(line: Mapping[str, Any]) -> str:
    """Say what became of the needs of all transcripts that the reach is of."""
    reached = reached_of(line)
    parts = [
        f"{count(reached)} {'is' if reached == 1 else 'are'} reached",
        f"{count(line['mentioned'])} only mentioned as a bare word",
        f"{count(line['regenerable'])} to be had by repeating a call" * (line["regenerable"] > 0),
        f"{count(line['undeclared'])} visible nowhere in code that does not say whether it can "
        "give them back"
        if line["undeclared"]
        else "",
        f"{count(line['lost'])} lost",
    ]
    known = listed([part for part in parts if part])
    needs, these = count(line["needs"]), _these(line["reach_n"])
    return f"Counted together, of the {needs} needs in {these} {known}."


def _lowest(run: Run, provenance: str, label: str) -> str:
    """Name the transcript that pulls the mean down most; nothing where all are reached alike."""
    each = run.each(provenance, label).dropna(subset=["reach"])
    if each.empty or each["reach"].max() - each["reach"].min() <= TIE:
        return ""
    key = str(each["reach"].idxmin())
    reach, needs = each["reach"].min(), int(each["needs"][key])
    of_needs = f"{percent(reach)} % ({plural(needs, 'need')})"
    return f" The lowest reach is that of {clean(run.names[key], 60)}: {of_needs}."


def detectable_of(run: Run, provenance: str, best: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield how large a difference from truncation has to be for this corpus to show it."""
    found = detectable(run, provenance)
    if not found:
        return
    start = (
        "Smallest difference from truncation that this corpus would show in four of five cases, by "
        f"the test that decides (one-sided, {percent(ALPHA, 0)} %, a setting alone; Holm's "
        "adjustment for several asks for more):"
    )
    named = [] if best is None or best["label"] not in found else [_own(run, provenance, best)]
    over = [] if named and len(found) == 1 else [_spread(list(found.values()))]
    yield f"{start} {'; '.join([*named, *over])}."


def _own(run: Run, provenance: str, best: Mapping[str, Any]) -> str:
    label = str(best["label"])
    own = detectable(run, provenance)[label]
    if own is not None:
        return f"{percent(own)} points for {clean(label)}"
    if best_p(run, provenance, label) > ALPHA:
        return f"none for {clean(label)}: even a setting that lost nothing would not show"
    return f"none for {clean(label)}, which scatters too much"


def _spread(each: Sequence[float | None]) -> str:
    known = [value for value in each if value is not None]
    settings = plural(len(each), "setting")
    if not known:
        return f"none for any of {settings}"
    ends = f"{percent(min(known))} to {percent(max(known))} points"
    if len(known) == len(each):
        return f"{ends} over the {settings}"
    return f"{ends} over {len(known):,} of {settings}, none for the others"


def _these(n: int) -> str:
    return "that transcript" if n == 1 else f"these {n:,} transcripts"


def _dollars(run: Run, provenance: str, line: Mapping[str, Any]) -> str:
    """Say what becomes of the dollars, which often go another way than the tokens."""
    saved = line["usd_saving"]
    if saved is None or pd.isna(saved):
        return ""
    each = priced_of(run.each(provenance, line["label"]))
    before, after = each["cost_before_usd"], each["cost_after_usd"]
    notes = [
        _dollar_interval(each, after - before if saved < 0 else before - after),
        f"dearer on {line['dearer']:,} of {plural(line['priced'], 'transcript')}"
        if line["dearer"]
        else "",
        "of those with a price" * (line["priced"] < line["scored"]),
    ]
    said = "; ".join(filter(None, notes))
    aside = f" ({said})" if said else ""
    if saved >= 0:
        return f" and {percent(saved)} % of the dollars{aside}"
    has_cheap_views = after.sum() - each["own_calls_usd"].sum() <= before.sum()
    why = "of its own model calls" if has_cheap_views else "of the prompt cache"
    return f" but COSTS {percent(-saved)} % MORE dollars{aside}, because {why}"


def _dollar_interval(each: pd.DataFrame, dollars: pd.Series) -> str:
    """Return the interval of the dollars saved, or spent more, over the bill without compaction."""
    before = each["cost_before_usd"]
    if (before <= 0).any():
        return ""
    names = each["cluster"].astype(str).tolist()
    found = bootstrap_interval(clustered(dollars.tolist(), names, before.tolist()))
    return "" if found is None else _ends(found.low, found.high)


def _per_transcript(line: Mapping[str, Any]) -> str:
    """Say what an interval is about: a mean of transcripts, where the saving is of their sum."""
    found = estimate_of(line, "saving_fraction")
    if found.low is None or found.high is None:
        return ""
    return f" (on average {percent(found.mean)} % per transcript, {_ends(found.low, found.high)})"


def _interval(found: Estimate) -> str:
    return "" if found.low is None or found.high is None else f" ({_ends(found.low, found.high)})"


def _ends(low: float, high: float) -> str:
    return f"95 % interval {percent(low)} to {percent(high)}"
