"""What a setting saves, costs and loses, as the end of the sentence that names it."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from evals.stats import bootstrap_interval, clustered
from reports.frames import Run, estimate_of
from reports.intervals import Estimate
from reports.wording import count, percent, plural, points


def numbers_of(run: Run, provenance: str, line: Mapping[str, Any]) -> str:
    reach, difference = estimate_of(line, "compared_reach"), estimate_of(line, "reach_difference")
    text = (
        f"saves {percent(line['shown_saving'])} % of the input tokens{_per_transcript(line)}"
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
            f"{line['engaged']:,} of all, {line['reach_n']:,} of those with needs"
        )
    if reach.n < line["reach_n"]:
        text += f"; truncation was measured at its saving on {reach.n:,}"
    return f"{text}. {_lost(run, provenance, line)}"


def _lost(run: Run, provenance: str, line: Mapping[str, Any]) -> str:
    """Say how many needs are lost, of those of the transcripts that all other numbers are of."""
    each = run.each(provenance, line["label"]).dropna(subset=["compared_reach"])
    lost, undeclared = each["lost"].sum(), each["undeclared"].sum()
    open_ones = (
        f", {count(undeclared)} more are visible nowhere in code that does not say whether it can "
        "give them back"
        if undeclared
        else ""
    )
    return (
        f"Of all {count(each['needs'].sum())} needs in {_these(len(each))}, {count(lost)} are lost "
        f"(not visible, not recoverable, not to be had by repeating a call){open_ones}."
    )


def _these(n: int) -> str:
    return "that transcript" if n == 1 else f"these {n:,} transcripts"


def _dollars(run: Run, provenance: str, line: Mapping[str, Any]) -> str:
    """Say what becomes of the dollars, which often go another way than the tokens."""
    saved = line["shown_usd_saving"]
    if saved is None or pd.isna(saved):
        return ""
    each = run.each(provenance, line["label"]).dropna(subset=["compared_reach"])
    before, after = each["cost_before_usd"], each["cost_after_usd"]
    ends = _dollar_interval(each, after - before if saved < 0 else before - after)
    if saved >= 0:
        return f" and {percent(saved)} % of the dollars{ends}"
    has_cheap_views = after.sum() - each["own_calls_usd"].sum() <= before.sum()
    why = "of its own model calls" if has_cheap_views else "of the prompt cache"
    return f" but COSTS {percent(-saved)} % MORE dollars{ends}, because {why}"


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
    found = estimate_of(line, "compared_saving")
    if found.low is None or found.high is None:
        return ""
    ends = f"{percent(found.low)} to {percent(found.high)}"
    return f" (on average {percent(found.mean)} % per transcript, 95 % interval {ends})"


def _interval(found: Estimate) -> str:
    return "" if found.low is None or found.high is None else _ends(found.low, found.high)


def _ends(low: float, high: float) -> str:
    return f" (95 % interval {percent(low)} to {percent(high)})"
