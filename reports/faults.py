"""What went wrong: failed cells, failed steps, broken rules, by kind."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from reports.frames import Run
from reports.wording import clean, count, plural

MAX_FAULTS: Final = 10
"""Kinds of failures and violations that are listed; the others are counted."""
MAX_ERROR_CHARS: Final = 300
FAILED_STEPS: Final = "Failed steps"
NOT_RECORDED: Final = "Not recorded: a model was never asked this"
EXTRACTIVE: Final = "extractive"
"""What `run.json` calls the summariser of a run without a model."""


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
    rules: tuple[tuple[str, str], ...] = ()
    """(name, statement) of each rule that is named."""


def failures(run: Run) -> Faults:
    """Return failed cells, one entry per error text, the most frequent first."""
    return _cells_by_reason(run, "error")


def unrecorded(run: Run) -> Faults:
    """Return cells that need a model's answer which was never recorded, by what is missing."""
    return _cells_by_reason(run, "unrecorded")


def _cells_by_reason(run: Run, status: str) -> Faults:
    failed = run.rows[run.rows["status"] == status].fillna({"error": "no reason given"})
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
    named = sorted({rule for _, rule in list(groups)[:MAX_FAULTS]})
    return Faults(
        tuple(shown),
        sum(map(len, groups.values())),
        len(groups) - len(shown),
        tuple(_stated(run, named)),
    )


def failed_steps(run: Run) -> Faults:
    """Return steps that failed in cells that were scored, one entry per setting and reason."""
    rows = run.rows[run.rows["scored"] & (run.rows["compactions_failed"] > 0)]
    rows = rows.fillna({"first_failure": "no reason recorded"})
    groups = [
        group.to_dict("records")
        for _, group in rows.groupby(["label", "first_failure"], sort=False)
    ]
    shown = [
        Fault(
            clean(group[0]["label"]),
            clean(group[0]["transcript"]),
            f"{plural(int(group[0]['compactions_failed']), 'failed step')}: "
            f"{clean(group[0]['first_failure'], MAX_ERROR_CHARS)}"
            + _more(len(group), "transcript"),
        )
        for group in groups[:MAX_FAULTS]
    ]
    return Faults(tuple(shown), int(rows["compactions_failed"].sum()), len(groups) - len(shown))


def alarm(run: Run) -> str | None:
    """Say that a model was named and never gave a summary: then nothing was measured about it."""
    model, rows = run.manifest.get("model", EXTRACTIVE), run.rows
    if model == EXTRACTIVE or rows.empty or rows["model_calls"].sum():
        return None
    is_failed = ~rows["scored"] & ~rows["is_control"]
    in_vain = rows[is_failed | (rows["compactions_failed"] > 0)]
    if in_vain.empty:
        return None
    reasons = in_vain["first_failure"].fillna(in_vain["error"]).dropna()
    reason = clean(reasons.iloc[0], MAX_ERROR_CHARS) if len(reasons) else "no reason recorded"
    return (
        f"The model {clean(model)} gave no summary: every call failed ({reason}). Nothing here "
        "says anything about its summaries."
    )


def fault_groups(run: Run) -> tuple[tuple[str, Faults, str], ...]:
    """Return (title, faults, what to say if there are none), in the order of every report."""
    return (
        ("Failed cells", failures(run), "No cell failed."),
        (NOT_RECORDED, unrecorded(run), ""),
        (FAILED_STEPS, failed_steps(run), ""),
        (
            "Broken rules",
            violations(run),
            "No strategy broke an invariant on any request of any transcript.",
        ),
    )


def _stated(run: Run, rules: Iterable[str]) -> Iterator[tuple[str, str]]:
    statements = run.manifest.get("rules")
    for rule in rules:
        if isinstance(statements, dict) and rule in statements:
            yield clean(rule), clean(statements[rule], MAX_ERROR_CHARS)


def _more(n: int, noun: str) -> str:
    return f" (and {plural(n - 1, f'more {noun}')})" if n > 1 else ""


def _violation(run: Run, row: Mapping[Hashable, Any], rule: str) -> str:
    places = f"{count(row['violated'][rule])} of {plural(int(row['requests']), 'request')}"
    return f"{clean(rule)} at {places}" + _first_place(run.sidecar(str(row["cell_id"])), rule)


def _first_place(sidecar: Mapping[str, Any], rule: str) -> str:
    for item in sidecar.get("violations", ()):
        if item.get("rule") == rule:
            request, pointer = clean(item.get("request")), clean(item.get("pointer", ""))
            return f"; first at request {request}, {pointer or 'the whole view'}"
    return ""


def rules_of(run: Run) -> tuple[tuple[str, str, int, int], ...]:
    """Return (rule, statement, cells that broke it, cells it was checked in) of every rule."""
    broken: defaultdict[str, int] = defaultdict(int)
    scored = run.rows[run.rows["scored"] & ~run.rows["is_control"]]
    for violated in scored["violated"]:
        for rule in violated:
            broken[rule] += 1
    rules = run.manifest.get("rules")
    if not isinstance(rules, dict):
        return ()
    return tuple(
        (clean(rule), clean(statement, MAX_ERROR_CHARS), broken[rule], len(scored))
        for rule, statement in rules.items()
    )
