"""What stands around the table: what was run, caveats, faults, provenance, for every report."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from reports.frames import Run
from reports.matched import EXPLANATION
from reports.wording import clean, count, percent, plural, tokens, with_n

MAX_FAULTS: Final = 10
"""Kinds of failures and violations that are listed; the others are counted."""
MAX_ERROR_CHARS: Final = 300
PLACEBO_WARNING: Final = 0.02
"""Above this share of needs that an unrelated text would also meet, a report says so."""
CAVEATS: Final = (
    "Fixed trajectory: the recorded actions are replayed; an agent might have acted differently "
    "on a compacted context.",
    "Reach is an upper bound: what is visible or recoverable is not yet understood or used.",
    "Recorded, authored and generated transcripts are never pooled.",
    "Means are over transcripts on which a setting saved at least 1 % (n); failed cells stay in "
    "the count of all.",
    "Intervals are 95 %, by bootstrap over sessions, for each setting alone: they are not "
    "corrected for the number of settings compared, and say nothing of future conversations of "
    "another kind.",
    EXPLANATION,
)
SHORT_CAVEATS: Final = (
    "Fixed trajectory; reach is an upper bound; authored and recorded data are not pooled. "
    "n = transcripts."
)


@dataclass(frozen=True, slots=True)
class Fault:
    """A failed cell or a rule that a setting broke on a transcript."""

    label: str
    transcript: str
    text: str


@dataclass(frozen=True, slots=True)
class Faults:
    shown: tuple[Fault, ...]
    """The first of each kind, with the number of others like it."""
    n_all: int
    """Failed cells, or pairs of cell and rule."""
    n_hidden: int
    """Kinds that are not shown."""


def headline(run: Run) -> tuple[str, ...]:
    """Say what was run, in a few lines; calibration only where usage was recorded."""
    of_each = transcripts(run)
    if of_each.empty:
        return ("No cell was run.",)
    n, total = len(of_each), of_each["input_tokens_before"].sum()
    size = f"{tokens(total)} input tokens" if total else "input tokens not measured"
    errors = of_each["calibration_error_fraction"].dropna()
    lines = [
        f"{plural(n, 'transcript')} ({_parts(of_each)}), {plural(_settings(run), 'setting')}, "
        f"{count(of_each['requests'].sum())} requests, {size} "
        f"by {clean(run.manifest.get('measuring_counter', 'an unnamed counter'))}.",
        f"Calibrated to recorded usage in {len(errors)} of {plural(n, 'transcript')}"
        + (f", median error {percent(errors.median())} %." if len(errors) else "."),
    ]
    placebo = run.rows.groupby("key")["placebo_fraction"].mean().dropna()
    if len(placebo) and placebo.mean() > PLACEBO_WARNING:
        lines.append(
            f"Placebo rate {with_n(percent(placebo.mean()), len(placebo))} %: that share of needs "
            "is met by chance in an unrelated transcript; reach is too high by up to as much."
        )
    if run.n_stale:
        lines.append(f"{plural(run.n_stale, 'row')} of other commands or versions left out.")
    return tuple(lines)


def transcripts(run: Run) -> pd.DataFrame:
    """Return a row per transcript with what is the same under every setting."""
    columns = [
        "transcript",
        "provenance",
        "cluster",
        "requests",
        "messages",
        "input_tokens_before",
        "peak_tokens_before",
        "calibration_error_fraction",
        "needs",
        "facts",
    ]
    best_first = run.rows.sort_values("scored", ascending=False, kind="stable")
    firsts = best_first.groupby("key", sort=False)[columns].first()
    return firsts.sort_values(["provenance", "transcript"], kind="stable")


def failures(run: Run) -> Faults:
    """Return failed cells, one entry per error text, the most frequent first."""
    failed = run.rows[~run.rows["scored"]].fillna({"error": "no reason given"})
    groups = [group.to_dict("records") for _, group in failed.groupby("error", sort=False)]
    shown = [
        Fault(
            clean(group[0]["label"]),
            clean(group[0]["transcript"]),
            clean(group[0]["error"], MAX_ERROR_CHARS) + _more(len(group), "cell"),
        )
        for group in sorted(groups, key=len, reverse=True)[:MAX_FAULTS]
    ]
    return Faults(tuple(shown), len(failed), len(groups) - len(shown))


def violations(run: Run) -> Faults:
    """Return broken rules of strategies, one entry per setting and rule.

    Controls are expected to break some, so they are left out.
    """
    rows = run.rows
    broken = rows[(rows["violations"] > 0) & ~rows["is_control"]]
    groups: defaultdict[tuple[str, str], list[dict[Hashable, Any]]] = defaultdict(list)
    for row in broken.to_dict("records"):
        for rule in sorted(row["violated"]):
            groups[row["label"], rule].append(row)
    shown = [
        Fault(
            clean(label),
            clean(group[0]["transcript"]),
            _violation(run, group[0], rule) + _more(len(group), "transcript"),
        )
        for (label, rule), group in list(groups.items())[:MAX_FAULTS]
    ]
    return Faults(tuple(shown), sum(map(len, groups.values())), len(groups) - len(shown))


def definitions(run: Run) -> Iterator[tuple[str, str, str]]:
    """Yield (title, unit, definition) of the metrics, as the run wrote them."""
    for metric in run.manifest.get("metrics", ()):
        better = metric.get("better", "neither")
        note = "" if better == "neither" else f" {better.capitalize()} is better."
        yield (
            clean(metric.get("title", "")),
            clean(metric.get("unit", "")),
            clean(metric.get("definition", ""), 2_000) + note,
        )


def footer(run: Run) -> tuple[tuple[str, str], ...]:
    """Return what is needed to make the run again, as (name, value)."""
    manifest = run.manifest
    versions = _mapping(manifest.get("versions"))
    return (
        ("Command", clean(manifest.get("command", ""), 500)),
        ("Finished", clean(manifest.get("finished_at", ""))),
        ("Corpus digest", clean(manifest.get("corpus_digest", ""))),
        ("Counter", clean(manifest.get("measuring_counter", ""))),
        ("Summaries by", clean(manifest.get("model", ""))),
        ("Seed", clean(manifest.get("seed", ""))),
        ("Metrics version", clean(manifest.get("metrics_version", ""))),
        ("Python", clean(manifest.get("python", ""))),
        ("Versions", ", ".join(f"{clean(k)} {clean(v)}" for k, v in sorted(versions.items()))),
        ("Files not read", count(len(manifest.get("refused", ())))),
    )


def _settings(run: Run) -> int:
    return int(run.rows["label"].nunique())


def _parts(of_each: pd.DataFrame) -> str:
    sizes = of_each.groupby("provenance").size()
    return ", ".join(f"{size} {clean(name)}" for name, size in sizes.items())


def _more(n: int, noun: str) -> str:
    return f" (and {plural(n - 1, f'more {noun}')})" if n > 1 else ""


def _violation(run: Run, row: Mapping[Hashable, Any], rule: str) -> str:
    places = f"{count(row['violated'][rule])} of {count(row['requests'])} requests"
    return f"{clean(rule)} at {places}" + _first_place(run.sidecar(str(row["cell_id"])), rule)


def _first_place(sidecar: Mapping[str, Any], rule: str) -> str:
    for item in sidecar.get("violations", ()):
        if item.get("rule") == rule:
            request, pointer = clean(item.get("request")), clean(item.get("pointer", ""))
            return f"; first at request {request}, {pointer or 'the whole view'}"
    return ""


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
