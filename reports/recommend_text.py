"""A recommendation as text for the terminal."""

from collections.abc import Iterator, Sequence
from textwrap import indent
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from evals.stats import MIN_CLUSTERS
from reports.candidates import Candidate
from reports.choosing import NEAR_FRACTION
from reports.configuration import Configuration
from reports.confirm import ALPHA, Confirmation
from reports.recommend import Recommendation
from reports.recommend_table import FrontTable, cost_text
from reports.recommend_verdict import detectable, values_of, verdict
from reports.self_checks import SelfCheck
from reports.tables import check_lines
from reports.wording import clean, listed, percent, plural

EXPLANATION: Final = (
    "Settings that no other beats in cost and reach, = for ties. Dearer: than no compaction, of "
    "all transcripts. Bound: of reach, one-sided 95 %, as if one more session lost all. "
    "Truncation, Best: reach of others with the same tokens. More in `recommend --help`."
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
    "NOT CONFIRMED: there are too few sessions to hold some out. Its configuration is printed to "
    "try it on more sessions."
)
MEDIANS: Final = (
    "What measures the medians as fixed sizes, in the units of this tool, on the same paths:"
)
BRACKETS: Final = (
    "No command here measures the size above. This one measures both ends of what it is in tokens "
    "as counted here, on the same paths; on each transcript it lies between them. If both reach "
    "enough, stay with the size above:"
)
MANY_TRIES: Final = "The best of many tries looks better than it is."
NOT_ALL: Final = "Recorded actions are held fixed: what the agent would have done is not measured."


def terminal(
    found: Sequence[Recommendation],
    checks: Sequence[SelfCheck] = (),
    *,
    all_forms: bool = False,
) -> RenderableType:
    """Return what to print with `crop=False`: a configuration is for copying, whole.

    Args:
        found: A recommendation for each provenance.
        checks: The self-checks of the run.
        all_forms: Print the setting for every framework that has it, and for this library.
    """
    parts: list[RenderableType] = []
    if not found:
        text = "No strategy has a row in this run, at most controls: nothing to recommend."
        parts.append(Text(text))
    for each in found:
        parts += [Text(title(each), style="bold"), *map(Text, sentences(each)), Text("")]
        if each.pareto:
            parts += [FrontTable(each), Text("")]
        if each.chosen is not None:
            if not each.is_confirmed:
                label = REFUTED if each.is_refuted else UNTESTED
                parts += [Text(label, style="bold"), Text("")]
            forms = each.configurations
            # The first, and those before it of which there is only the reason why there is none.
            first = next(at for at, form in enumerate(forms) if form.text)
            shown = forms if all_forms else forms[: first + 1]
            for form in shown:
                parts += [*_written(form), Text("")]
                if (command := each.measure.get(form.framework)) is not None:
                    parts += [*_to_measure(form, command), Text("")]
            if others := [form.framework for form in forms[len(shown) :]]:
                parts += [Text(f"With --all-forms also for {listed(others)}."), Text("")]
    if any(each.pareto for each in found):
        parts += [Text(EXPLANATION, style="dim"), Text(NOT_ALL, style="dim")]
    return Group(*parts, *check_lines(checks))


def title(each: Recommendation) -> str:
    return (
        f"{each.provenance}: {plural(each.n_transcripts, 'transcript')}, {each.n_with_needs:,} "
        f"with needs over long gaps in {plural(each.n_clusters, each.clusters_are)}"
    )


def sentences(each: Recommendation) -> Iterator[str]:
    """Yield what is recommended, why, and how far it can be trusted."""
    yield verdict(each)
    if each.priced_as is not None and each.pareto:
        yield f"Dollars are simulated, from an empty cache on, priced as {each.priced_as}."
    if (line := detectable(each)) is not None:
        yield line
    if not each.allows_claims and each.n_clusters:
        yield (
            f"n too small for claims: {plural(each.n_clusters, each.clusters_are)}, at least "
            f"{MIN_CLUSTERS} are needed. The numbers are exact for these transcripts and say "
            "nothing about others."
        )
    if each.chosen is not None:
        if each.chosen.is_dearer:
            yield DEARER_BY_CALLS if each.chosen.is_dearer_by_its_calls else DEARER
        yield from _beside(each.chosen)
        yield from _near(each)
        if not each.allows_claims:
            yield f"Its reach by transcript, %: {values_of(each.chosen)}."
    elif each.pareto:
        yield f"Without compaction the cost is {cost_text(each.cost_before, each.unit)}."
    yield from _confirmed(each)
    if each.scope is not None:
        yield each.scope
    yield from _left_out(each)


def _beside(chosen: Candidate) -> Iterator[str]:
    known: dict[tuple[float, int], list[str]] = {}
    for name, found in (
        ("truncation at the same saving", chosen.truncation),
        ("the best choice of whole messages with the same tokens", chosen.oracle),
    ):
        if found is None:
            yield f"{name[0].upper()}{name[1:]} is not known here."
        else:
            others = known.setdefault((found.reach, found.n), [])
            others.append(f"{name} {percent(found.other)} %")
    for (reach, n), others in known.items():
        where = f"Where it engaged ({plural(n, 'transcript')})"
        yield f"{where} it reaches {percent(reach)} %, {listed(others)}."
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
    yield from _tests(found, each.min_reach)


def _what_it_takes(each: Recommendation) -> str:
    if each.n_to_confirm is None:
        return f"no number of sessions confirms {percent(each.min_reach)} %"
    if each.n_clusters >= each.n_to_confirm:
        return f"half of the {each.n_clusters} name none, only all of them do"
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
            f"n = {plural(each.n, 'transcript')}, engaged on {each.n_engaged:,}: {word}"
        )


def _left_out(each: Recommendation) -> Iterator[str]:
    if each.left_out:
        texts = [f"{clean(item.label)}: {clean(item.reason)}" for item in each.left_out]
        yield f"Left out: {listed(texts, MAX_LEFT_OUT)}."


def _written(form: Configuration) -> Iterator[RenderableType]:
    if not form.text:
        yield Text(f"{form.framework}: no configuration.", style="bold")
        yield from (Text(f"  {clean(note, 400)}") for note in form.notes)
        return
    yield Text(f"{form.framework}:", style="bold")
    for line in form.unmeasured:
        yield Text(f"  {clean(line, 600)}")
    yield Text(indent(form.text, "  "), overflow="ignore", no_wrap=True)
    for note in form.notes:
        yield Text(f"  - {clean(note, 300)}", style="dim")


def _to_measure(form: Configuration, command: str) -> Iterator[RenderableType]:
    has_ends = any(len(sizes) > 1 for sizes in form.sizes.values())
    yield Text(BRACKETS if has_ends else MEDIANS, style="bold")
    yield Text(f"  {command}", overflow="ignore", no_wrap=True)
