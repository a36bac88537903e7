"""Whether the instrument measured what it must: contestants whose result is known beforehand.

The last lines are of a generated conversation: the run checked them (`evals.instrument`).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import pandas as pd

from evals.fidelity.placebo import FEW_BY_CHANCE, MAX_CHANCE_FRACTION
from reports.frames import Run
from reports.wording import clean, listed, percent, plural, points

MAX_SALAD_GAIN: Final = 0.05
"""A list of all references must not score. This project's definition."""
MIN_TRANSCRIPTS: Final = 3
"""Of fewer, chance may be as good as anything."""
MAX_SIDECARS: Final = 40
"""Of transcripts, one each; more would take longer to read than the page to make."""
TOLERANCE: Final = 1e-9


class SelfCheck(NamedTuple):
    """One line: what has to be, what was, and whether that is so."""

    provenance: str
    expected: str
    found: str
    is_met: bool


def self_checks(run: Run) -> tuple[SelfCheck, ...]:
    """Return the checks of every provenance whose controls were run."""
    found = []
    for provenance in run.provenances:
        rows = run.rows[(run.rows["provenance"] == provenance) & run.rows["scored"]]
        for expected, text, is_met in (*_checks(rows), *_placebo_of_classes(run, rows)):
            found.append(SelfCheck(clean(provenance), expected, text, is_met))
    return (*found, *_of_the_instrument(run))


def said_of(found: Sequence[SelfCheck]) -> tuple[str, list[str]]:
    """Say how many are met, and which are not, a line each."""
    failed = [each for each in found if not each.is_met]
    met = f"Self-checks of the instrument: {len(found) - len(failed)} of {len(found)} met."
    return met, [f"{each.provenance}: {each.expected}: NO, {each.found}" for each in failed]


def _checks(rows: pd.DataFrame) -> Iterator[tuple[str, str, bool]]:
    identity = rows[rows["strategy"] == "identity"]
    if len(identity):
        most = identity["saving_fraction"].abs().max()
        yield "identity saves nothing", f"at most {percent(most, 3)} %", bool(most <= TOLERANCE)
        reaches = identity["reach"].dropna()
        if len(reaches):
            least = float(reaches.min())
            yield "identity reaches everything", _least(least), least >= 1 - TOLERANCE
        costs = (identity["cost_after_usd"] - identity["cost_before_usd"]).abs().dropna()
        if len(costs):
            text = f"differs by at most {costs.max():.6f} USD"
            yield "identity costs what no compaction costs", text, bool(costs.max() <= 1e-6)
    yield from _of_nothing(rows)
    yield from _of_chance(rows[rows["provenance"] == "authored"])
    placebo = rows.groupby("key")["placebo_fraction"].mean().dropna()
    if len(placebo):
        text = f"{percent(placebo.mean(), 2)} % over {plural(len(placebo), 'transcript')}"
        expected = f"unrelated text meets at most {percent(MAX_CHANCE_FRACTION, 0)} % of needs"
        yield expected, text, bool(placebo.mean() <= MAX_CHANCE_FRACTION)


def _of_nothing(rows: pd.DataFrame) -> Iterator[tuple[str, str, bool]]:
    """Yield that what keeps nothing, or only a list, scores by nothing else.

    `drop_all` keeps the instructions and the latest user message, and reaches what stands there;
    `salad` adds a list of all references to it.
    """
    kept = _first_of(rows, "drop_all")
    if not len(kept):
        return
    stood, needs = int(kept["visible_source"].sum()), int(kept["needs"].sum())
    text = f"{stood:,} of {plural(needs, 'need')} stood in the latest user message"
    yield "drop_all can recover nothing", text, int(kept["recoverable"].sum()) == 0
    gains = (_first_of(rows, "salad")["reach"] - kept["reach"]).dropna()
    if len(gains):
        mean, least = float(gains.mean()), float(gains.min())
        limit = percent(MAX_SALAD_GAIN, 0)
        expected = f"salad reaches all that drop_all does, and at most {limit} points more"
        text = f"{points(mean)} on average, {points(least)} at least"
        yield expected, text, least >= -TOLERANCE and mean <= MAX_SALAD_GAIN


def _first_of(rows: pd.DataFrame, strategy: str) -> pd.DataFrame:
    """Return a row for each transcript on which a control has a reach."""
    return rows[rows["strategy"] == strategy].dropna(subset=["reach"]).groupby("key").first()


def _placebo_of_classes(run: Run, rows: pd.DataFrame) -> Iterator[tuple[str, str, bool]]:
    """Yield the chance matches of each class of references; a class above the limit is flagged."""
    met: Counter[str] = Counter()
    wanted: Counter[str] = Counter()
    for cell_id in rows.groupby("key")["cell_id"].first().head(MAX_SIDECARS):
        needs = run.sidecar(str(cell_id)).get("needs", {})
        references = {
            (one["digest"], one["class"])
            for values in needs.get("rows", ())
            if (one := dict(zip(needs["columns"], values, strict=True)))["kind"] == "need"
        }
        of_class = Counter(name for _, name in references)
        wanted += of_class
        for name, share in needs.get("placebo_by_class", {}).items():
            met[name] += round(float(share) * of_class[name])
    if wanted:
        text = ", ".join(
            f"{clean(name)} {met[name]:,} of {wanted[name]:,}" for name in sorted(wanted)
        )
        limit = percent(MAX_CHANCE_FRACTION, 0)
        expected = (
            f"unrelated text meets, of each class of needs, at most {limit} %, or {FEW_BY_CHANCE}"
        )
        above = [
            n
            for n in sorted(wanted)
            if met[n] > max(FEW_BY_CHANCE, MAX_CHANCE_FRACTION * wanted[n])
        ]
        if above:
            text += f"; above it: {listed([clean(name) for name in above])}"
        yield expected, text, not above


def _of_chance(rows: pd.DataFrame) -> Iterator[tuple[str, str, bool]]:
    """Yield that a random half lies between all and nothing, and below choices at its size.

    Of the bundled conversations only: in others there may be next to nothing to tell apart.
    """
    drawn = rows[rows["strategy"] == "random_drop"].dropna(subset=["reach"])
    if not len(drawn):
        return
    mean = float(drawn["reach"].mean())
    nothing = rows.loc[rows["strategy"] == "drop_all", "reach"].dropna()
    least = float(nothing.mean()) if len(nothing) else 0.0
    text = f"{percent(mean)} % on average"
    yield "random_drop lies between drop_all and identity", text, least < mean < 1
    both = drawn.dropna(subset=["matched_reach", "oracle_reach"])
    if both["key"].nunique() >= MIN_TRANSCRIPTS:
        chosen, newest, chance = (
            float(both[name].mean()) for name in ("oracle_reach", "matched_reach", "reach")
        )
        yield (
            "at the size of random_drop, the best choice reaches more than the newest, and the "
            "newest more than chance",
            f"{percent(chosen)} %, {percent(newest)} %, {percent(chance)} %",
            chosen > newest > chance,
        )


def _of_the_instrument(run: Run) -> Iterator[SelfCheck]:
    """Yield what the run itself checked on a generated conversation."""
    for check in run.manifest.get("instrument", ()):
        yield SelfCheck(
            "generated", clean(check["expected"]), clean(check["found"]), bool(check["is_met"])
        )


def _least(reach: float) -> str:
    return f"at least {percent(reach)} %"
