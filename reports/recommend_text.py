"""A recommendation as text for the terminal, and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from textwrap import indent
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from evals.stats import MIN_CLUSTERS, MIN_CLUSTERS_CONFIRMING
from reports.candidates import Candidate
from reports.configuration import Configuration, configurations
from reports.confirm import CONFIRMING_ALPHA, Confirmation
from reports.recommend import NEAR_FRACTION, Recommendation
from reports.recommend_table import FrontTable, cost_text
from reports.wording import clean, listed, percent, plural

EXPLANATION: Final = (
    "Settings that no other beats in cost and reach, = for ties. Cost: of all transcripts. Saved: "
    "input tokens, %. Reach: share of needs over long gaps, %, mean over the transcripts with any; "
    "a transcript on which a setting did nothing counts. Bound: one-sided 95 % lower bound over "
    "sessions. Worst: least of any transcript. Truncation: reach of plain truncation at the same "
    "saving. Best: the most that a choice of whole messages could reach with the same tokens. For "
    "both: the setting's own reach if they are known on fewer transcripts, and their number."
)
MAX_LEFT_OUT: Final = 6
DEARER: Final = (
    "It costs no less than no compaction, because what it changes is read from no cache: leave "
    "compaction off as long as the conversation fits into the model's window."
)
REFUTED: Final = (
    "NOT CONFIRMED: the sessions that were held out do not bear this choice out. Its configuration "
    "is printed to try it on more sessions, not to use it."
)
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
            if each.is_refuted:
                parts += [Text(REFUTED, style="bold"), Text("")]
            for form in _configurations(each.chosen):
                parts += [*_written(form), Text("")]
    return Group(*parts, Text(EXPLANATION, style="dim"), Text(NOT_ALL, style="dim"))


def as_json(found: Sequence[Recommendation]) -> dict[str, Any]:
    return {"recommendations": [_json(each) for each in found]}


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
        if each.chosen.cost >= each.cost_before:
            yield DEARER
        yield from _beside(each.chosen)
        yield from _near(each)
        if not each.allows_claims:
            values = ", ".join(
                f"{clean(name, 60)} {percent(v)}" for name, v in each.chosen.values()
            )
            yield f"Its reach by transcript, %: {values}."
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
    where = "" if each.confirmation is None else " on the discovery half"
    return (
        f"{clean(chosen.label)}: the cheapest whose 95 % lower bound of reach is at least "
        f"{wanted}{where}, {cost}. Over all sessions it reaches {percent(chosen.reach)} % (lower "
        f"bound {percent(chosen.lower)} %)."
    )


def _none(each: Recommendation, wanted: str) -> str:
    if each.nearest is None:
        return "No setting worked without fault on every transcript, so none is recommended."
    nearest = each.nearest
    if not each.allows_claims:
        return (
            f"No setting reaches {wanted} on every one of these transcripts. The closest is "
            f"{clean(nearest.label)}: {percent(nearest.worst[1])} % on its worst."
        )
    half = "" if each.confirmation is None else " on the discovery half"
    return (
        f"No setting has a 95 % lower bound of reach of {wanted}{half}. The closest over all "
        f"sessions is {clean(nearest.label)} with {percent(nearest.lower)} %."
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
    if not others:
        yield f"No other setting is within {percent(NEAR_FRACTION, 0)} % of it in cost and reach."
        return
    names = listed([clean(item.label) for item in others], 6)
    yield f"Near-equal (within {percent(NEAR_FRACTION, 0)} % in cost and reach): {names}."
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
        if each.allows_claims:
            yield (
                "Not confirmed on held-out sessions: "
                f"that takes {2 * MIN_CLUSTERS_CONFIRMING}, there are {each.n_clusters}. The best "
                "of many "
                "tries looks better than it is."
            )
        return
    if not found.tests:
        return
    yield from _tests(found, each.min_reach)


def _tests(found: Confirmation, min_reach: float) -> Iterator[str]:
    yield (
        f"Chosen on {found.n_discovery} sessions, confirmed on {found.n_held_out} others against a "
        f"reach of {percent(min_reach)} % with a margin of {percent(found.margin)} points, "
        f"one-sided at {percent(CONFIRMING_ALPHA)} %; p adjusted (Holm) for "
        f"{plural(len(found.tests), 'setting')}:"
    )
    for each in found.tests:
        word = "confirmed" if each.is_confirmed else "not confirmed"
        yield (
            f"  {clean(each.label)}: {percent(each.reach)} % (lower end of its 95 % interval "
            f"{percent(each.lower)} %), {each.verdict}, p = {each.p_holm:.3f}, "
            f"n = {plural(each.n, 'transcript')}: {word}"
        )


def _left_out(each: Recommendation) -> Iterator[str]:
    if each.left_out:
        texts = [f"{clean(item.label)}: {clean(item.reason)}" for item in each.left_out]
        yield f"Left out: {listed(texts, MAX_LEFT_OUT)}."


def _configurations(chosen: Candidate) -> tuple[Configuration, ...]:
    given = {name: chosen.resolved.get(name) for name in chosen.parameters}
    return configurations(chosen.strategy, chosen.resolved, given=given, varying=chosen.varying)


def _written(form: Configuration) -> Iterator[RenderableType]:
    yield Text(f"{form.framework}:", style="bold")
    yield Text(indent(form.text, "  "), overflow="ignore", no_wrap=True)
    for note in form.notes:
        yield Text(f"  - {clean(note, 300)}", style="dim")


def _json(each: Recommendation) -> dict[str, Any]:
    chosen = each.chosen
    return {
        "provenance": each.provenance,
        "unit": each.unit,
        "min_reach": each.min_reach,
        "transcripts": each.n_transcripts,
        "with_needs": each.n_with_needs,
        "sessions": each.n_clusters,
        "allows_claims": each.allows_claims,
        "is_refuted": each.is_refuted,
        "cost_before": each.cost_before,
        "sentences": [*sentences(each)],
        "chosen": None if chosen is None else _candidate(chosen),
        "nearest": None if each.nearest is None else _candidate(each.nearest),
        "pareto": [[_candidate(item) for item in group] for group in each.pareto],
        "near_equal": {"labels": [item.label for item in each.near], **_ranges(each)},
        "confirmation": None if each.confirmation is None else _confirmation(each.confirmation),
        "left_out": [asdict(item) for item in each.left_out],
        "configurations": []
        if chosen is None
        else [asdict(form) for form in _configurations(chosen)],
    }


def _ranges(each: Recommendation) -> dict[str, Any]:
    return {"parameters": ranges_of(each.near)}


def _confirmation(found: Confirmation) -> dict[str, Any]:
    return asdict(found)


def _candidate(each: Candidate) -> dict[str, Any]:
    name, worst = each.worst
    return {
        "label": each.label,
        "strategy": each.strategy,
        "parameters": dict(each.parameters),
        "resolved": dict(each.resolved),
        "varying": {key: list(ends) for key, ends in each.varying.items()},
        "cost": each.cost,
        "saving_fraction": each.saving,
        "reach": each.reach,
        "lower_bound": each.lower,
        "worst": {"transcript": name, "reach": worst},
        "truncation": None if each.truncation is None else asdict(each.truncation),
        "best_choice": None if each.oracle is None else asdict(each.oracle),
        "n": each.n,
        "by_transcript": dict(each.values()),
    }
