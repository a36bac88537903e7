"""A recommendation as text for the terminal."""

from collections.abc import Iterator, Sequence
from textwrap import indent
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from evals.stats import MIN_CLUSTERS
from reports.candidates import Candidate
from reports.configuration import Configuration, configurations
from reports.confirm import ALPHA, Confirmation
from reports.recommend import NEAR_FRACTION, Recommendation
from reports.recommend_table import FrontTable, cost_text
from reports.wording import clean, listed, percent, plural

EXPLANATION: Final = (
    "Settings that no other beats in cost and reach, = for ties. Cost: of all transcripts. Saved: "
    "input tokens, %. Reach: share of needs over long gaps, %, mean over the transcripts with any; "
    "a transcript on which a setting did nothing counts. Bound: one-sided 95 % lower bound over "
    "all sessions, not corrected for the choice among settings. Worst: least of any transcript. "
    "Truncation: reach of plain truncation at the same saving. Best: the most that a choice of "
    "whole messages could reach with the same tokens. For both: the setting's own reach if they "
    "are known on fewer transcripts, and their number."
)
MAX_LEFT_OUT: Final = 6
DEARER: Final = (
    "IT COSTS NO LESS than no compaction, because what it changes is read from no cache: leave "
    "compaction off as long as the conversation fits into the model's window."
)
DEARER_BY_CALLS: Final = (
    "IT COSTS NO LESS than no compaction, because of its own model calls: leave compaction off as "
    "long as the conversation fits into the model's window, or let a cheaper model summarise."
)
REFUTED: Final = (
    "NOT CONFIRMED: the sessions that were held out do not bear this choice out. Its configuration "
    "is printed to try it on more sessions, not to use it."
)
UNTESTED: Final = (
    "NOT CONFIRMED: there are too few sessions to hold any out. Its configuration is printed to "
    "try it on more sessions."
)
MANY_TRIES: Final = "The best of many tries looks better than it is."
NOT_ALL: Final = "Recorded actions are held fixed: what the agent would have done is not measured."


def terminal(found: Sequence[Recommendation]) -> RenderableType:
    """Return what to print with `crop=False`: a configuration is for copying, whole."""
    if not found:
        return Text("No strategy has a row in this run, at most controls: nothing to recommend.")
    parts: list[RenderableType] = []
    for each in found:
        parts += [Text(title(each), style="bold"), *map(Text, sentences(each)), Text("")]
        if each.pareto:
            parts += [FrontTable(each), Text("")]
        if each.chosen is not None:
            if not each.is_confirmed:
                label = REFUTED if each.is_refuted else UNTESTED
                parts += [Text(label, style="bold"), Text("")]
            for form in configurations_of(each.chosen):
                parts += [*_written(form), Text("")]
    if any(each.pareto for each in found):
        parts += [Text(EXPLANATION, style="dim"), Text(NOT_ALL, style="dim")]
    return Group(*parts)


def title(each: Recommendation) -> str:
    return (
        f"{each.provenance}: {plural(each.n_transcripts, 'transcript')}, {each.n_with_needs:,} "
        f"with needs over long gaps in {plural(each.n_clusters, 'session')}"
    )


def sentences(each: Recommendation) -> Iterator[str]:
    """Yield what is recommended, why, and how far it can be trusted."""
    yield _verdict(each)
    if not each.allows_claims and each.n_clusters:
        yield (
            f"n too small for claims: {plural(each.n_clusters, 'session')}, at least "
            f"{MIN_CLUSTERS} are needed. The numbers are exact for these transcripts and say "
            "nothing about others."
        )
    if each.chosen is not None:
        if each.chosen.is_dearer:
            yield DEARER_BY_CALLS if each.chosen.is_dearer_by_its_calls else DEARER
        yield from _beside(each.chosen)
        yield from _near(each)
        if not each.allows_claims:
            values = ", ".join(
                f"{clean(name, 60)} {percent(v)}" for name, v in each.chosen.values()
            )
            yield f"Its reach by transcript, %: {values}."
    elif each.pareto:
        yield f"Without compaction the cost is {cost_text(each.cost_before, each.unit)}."
    yield from _confirmed(each)
    yield from _left_out(each)


def _verdict(each: Recommendation) -> str:
    wanted = f"{percent(each.min_reach)} %"
    if each.reason_for_none is not None:
        return each.reason_for_none
    if not each.n_with_needs:
        text = "No needs over long gaps were found in what was scored"
        return f"{text}, so what a setting loses cannot be told."
    if each.chosen is None:
        return _none(each, wanted)
    chosen = each.chosen
    cost = (
        f"{cost_text(chosen.cost, each.unit)} instead of "
        f"{cost_text(each.cost_before, each.unit)} without compaction, "
        f"{percent(chosen.saving)} % of the input tokens saved"
    )
    if not each.allows_claims:
        name, value = chosen.worst
        return (
            f"{clean(chosen.label)}: of the settings that reach at least {wanted} on every one of "
            f"these transcripts the cheapest, {cost}. Its worst is {clean(name, 60)} with "
            f"{percent(value)} %, its mean {percent(chosen.reach)} %."
        )
    return (
        f"{clean(chosen.label)}: {_place(each)} 95 % lower bound of reach is at least "
        f"{wanted}{_half(each)}, {cost}. Over all sessions it reaches {percent(chosen.reach)} % "
        f"(lower bound {percent(chosen.lower)} %)."
    )


def _place(each: Recommendation) -> str:
    """Say what the chosen setting is: the cheapest, or one beside it that was confirmed."""
    tests = () if each.confirmation is None else each.confirmation.tests
    if each.chosen is None or not tests or tests[0].label == each.chosen.label:
        return "the cheapest whose"
    cheapest = clean(tests[0].label)
    return f"confirmed, and near-equal to {cheapest}, which is not and is the cheapest whose"


def _half(each: Recommendation) -> str:
    return "" if each.confirmation is None else " on the discovery half"


def _none(each: Recommendation, wanted: str) -> str:
    if (nearest := each.nearest) is None:
        return "No setting was measured on the transcripts with needs, so none is recommended."
    if not each.allows_claims:
        return (
            f"No setting reaches {wanted} on every one of these transcripts. The closest is "
            f"{clean(nearest.label)}: {percent(nearest.worst[1])} % on its worst."
        )
    return (
        f"No setting has a 95 % lower bound of reach of {wanted}{_half(each)}. The closest over "
        f"all sessions is {clean(nearest.label)} with {percent(nearest.lower)} %."
    )


def _beside(chosen: Candidate) -> Iterator[str]:
    for name, found in (
        ("Truncation at the same saving", chosen.truncation),
        ("The best choice of whole messages with the same tokens", chosen.oracle),
    ):
        if found is None:
            yield f"{name} is not known here."
            continue
        yield (
            f"{name} reaches {percent(found.other)} % where it reaches {percent(found.reach)} %; "
            f"n = {plural(found.n, 'transcript')}."
        )
    if (found := chosen.truncation) is not None and found.other >= found.reach:
        yield "That is no more than truncation: keeping only the newest messages does as well."


def _near(each: Recommendation) -> Iterator[str]:
    others = [item for item in each.near if item is not each.chosen]
    within = f"within {percent(NEAR_FRACTION, 0)} % in cost and {percent(NEAR_FRACTION, 0)} point"
    if not others:
        yield f"No other setting is {within} in reach of it."
        return
    names = listed([clean(item.label) for item in others], 6)
    yield f"Near-equal ({within} in reach): {names}."
    for name, values in ranges_of(each.near).items():
        yield f"  {name}: {', '.join(values)}"


def ranges_of(near: Sequence[Candidate]) -> dict[str, list[str]]:
    """Return the parameters in which near-equal settings differ, with their values in order."""
    found: dict[str, list[str]] = {}
    for name in dict.fromkeys(key for each in near for key in each.parameters):
        values = {each.parameters.get(name, "default") for each in near}
        if len(values) > 1:
            found[name] = sorted(values, key=_in_order)
    return found


def _in_order(text: str) -> tuple[int, float, str]:
    try:
        return 0, float(text.removesuffix("%")), text
    except ValueError:
        return 1, 0.0, text


def _confirmed(each: Recommendation) -> Iterator[str]:
    found = each.confirmation
    if found is None:
        if each.allows_claims and each.chosen is not None:
            yield f"Not confirmed on held-out sessions: {_what_it_takes(each)}. {MANY_TRIES}"
        return
    if not found.tests:
        return
    yield from _tests(found, each.min_reach)


def _what_it_takes(each: Recommendation) -> str:
    if each.n_to_confirm is None:
        return f"no number of sessions confirms {percent(each.min_reach)} % without a margin"
    return f"that takes {each.n_to_confirm} with needs, there are {each.n_clusters}"


def _tests(found: Confirmation, min_reach: float) -> Iterator[str]:
    yield (
        f"Chosen on {found.n_discovery} sessions, tested on {found.n_held_out} others against a "
        f"reach of {percent(min_reach)} % with a margin of {percent(found.margin)} points, "
        f"one-sided at {percent(ALPHA)} %; p adjusted (Holm) for "
        f"{plural(len(found.tests), 'setting')}:"
    )
    for each in found.tests:
        word = "confirmed" if each.is_confirmed else "not confirmed"
        yield (
            f"  {clean(each.label)}: {percent(each.reach)} % (95 % lower bound "
            f"{percent(each.lower)} %, as if one more session lost all), p = {each.p_holm:.3f}, "
            f"n = {plural(each.n, 'transcript')}: {word}"
        )


def _left_out(each: Recommendation) -> Iterator[str]:
    if each.left_out:
        texts = [f"{clean(item.label)}: {clean(item.reason)}" for item in each.left_out]
        yield f"Left out: {listed(texts, MAX_LEFT_OUT)}."


def configurations_of(chosen: Candidate) -> tuple[Configuration, ...]:
    given = {name: chosen.resolved.get(name) for name in chosen.parameters}
    return configurations(chosen.strategy, chosen.resolved, given=given, varying=chosen.varying)


def _written(form: Configuration) -> Iterator[RenderableType]:
    yield Text(f"{form.framework}:", style="bold")
    yield Text(indent(form.text, "  "), overflow="ignore", no_wrap=True)
    for note in form.notes:
        yield Text(f"  - {clean(note, 300)}", style="dim")
