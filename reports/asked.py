"""What a model still answers and does over compacted views, and what that says of the other tables.

Read from rows and sidecars of a run with `--probes`; terminal, Markdown and page show the same.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from evals.probing.agreement import kappa
from evals.probing.replicates import components
from evals.shell_words import path_argument, shell_word
from reports.frames import Run
from reports.intervals import Estimate, estimate
from reports.validity import Validity, validity
from reports.wording import MISSING, clean, count, percent, plural, points

TITLE: Final = "What a model still answers"
HEADS: Final = (
    "Setting",
    "Data",
    "Questions (transcripts)",
    "Right, %",
    "Right, [95 %] or range",
    "Unknown, %",
    "Wrong, %",
    "Effect retained, %",
    "Next requests",
    "Same tool, %",
    "Same tool beyond A/A, points",
    "Same call, %",
    "Same call A/A, %",
    "Same call beyond A/A, points",
)
MIN_KAPPA: Final = 0.8
MIN_LABELS: Final = 50
"""Right and not right each: with less a judge's verdicts are no headline. reference/methods.md
6.10, which wants labels of people."""
REPLICATE: Final = "replicate"
"""The parameter of a strategy that tells summaries by the same prompt apart."""
MAX_FAULTS: Final = 5
"""Kinds of answers that are none, named with their number."""
_PROBES: Final = (
    "probe_unknown_fraction",
    "probe_wrong_fraction",
    "probe_effect_retained",
)
_ACTIONS: Final = (
    ("action_tool_fraction", percent),
    ("action_tool_beyond_aa", points),
    ("action_call_fraction", percent),
    ("action_call_aa_fraction", percent),
    ("action_call_beyond_aa", points),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """Texts of a table, and what has to be read with it."""

    rows: tuple[tuple[str, ...], ...]
    """As `HEADS`."""
    notes: tuple[str, ...]
    """The first says who answered."""
    validity: Validity | None


def asked(run: Run) -> Asked | None:
    """Return a line for each setting about which a model was asked; None if it was about none."""
    rows = run.rows[run.rows["scored"]]
    was_asked = (rows["probes_counted"] > 0) | (rows["actions_asked"] > 0)
    has_faults = rows["probe_fault"].notna() | rows["action_fault"].notna()
    answered = rows[was_asked | has_faults]
    if answered.empty:
        return None
    groups = rows[was_asked].groupby(["provenance", "label"], sort=False)
    lines = tuple(_line(label, provenance, group) for (provenance, label), group in groups)
    return Asked(lines, tuple(_notes(run, rows, answered)), validity(run))


def _line(label: Any, provenance: Any, group: pd.DataFrame) -> tuple[str, ...]:
    probed = group[group["probes_counted"] > 0]
    acted = group[group["actions_asked"] > 0]
    n_questions = count(probed["probes_counted"].sum())
    return (
        clean(label),
        clean(provenance),
        f"{n_questions} ({len(probed)})" if len(probed) else MISSING,
        percent(_mean(probed, "probe_right_fraction")),
        _spread(estimate(probed["probe_right_fraction"], probed["cluster"])),
        *(percent(_mean(probed, name)) for name in _PROBES),
        count(acted["actions_asked"].sum()) if len(acted) else MISSING,
        *(written(_mean(acted, name)) for name, written in _ACTIONS),
    )


def _mean(rows: pd.DataFrame, name: str) -> float | None:
    """Return the mean over transcripts, each counted alike."""
    values = rows[name].dropna()
    return float(values.mean()) if len(values) else None


def _spread(found: Estimate) -> str:
    """Return the interval about the sampling of transcripts, for few their range."""
    if found.low is not None:
        return f"[{percent(found.low)}, {percent(found.high)}]"
    return f"{percent(found.least)} to {percent(found.most)}" if found.n > 1 else MISSING


def _notes(run: Run, rows: pd.DataFrame, answered: pd.DataFrame) -> Iterator[str]:
    models = sorted({*answered["probe_reader"].dropna(), *answered["action_model"].dropna()})
    yield (
        f"Answers of {' and '.join(map(clean, models))}, recorded. They say nothing about other "
        "models."
    )
    yield (
        "Questions count that this model answers right from the uncompacted history; fractions "
        "are means over transcripts. A/A: the model asked twice from the full history; what it "
        "does not repeat itself is not put down to a view."
    )
    whole = rows[rows["strategy"] == "identity"]
    dropped = whole[["probes_not_read", "probes_ungraded", "probes_unrecorded"]].sum()
    if dropped.sum():
        yield (
            f"Not counted: {plural(int(dropped['probes_not_read']), 'question')} that it does not "
            f"answer right uncompacted, {count(dropped['probes_ungraded'])} ungraded, "
            f"{count(dropped['probes_unrecorded'])} unrecorded (uncompacted)."
        )
    yield from _unasked_notes(rows)
    sidecars = [run.sidecar(str(cell_id)) for cell_id in answered["cell_id"]]
    yield from _fault_notes(answered, sidecars)
    yield from _judge_notes(answered, sidecars)
    yield from _variance_notes(answered)


def _unasked_notes(rows: pd.DataFrame) -> Iterator[str]:
    """Yield how many cells saved something and were not asked about, and what would ask."""
    is_missing = (rows["probes"] > 0) & (rows["probes_unrecorded"] == rows["probes"])
    missing = rows[is_missing & rows["engaged"] & ~rows["is_control"]]
    if missing.empty:
        return
    known = set(rows.loc[rows["probes_counted"] > 0, "probe_reader"])
    first = missing.iloc[0]
    model = shell_word(str(first["probe_reader"])) if first["probe_reader"] in known else "MODEL"
    flags = [f"--set {shell_word(f'{key}={value}')}" for key, value in first["parameters"].items()]
    command = " ".join(
        [
            f"compaction-evals probe {shell_word(path_argument(str(first['source'])))}",
            f"--model {model} --base-url URL --strategy {shell_word(first['strategy'])}",
            *flags,
        ]
    )
    yield (
        f"Not recorded: {plural(len(missing), 'cell')} of "
        f"{plural(missing['label'].nunique(), 'setting')} about whose views no model was asked. To "
        f"record the first: {clean(command, 500)}"
    )


def _fault_notes(answered: pd.DataFrame, sidecars: list[Any]) -> Iterator[str]:
    """Yield which replies were no answers; the same reply stands in many cells, once is enough."""
    names = answered["transcript_digest"].astype(str)
    found = {
        (name, fault)
        for name, sidecar in zip(names, sidecars, strict=True)
        for kind in ("probe_faults", "action_faults")
        for fault in sidecar.get(kind, ())
    }
    reasons = Counter(fault.partition(": ")[2] for _, fault in found)
    if reasons:
        shown = [f"{clean(text)} ({n:,})" for text, n in sorted(reasons.items())[:MAX_FAULTS]]
        more = len(reasons) - len(shown)
        rest = f" and {plural(more, 'other reason')}" if more else ""
        yield f"Replies that are no answers, and no scores: {', '.join(shown)}{rest}."


def _judge_notes(answered: pd.DataFrame, sidecars: list[Any]) -> Iterator[str]:
    """Yield how much hangs on the judge, and its kappa over what the grader decided as well."""
    counted = [
        probe
        for sidecar in sidecars
        for probe in sidecar.get("probes", ())
        if probe.get("is_counted")
    ]
    n_judged = sum(probe["by"].count("judge") for probe in counted)
    pairs = _judged_pairs(answered, sidecars)
    if not n_judged and not pairs:
        return
    yield (
        f"Judged: {plural(n_judged, 'answer')} of {sum(len(probe['by']) for probe in counted):,}; "
        "the others needed no judge. The judge is the model that answered, and no person labelled "
        "its verdicts."
    )
    if not pairs:
        yield (
            "How far the judge agrees with the grading without a model is not known; record it "
            "with `probe --judge all`."
        )
        return
    found = kappa(pairs)
    text = "not defined, since one of them always says the same," if found is None else ""
    n_right = sum(grader for grader, _ in pairs)
    yield (
        f"Judge against the grading without a model: kappa {text or f'{found:.2f}'} over "
        f"{plural(len(pairs), 'answer')} ({n_right:,} right, {len(pairs) - n_right:,} not); for a "
        f"headline it takes {MIN_KAPPA:.2f} over {MIN_LABELS} of each."
    )


def _judged_pairs(answered: pd.DataFrame, sidecars: list[Any]) -> list[tuple[bool, bool]]:
    """Return what grader and judge say; an answer that stands in many cells counts once."""
    places = zip(answered["transcript_digest"], answered["label"], strict=True)
    pairs: dict[tuple[str, ...], tuple[bool, bool]] = {}
    for (digest, label), sidecar in zip(places, sidecars, strict=True):
        for at, (fact, where, grader, judge) in enumerate(sidecar.get("judged", ())):
            of_view = (str(label), str(at)) if where == "over the view" else ()
            pairs[str(digest), fact, where, *of_view] = (grader, judge)
    return list(pairs.values())


def _variance_notes(answered: pd.DataFrame) -> Iterator[str]:
    """Yield how much of the spread is the model's own, where each question was asked repeatedly."""
    found = answered.dropna(subset=["probe_variance_answers"])
    if len(found):
        between, within = (
            float(found[name].mean())
            for name in ("probe_variance_questions", "probe_variance_answers")
        )
        least = int(found["probe_replicates"].min())
        yield (
            f"Variance of right (1) or not (0), mean of {plural(len(found), 'cell')} with at least "
            f"{plural(least, 'replicate')}: {between:.3f} between questions, {within:.3f} between "
            "answers to the same question."
        )
    groups = [list(group) for group in _summary_replicates(answered) if len(group) > 1]
    spread = components(groups)
    if spread is not None:
        widest = max(((min(one), max(one)) for one in groups), key=lambda ends: ends[1] - ends[0])
        yield (
            f"Variance of the share right, {sum(map(len, groups))} summaries of "
            f"{len(groups)} conversations and prompts: {spread.between:.3f} between these, "
            f"{spread.within:.3f} between summaries by the same prompt of the same conversation "
            "(answers to them included); the widest range of one of these is "
            f"{percent(widest[0], 0)} to {percent(widest[1], 0)} %."
        )


def _summary_replicates(answered: pd.DataFrame) -> Iterator[Sequence[float]]:
    """Yield, for each transcript, the shares right of settings that differ in `replicate` only."""
    found: dict[tuple[str, str], list[float]] = {}
    for row in answered.dropna(subset=["probe_right_fraction"]).to_dict("records"):
        others = {key: value for key, value in row["resolved"].items() if key != REPLICATE}
        if REPLICATE in row["resolved"]:
            place = (str(row["key"]), f"{row['strategy']} {sorted(others.items())}")
            found.setdefault(place, []).append(float(row["probe_right_fraction"]))
    return iter(found.values())
