"""The answer in one sentence per provenance, and no more than the numbers allow.

A setting is named by `RULE`; those that look better and are not named are listed with the reason.
The best of many tries looks better than it is, so it is called better only if that survives the
correction for all settings that were compared (`reports.proof`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pandas as pd

from evals.stats import MIN_CLUSTERS
from reports.answer_text import detectable_of, numbers_of
from reports.confirm import ALPHA
from reports.dominance import Pair, beaten_by, beats_all_as_thrifty
from reports.frames import Run, estimate_of
from reports.league import ranked_lines
from reports.matched import TRUNCATE
from reports.proof import adjusted_p, best_p
from reports.wording import clean, listed, percent, plural, points

RULE: Final = (
    "Rule: of the settings that were scored on every transcript, broke no rule, engaged on at "
    "least half of the transcripts with needs and reached more than truncation at the same saving "
    f"(from {MIN_CLUSTERS} sessions on: 95 % interval of the difference above 0), the one with the "
    "highest reach that none of the others beats in both saving and reach on the same transcripts. "
    f"From {MIN_CLUSTERS} sessions on a setting is called better only if p of no gain is at most "
    f"{ALPHA:g}, adjusted for all settings compared (Holm) and as if one more session had lost all "
    "that truncation keeps; such settings come first."
)
MAX_LEFT_OUT: Final = 6
ENGAGED_PERCENT: Final = 1
"""`evals.results.ENGAGED_FRACTION`, as a sentence says it."""
_TRIGGERS: Final = ("token_threshold", "context_budget", "context_limit_chars", "trigger_tokens")
"""Parameters that say from which size on a strategy of ours does anything."""


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    notes: tuple[str, ...] = ()
    """Why this one and not another, a line each."""
    rule: str = ""
    """How a setting is named, in one answer of a run; a terminal has no room for it."""

    @property
    def all_notes(self) -> tuple[str, ...]:
        return (self.rule, *self.notes) if self.rule else self.notes


def answers(run: Run) -> tuple[Answer, ...]:
    """Return an answer per provenance, in the order of the blocks."""
    if run.rows.empty:
        return (Answer("Nothing was measured: the run has no rows."),)
    found = [_answer(run, provenance) for provenance in run.provenances]
    chosen = (at for at, name in enumerate(run.provenances) if _is_compared(run, name))
    if (first := next(chosen, None)) is not None:
        found[first] = replace(found[first], rule=RULE)
    return tuple(found)


def best_setting(run: Run, provenance: str) -> Mapping[str, Any] | None:
    """Return the row of `settings()` that the answer names, if any.

    One that is proven better than truncation, even if others that are not reach more.
    """
    pool = _pool(run, provenance)
    return next((line for line in pool if not beaten_by(run, provenance, line, pool)), None)


def _answer(run: Run, provenance: str) -> Answer:
    where = f"On the {provenance} transcripts"
    lines = _strategies(run, provenance)
    if not lines:
        return Answer(f"{where} no strategy was tried, only controls.")
    if not any(line["scored"] for line in lines):
        return Answer(f"{where} every cell of every strategy failed, so nothing can be said.")
    if not any(line["engaged"] for line in lines):
        text = f"{where} no setting saved {ENGAGED_PERCENT} % or more, so nothing can be said "
        return Answer(f"{text}about what is lost.", tuple(_advice(run, provenance, lines)))
    best = best_setting(run, provenance)
    text = _why_none(run, provenance, lines) if best is None else _named(run, provenance, best)
    notes = [
        *_left_out(run, provenance, lines, best),
        *detectable_of(run, provenance, best),
        *_dearer(lines),
        *_controls_ahead(run, provenance, lines),
    ]
    return Answer(f"{where} {text}", tuple(notes))


def _named(run: Run, provenance: str, best: Mapping[str, Any]) -> str:
    """Return what the best setting does, and whether it may be called better than truncation."""
    name = clean(best["label"])
    does = numbers_of(run, provenance, best)
    found = estimate_of(best, "reach_difference")
    if not found.allows_claims:
        return (
            "nothing can be said about other conversations: "
            f"{plural(found.n_clusters, run.clusters_are)} "
            f"can be compared, at least {MIN_CLUSTERS} are needed. Of these, {name} keeps the most "
            f"among the settings that beat truncation: it {does}"
        )
    adjusted = adjusted_p(run, provenance)
    p, n = adjusted[best["label"]], plural(len(adjusted), "setting")
    if p <= ALPHA:
        return (
            f"{name} keeps the most among the settings that are better than truncation at the same "
            f"saving (p = {p:.3f}, adjusted for {n}): it {does}"
        )
    many = f" once {n} are compared" if len(adjusted) > 1 else ""
    few = ""
    if best_p(run, provenance, best["label"]) * len(adjusted) > ALPHA:
        sessions = plural(found.n_clusters, run.clusters_are)
        few = f"; {sessions} are too few to show it, even of one that lost nothing"
    return (
        f"no setting is clearly better than truncation at the same saving{many}{few}. The best is "
        f"{name} (p = {p:.3f} adjusted): it {does}"
    )


def _has_truncation(run: Run, provenance: str) -> bool:
    rows = run.rows[run.rows["provenance"] == provenance]
    return bool((rows["strategy"] == TRUNCATE).any())


def _why_none(run: Run, provenance: str, lines: Sequence[Mapping[str, Any]]) -> str:
    known = [line for line in lines if line["engaged"] and line["reach_n"]]
    if not known:
        return "no needs over long gaps were found, so what is lost cannot be told."
    if not any(line["is_compared"] for line in known):
        if not _has_truncation(run, provenance):
            return (
                "truncation was not run, so there is nothing to compare with and no setting is "
                "recommended; run without --no-controls."
            )
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


def _left_out(
    run: Run,
    provenance: str,
    lines: Sequence[Mapping[str, Any]],
    best: Mapping[str, Any] | None,
) -> Iterator[str]:
    """Yield why settings of higher reach are not named."""
    if not any(line["is_compared"] for line in lines):
        return
    least = -1.0 if best is None else best["reach_mean"]
    better = [line for line in lines if line["engaged"] and line["reach_mean"] > least]
    reasons = [f"{clean(line['label'])}: {_reason(run, provenance, line)}" for line in better]
    if len(reasons) > MAX_LEFT_OUT:
        more = f"{len(reasons) - MAX_LEFT_OUT} more of lower reach"
        reasons = [*reasons[:MAX_LEFT_OUT], more]
    if reasons:
        yield f"Left out: {'; '.join(reasons)}."


def _reason(run: Run, provenance: str, line: Mapping[str, Any]) -> str:
    fault = _fault(run, provenance, line)
    if fault is not None:
        return fault
    found = estimate_of(line, "reach_difference")
    if found.mean is None:
        return "truncation was not measured at its saving"
    if round(found.mean, 9) <= 0:
        return f"{points(found.mean)} points against truncation"
    if found.low is not None and found.low <= 0:
        return f"interval of the difference touches 0 ({points(found.low)} to {points(found.high)})"
    pool = _pool(run, provenance)
    if line["label"] not in {each["label"] for each in pool}:
        p = adjusted_p(run, provenance)[str(line["label"])]
        return f"not clearly better than truncation (p = {p:.3f} adjusted)"
    beaten = beaten_by(run, provenance, line, pool)
    return "" if beaten is None else _beaten(*beaten)


def _beaten(other: Mapping[str, Any], pair: Pair) -> str:
    return (
        f"{clean(other['label'])} saves {percent(pair.other_saving)} % and reaches "
        f"{percent(pair.other_reach)} %, it {percent(pair.saving)} % and {percent(pair.reach)} %, "
        f"on the same {plural(pair.n, 'transcript')}"
    )


def _fault(run: Run, provenance: str, line: Mapping[str, Any]) -> str | None:
    if line["errors"] or line["scored"] < line["total"]:
        return (
            f"failed on {line['total'] - line['scored']} of {plural(line['total'], 'transcript')}"
        )
    if line["violations"]:
        rows = run.rows[(run.rows["provenance"] == provenance) & run.rows["scored"]]
        broken = rows.loc[(rows["label"] == line["label"]) & (rows["violations"] > 0), "violated"]
        rules = sorted({clean(rule) for found in broken for rule in found})
        return f"broke {listed(rules, 3)} on {plural(len(broken), 'transcript')}"
    if 2 * line["reach_n"] < line["with_needs"]:
        return f"engaged on {line['reach_n']} of {line['with_needs']} transcripts with needs"
    return None


def _dearer(lines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield which settings make the bill larger, the worst first, however many tokens they save."""
    saved = {
        str(line["label"]): line["usd_saving"]
        for line in lines
        if line["engaged"] and pd.notna(line["usd_saving"])
    }
    dear = sorted((name for name in saved if saved[name] < 0), key=lambda name: saved[name])
    if dear:
        names = [f"{clean(name)} +{percent(-saved[name], 0)} %" for name in dear]
        yield (
            f"DEARER than no compaction, in dollars over all transcripts with a price, are "
            f"{len(dear):,} of {plural(len(saved), 'setting')}: {listed(names, MAX_LEFT_OUT)}."
        )


def _controls_ahead(run: Run, provenance: str, lines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for control in _of_block(run, provenance, is_control=True):
        if control["strategy"] == TRUNCATE or not control["reach_n"]:
            continue
        n = beats_all_as_thrifty(run, provenance, control, lines)
        if n:
            yield (
                f"The control {clean(control['label'])} (saves {percent(control['saving_ratio'])} "
                f"%, reaches {percent(control['reach_mean'])} %) keeps more than every setting "
                f"that saves about as much or more ({n:,} of them)."
            )


def _advice(run: Run, provenance: str, lines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what to do about settings that saved nothing."""
    rows = run.rows[(run.rows["provenance"] == provenance) & run.rows["scored"]]
    lower = []
    for line in lines:
        if not line["scored"]:
            continue
        if line["saving_ratio"] is not None and line["saving_ratio"] < -0.0005:
            yield f"{clean(line['label'])} grew the input by {percent(-line['saving_ratio'])} %."
            continue
        resolved = rows.loc[rows["label"] == line["label"], "resolved"].iloc[0]
        lower += [
            f"{name} of {clean(line['strategy'])}" for name in _TRIGGERS if resolved.get(name)
        ]
    if lower:
        names = listed(list(dict.fromkeys(lower)))
        yield f"Lower the {names}, for example to 50% of the peak."


def _worthy(run: Run, provenance: str) -> list[Mapping[str, Any]]:
    return [
        line
        for line in _strategies(run, provenance)
        if line["engaged"] and _fault(run, provenance, line) is None and _beats_truncation(line)
    ]


def _pool(run: Run, provenance: str) -> list[Mapping[str, Any]]:
    """Return what the answer chooses from: the proven ones, else all that look better."""
    worthy = _worthy(run, provenance)
    p = adjusted_p(run, provenance)
    return [line for line in worthy if p.get(line["label"], 1.0) <= ALPHA] or worthy


def _beats_truncation(line: Mapping[str, Any]) -> bool:
    found = estimate_of(line, "reach_difference")
    if found.mean is None:
        return False
    return round(found.mean, 9) > 0 and (found.low is None or found.low > 0)


def _is_compared(run: Run, provenance: str) -> bool:
    return any(line["is_compared"] for line in _strategies(run, provenance))


def _strategies(run: Run, provenance: str) -> list[Mapping[str, Any]]:
    return _of_block(run, provenance, is_control=False)


def _of_block(run: Run, provenance: str, *, is_control: bool) -> list[Mapping[str, Any]]:
    settings = run.settings()
    chosen = settings[settings["provenance"] == provenance]
    return ranked_lines(chosen[chosen["is_control"] == is_control])
