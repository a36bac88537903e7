"""The answer in one sentence per provenance, and no more than the numbers allow.

A setting is named if it was scored on every transcript, saved something, kept more than truncation
does at the same saving and broke no rule; among those, the one with the highest reach. With enough
sessions the interval of the difference has to lie above zero as well.
"""

from collections.abc import Mapping
from typing import Any

from reports.frames import Run, estimate_of
from reports.intervals import Estimate
from reports.league import ranked
from reports.wording import clean, percent, plural, points


def answers(run: Run) -> tuple[str, ...]:
    """Return a sentence or two per provenance, in the order of the blocks."""
    if run.rows.empty:
        return ("Nothing was measured: the run has no rows.",)
    return tuple(_answer(run, provenance) for provenance in run.provenances)


def best_setting(run: Run, provenance: str) -> Mapping[str, Any] | None:
    """Return the row of `settings()` that the answer names, if any."""
    worthy = [line for line in _candidates(run, provenance) if _beats_truncation(line)]
    return worthy[0] if worthy else None


def _answer(run: Run, provenance: str) -> str:
    where = f"On the {provenance} transcripts"
    lines = _strategies(run, provenance)
    if not lines:
        return f"{where} no strategy was tried, only controls."
    if not any(line["scored"] for line in lines):
        return f"{where} every cell of every strategy failed, so nothing can be said."
    if not any(line["engaged"] for line in lines):
        return (
            f"{where} no setting saved 1 % or more, so nothing can be said about what is lost: "
            "lower the thresholds, for example to 50%."
        )
    best = best_setting(run, provenance)
    return f"{where} {_why_none(run, provenance) if best is None else _recommendation(best)}"


def _recommendation(line: Mapping[str, Any]) -> str:
    reach, difference = estimate_of(line, "reach"), estimate_of(line, "reach_difference")
    text = (
        f"{clean(line['label'])} keeps the most among the settings that beat truncation: it saves "
        f"{percent(line['saving_ratio'])} % of the input tokens and reaches "
        f"{percent(reach.mean)} % of the needs{_interval(reach)}, {points(difference.mean)} points "
        f"against truncation at the same saving{_interval(difference)}; n = "
        f"{plural(reach.n, 'transcript')}"
    )
    if line["engaged"] < line["scored"]:
        text += f" of {line['scored']}, on the others it did not engage"
    return text + _warning(reach)


def _warning(found: Estimate) -> str:
    if found.allows_claims:
        return "."
    sessions = plural(found.n_clusters, "session")
    return f". That is {sessions}: too few for a claim about other conversations."


def _interval(found: Estimate) -> str:
    if found.low is None:
        return ""
    return f" (95 % interval {percent(found.low)} to {percent(found.high)})"


def _why_none(run: Run, provenance: str) -> str:
    lines = [line for line in _strategies(run, provenance) if line["engaged"]]
    known = [line for line in lines if estimate_of(line, "reach").n]
    if not known:
        return "no needs over long gaps were found, so what is lost cannot be told."
    if not any(estimate_of(line, "reach_difference").n for line in known):
        return "truncation was not measured at these savings, so no setting is recommended."
    if any(estimate_of(line, "reach_difference").allows_claims for line in known):
        return (
            "no setting that worked without fault is clearly better than truncation at the same "
            "saving (95 % interval of the difference above zero)."
        )
    return (
        "no setting that worked without fault kept more than truncation at the same saving; "
        "too few sessions for a claim about other conversations."
    )


def _candidates(run: Run, provenance: str) -> list[Mapping[str, Any]]:
    return [
        line
        for line in _strategies(run, provenance)
        if line["engaged"] and line["scored"] == line["total"] and not line["errors"]
        if not line["violations"]
    ]


def _beats_truncation(line: Mapping[str, Any]) -> bool:
    found = estimate_of(line, "reach_difference")
    if found.mean is None:
        return False
    return found.mean > 0 and (found.low is None or found.low > 0)


def _strategies(run: Run, provenance: str) -> list[dict[str, Any]]:
    settings = run.settings()
    chosen = settings[(settings["provenance"] == provenance) & ~settings["is_control"]]
    return [
        {str(key): value for key, value in line.items()}
        for line in ranked(chosen).to_dict("records")
    ]
