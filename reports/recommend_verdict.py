"""The first sentence of a recommendation: what to choose, what it costs, and where it did anything.

A setting that does nothing on a transcript loses nothing there, so a reach over all of them says
little where it is seldom engaged. Both numbers stand together here.
"""

from math import floor

from evals.bounded import exceeded_by
from evals.stats import TIE
from reports.candidates import Candidate
from reports.choosing import sessions_to_name
from reports.recommend import Recommendation
from reports.recommend_table import cost_text
from reports.wording import clean, percent, plural


def verdict(each: Recommendation) -> str:
    wanted = f"{percent(each.min_reach)} %"
    if each.reason_for_none is not None:
        return each.reason_for_none
    if not each.n_with_needs:
        text = "No needs over long gaps were found in what was scored"
        return f"{text}, so what a setting loses cannot be told."
    if each.chosen is None:
        return _none(each, wanted)
    chosen = each.chosen
    cost = _cost(chosen, each)
    if not each.allows_claims:
        name, value = chosen.worst
        return (
            f"{_named(chosen)}: of the settings that reach at least {wanted} on every one of "
            f"these transcripts the cheapest, {cost}. Its worst is {clean(name, 60)} with "
            f"{percent(value)} %. {_over_all(chosen, each.min_reach)}"
        )
    return (
        f"{_named(chosen)}: {_place(each)} 95 % lower bound of reach is at least "
        f"{wanted}{_half(each)}, {cost}. {_over_all(chosen, each.min_reach)}"
    )


def _cost(candidate: Candidate, each: Recommendation) -> str:
    cost, before = (cost_text(x, each.unit) for x in (candidate.cost, each.cost_before))
    text = (
        f"yet no cheaper than no compaction: {cost} against {before}"
        if candidate.is_dearer
        else f"{cost} instead of {before} without compaction"
    )
    if n_dearer := candidate.n_dearer:
        text += f" (dearer on {n_dearer:,} of {plural(candidate.n_all, 'transcript')})"
    return f"{text}, {percent(candidate.saving)} % of the input tokens saved"


def _named(chosen: Candidate) -> str:
    """Name a setting and, if it did nothing somewhere, say where it did and what it reaches there.

    Whatever follows may be of all transcripts, and reads as the setting's merit.
    """
    if chosen.n_engaged == chosen.n_all:
        return clean(chosen.label)
    return (
        f"{clean(chosen.label)}, engaged on {chosen.n_engaged:,} of "
        f"{plural(chosen.n_all, 'transcript')} ({chosen.n_judged:,} of the {chosen.n:,} with "
        f"needs, where it reaches {percent(chosen.judged_reach)} %)"
    )


def _over_all(chosen: Candidate, min_reach: float) -> str:
    """Say what a setting reaches over all transcripts with needs, idle ones included."""
    bound = "" if chosen.lower is None else f" (lower bound {percent(chosen.lower)} %)"
    reaches = f"it reaches {percent(chosen.reach)} %{bound}"
    if chosen.n_engaged == chosen.n_all:
        return (
            f"It engaged on all {plural(chosen.n_all, 'transcript')}; over the {chosen.n:,} with "
            f"needs {reaches}."
        )
    idle = chosen.n - chosen.n_judged
    counted = f", {idle:,} on which it did nothing included" if idle else ""
    text = f"Over all {chosen.n:,} with needs{counted}, {reaches}."
    if (there := chosen.judged_reach) is not None and there + TIE < min_reach:
        text += f" Where it engaged it reaches less than the {percent(min_reach)} % asked for."
    return text


def values_of(chosen: Candidate) -> str:
    """List the reach by transcript."""
    idle = chosen.idle()
    return ", ".join(
        f"{clean(name, 60)} {percent(value)}{' (did nothing)' if name in idle else ''}"
        for name, value in chosen.values()
    )


def _place(each: Recommendation) -> str:
    """Say what the chosen setting is: the cheapest, or one beside it that was confirmed."""
    first = None if each.confirmation is None else each.confirmation.tests[0].label
    if each.chosen is None or first in (None, each.chosen.label):
        return "the cheapest whose"
    cheapest = clean(first)
    return f"confirmed, and near-equal to {cheapest}, which is not and is the cheapest whose"


def _half(each: Recommendation) -> str:
    return "" if each.confirmation is None else " on the discovery half"


def _none(each: Recommendation, wanted: str) -> str:
    if (nearest := each.nearest) is None:
        return "No setting was measured on the transcripts with needs, so none is recommended."
    if not each.allows_claims:
        return (
            f"No setting reaches {wanted} on every one of these transcripts. The closest is "
            f"{_named(nearest)}: {percent(nearest.worst[1])} % on its worst."
        )
    none = f"No setting has a 95 % lower bound of reach of {wanted}."
    why = _want_of_sessions(each, wanted) if each.is_for_want_of_sessions else none
    text = (
        f"{why} The closest is {_named(nearest)}: it reaches "
        f"{percent(nearest.reach)} % (lower bound {percent(nearest.lower)} %), "
        f"{_cost(nearest, each)}."
    )
    if (by_mean := each.by_mean) is None or by_mean is nearest:
        return text
    return (
        f"{text} By its mean alone the cheapest that reaches {wanted} is {_named(by_mean)}: "
        f"{percent(by_mean.reach)} % (lower bound {percent(by_mean.lower)} %), "
        f"{_cost(by_mean, each)}."
    )


def _want_of_sessions(each: Recommendation, wanted: str) -> str:
    if each.n_to_name is None:
        return f"No number of sessions supports a reach of {wanted} of others, so ask for less."
    sessions = plural(each.n_clusters, each.clusters_are)
    return (
        f"Too few sessions to name a setting: {sessions} that lose nothing support a reach of at "
        f"most {percent(exceeded_by(each.n_clusters))} %, and {wanted} takes at least "
        f"{each.n_to_name:,}.{_what_names_one(each)}"
    )


def _what_names_one(each: Recommendation) -> str:
    """Say what to ask for, where all sessions would decide that."""
    least = floor(100 * (each.nearest.lower or 0.0)) / 100 if each.nearest else 0.0
    halves = 2 * (sessions_to_name(least) or 0)
    return f" --min-reach {least:g} names one." if least and each.n_clusters < halves else ""


def detectable(each: Recommendation) -> str | None:
    """Say what so many sessions can show, by the test that decides."""
    candidate = each.chosen or each.nearest
    if candidate is None or not each.allows_claims or each.is_for_want_of_sessions:
        return None
    least = each.detectable
    takes = "no true reach" if least is None else f"a true reach of {percent(least)} %"
    return (
        f"Detectable: from {plural(each.n_deciding, each.clusters_are)} that scatter like those of "
        f"{clean(candidate.label)}, {takes} has a bound of {percent(each.min_reach)} % 4 times in "
        "5."
    )
