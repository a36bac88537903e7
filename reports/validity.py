"""Whether what is measured without a model says what a model still does: construct validity.

Each counted answer is held against the status of its fact in the view that was asked about, each
next call against the needs of its request. Read from the sidecars; the numbers are printed whatever
they say. Conversations are the units, and provenances and models are never pooled.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

from evals.probing.agreement import Correlation, rank_correlation
from evals.stats import Clustered, Interval, bootstrap_interval, clustered, t_interval
from reports.frames import Run
from reports.wording import MISSING, clean, listed, percent, plural, points

TITLE: Final = "Do the model-free numbers say what the model still answers?"
HEADS: Final = ("Status of the fact", "Data", "Answers (conversations)", "Right, %", "95 %")
STATUSES: Final[Mapping[str, str]] = {
    "visible_source": "visible in its source",
    "restated": "restated",
    "recoverable": "recoverable",
    "mentioned": "mentioned",
    "lost": "lost",
}
"""Of a fact's values in the view, best first, with how they are written."""
DEFINITION: Final = (
    "Answers over compacted views that count, each with the status of its fact there, which is "
    "that of a need: in the message that states it; in a line of another text that shares three "
    "informative words with it; behind a handle that was tried; in another text, bare; nowhere. "
    "Rank correlation is Spearman's rho: 1 if the model fails wherever the fact is lost and "
    "nowhere else, 0 if the one says nothing of the other. (t): Student's interval over the values "
    "of the conversations, where they are too few for a bootstrap; to look at only."
)
TOO_FEW: Final = "n too small for claims"
HEADLINE: Final = "a lost fact and an answer that is not right"
_UNSEEN: Final = ("lost", "undeclared", "regenerable")
_READABLE: Final = frozenset({"same call", "same tool", "other tool"})


@dataclass(frozen=True, slots=True)
class Answer:
    """One question over one compacted view."""

    cluster: str
    status: str
    verdict: str
    """Of the matcher, on the fact in the view."""
    right: float
    """Share of its replicates."""


@dataclass(frozen=True, slots=True)
class Next:
    """One sampled request with needs, at which all three proposals can be read."""

    cluster: str
    unseen: float
    """Share of the needs of the request that are nowhere in the view and behind no handle."""
    differs: int
    """Whether the call differs from the one of the full history, minus whether that differs when
    asked for twice."""


@dataclass(frozen=True, slots=True)
class Validity:
    """Texts of a table, and the correlations as lines."""

    headline: tuple[str, ...]
    """Two lines for each provenance and model: right answers by status, and the correlation."""
    rows: tuple[tuple[str, ...], ...]
    """As `HEADS`."""
    notes: tuple[str, ...]


def validity(run: Run) -> Validity | None:
    """Return what recorded answers say of the model-free numbers; None without any."""
    found = [_of_group(*group) for group in _groups(run)]
    if not found:
        return None
    return Validity(
        tuple(line for one in found for line in one.headline),
        tuple(row for one in found for row in one.rows),
        (*(note for one in found for note in one.notes), DEFINITION),
    )


def _groups(run: Run) -> Iterator[tuple[str, list[Answer], list[Next]]]:
    rows = run.rows[run.rows["scored"]]
    asked = rows[(rows["probes_counted"] > 0) | (rows["actions_asked"] > 0)]
    asked = asked.assign(_model=asked["probe_reader"].fillna(asked["action_model"]))
    for (provenance, model), group in asked.groupby(["provenance", "_model"], sort=False):
        answers: list[Answer] = []
        nexts: list[Next] = []
        seen = set()
        for row in group.to_dict("records"):
            sidecar = run.sidecar(str(row["cell_id"]))
            # Settings that sent the same were answered once.
            place = (row["transcript_digest"], sidecar.get("probe_view", row["cell_id"]))
            if place in seen:
                continue
            seen.add(place)
            answers += _answers(sidecar, str(row["cluster"]))
            nexts += _nexts(sidecar, str(row["cluster"]))
        if answers or nexts:
            yield f"{clean(provenance)}, {clean(model)}", answers, nexts


def _answers(sidecar: Mapping[str, Any], cluster: str) -> Iterator[Answer]:
    for probe in sidecar.get("probes", ()):
        if probe.get("is_counted") and probe.get("status") in STATUSES:
            right = fmean(outcome == "right" for outcome in probe["compacted"])
            yield Answer(cluster, probe["status"], str(probe.get("fact_in_view")), right)


def _nexts(sidecar: Mapping[str, Any], cluster: str) -> Iterator[Next]:
    needs = sidecar.get("needs", {})
    by_request: dict[int, list[bool]] = {}
    for values in needs.get("rows", ()):
        need = dict(zip(needs["columns"], values, strict=False))
        if need["kind"] == "need":
            by_request.setdefault(need["request"], []).append(need["status"] in _UNSEEN)
    for action in sidecar.get("next_actions", ()):
        unseen = by_request.get(action["request"])
        found = (action["compacted"], action["repeated"])
        if unseen and _READABLE.issuperset(found):
            compacted, repeated = (one != "same call" for one in found)
            yield Next(cluster, fmean(unseen), compacted - repeated)


def _of_group(data: str, answers: Sequence[Answer], nexts: Sequence[Next]) -> Validity:
    ranks = {status: rank for rank, status in enumerate(STATUSES)}
    lost = _correlated(answers, lambda one: one.status == "lost")
    head = f"{data}: rank correlation of {HEADLINE}: {_said(lost, 'answer')}"
    others = (
        (
            "the five steps of the status and an answer that is not right",
            _said(_correlated(answers, lambda one: ranks[one.status]), "answer"),
        ),
        (
            "a fact that the matcher does not find kept and an answer that is not right",
            _said(_correlated(answers, lambda one: one.verdict != "kept"), "answer"),
        ),
        (
            "the share of a request's needs that the view no longer shows and another next call, "
            "beyond A/A",
            _said(
                rank_correlation(
                    [one.unseen for one in nexts],
                    [one.differs for one in nexts],
                    [one.cluster for one in nexts],
                ),
                "request",
            ),
        ),
    )
    notes = [f"{data}: rank correlation of {what}: {said}" for what, said in others]
    rows = tuple(_status_row(data, status, answers) for status in STATUSES)
    by_status = ", ".join(f"{name} {share} % of {n}" for name, _, n, share, _ in rows if n != "0")
    return Validity(
        (f"{data}: right answers (conversations) by status of the fact: {by_status}.", head),
        rows,
        (head, *notes, f"{data}: {_restated_or_mentioned(answers)}"),
    )


def _correlated(answers: Sequence[Answer], predict: Callable[[Answer], float]) -> Correlation:
    return rank_correlation(
        [predict(one) for one in answers],
        [1 - one.right for one in answers],
        [one.cluster for one in answers],
    )


def _said(found: Correlation, noun: str) -> str:
    """Return a correlation with its interval, or why there is none."""
    size = f"{plural(found.n, noun)}, {plural(found.n_clusters, 'conversation')}"
    if found.rho is None:
        return f"not defined, since one of the two never varies ({size})."
    each = [MISSING if rho is None else f"{rho:.2f}" for rho in found.by_cluster]
    parts = [f"{found.rho:.2f} ({size}", _interval(found.interval, lambda end: f"{end:.2f}")]
    if not found.allows_claims:
        parts += [f"each: {listed(each)}", TOO_FEW]
    return "; ".join(part for part in parts if part) + ")."


def _interval(found: Interval | None, written: Callable[[float], str]) -> str:
    if found is None or _is_empty(found):
        return "no interval"
    how = "t over conversations" if found.method == "t" else f"{found.method} of conversations"
    return f"95 % {written(found.low)} to {written(found.high)}, {how}"


def _is_empty(found: Interval) -> bool:
    """Whether a few equal values are all there is: no spread was seen, so none is estimated."""
    return found.method == "t" and found.low == found.high


def _status_row(data: str, status: str, answers: Sequence[Answer]) -> tuple[str, ...]:
    mine = [one for one in answers if one.status == status]
    n_clusters = len({one.cluster for one in mine})
    name = STATUSES[status]
    if not mine:
        return (name, data, "0", MISSING, MISSING)
    by_conversation = clustered([one.right for one in mine], [one.cluster for one in mine])
    return (
        name,
        data,
        f"{len(mine)} ({n_clusters})",
        percent(by_conversation.mean, 0),
        _share_interval(by_conversation),
    )


def _share_interval(data: Clustered) -> str:
    found = bootstrap_interval(data) or t_interval(data)
    if found is None or _is_empty(found):
        return MISSING
    low, high = max(0.0, found.low), min(1.0, found.high)
    few = " (t)" if found.method == "t" else ""
    return f"{percent(low, 0)} to {percent(high, 0)}{few}"


def _restated_or_mentioned(answers: Sequence[Answer]) -> str:
    """Say whether a restated fact is answered better than a mentioned one, by conversation."""
    shares = [_shares(answers, status) for status in ("restated", "mentioned")]
    both = [cluster for cluster in shares[0] if cluster in shares[1]]
    if not both:
        return "restated against mentioned: no conversation has answers about both."
    differences = [shares[0][cluster] - shares[1][cluster] for cluster in both]
    data = clustered(differences, both)
    interval = bootstrap_interval(data) or t_interval(data)
    few = "" if bootstrap_interval(data) else f"; {TOO_FEW}"
    return (
        f"restated minus mentioned: {points(data.mean)} points right, mean of the differences in "
        f"{plural(len(both), 'conversation')} that have both "
        f"({_interval(_cut(interval), points)}{few})."
    )


def _cut(found: Interval | None) -> Interval | None:
    """Keep the ends of a difference of shares where such differences lie."""
    return found and found._replace(low=max(-1.0, found.low), high=min(1.0, found.high))


def _shares(answers: Iterable[Answer], status: str) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for one in answers:
        if one.status == status:
            found.setdefault(one.cluster, []).append(one.right)
    return {cluster: fmean(rights) for cluster, rights in found.items()}
