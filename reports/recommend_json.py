"""A recommendation as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from reports.candidates import Candidate
from reports.recommend import Recommendation
from reports.recommend_text import ranges_of, sentences
from reports.self_checks import SelfCheck


def as_json(found: Sequence[Recommendation], checks: Sequence[SelfCheck] = ()) -> dict[str, Any]:
    return {
        "recommendations": [_json(each) for each in found],
        "self_checks": [check._asdict() for check in checks],
    }


def _json(each: Recommendation) -> dict[str, Any]:
    chosen = each.chosen
    return {
        "provenance": each.provenance,
        "unit": each.unit,
        "min_reach": each.min_reach,
        "transcripts": each.n_transcripts,
        "with_needs": each.n_with_needs,
        "sessions": each.n_clusters,
        "sessions_are": f"{each.clusters_are}s",
        "allows_claims": each.allows_claims,
        "is_confirmed": each.is_confirmed,
        "sessions_to_name": each.n_to_name,
        "detectable_reach": each.detectable,
        "priced_as": each.priced_as,
        "is_refuted": each.is_refuted,
        "sessions_to_confirm": each.n_to_confirm,
        "cost_before": each.cost_before,
        "sentences": [*sentences(each)],
        "chosen": None if chosen is None else _candidate(chosen),
        "nearest": None if each.nearest is None else _candidate(each.nearest),
        "cheapest_by_mean": None if each.by_mean is None else _candidate(each.by_mean),
        "pareto": [[_candidate(item) for item in group] for group in each.pareto],
        "near_equal": {
            "labels": [item.label for item in each.near],
            "parameters": ranges_of(each.near),
        },
        "confirmation": None if each.confirmation is None else asdict(each.confirmation),
        "left_out": [asdict(item) for item in each.left_out],
        "configurations": [
            {**asdict(form), "measure_command": each.measure.get(form.framework)}
            for form in each.configurations
        ],
    }


def _candidate(each: Candidate) -> dict[str, Any]:
    name, worst = each.worst
    return {
        "label": each.label,
        "strategy": each.strategy,
        "parameters": dict(each.parameters),
        "resolved": dict(each.resolved),
        "shares": {key: share.summary() for key, share in each.shares.items()},
        "cost": each.cost,
        "transcripts_dearer": each.n_dearer,
        "saving_fraction": each.saving,
        "reach": each.reach,
        "lower_bound": each.lower,
        "worst": {"transcript": name, "reach": worst},
        "truncation": None if each.truncation is None else asdict(each.truncation),
        "best_choice": None if each.oracle is None else asdict(each.oracle),
        "n": each.n,
        "n_engaged": each.n_judged,
        "reach_where_engaged": each.judged_reach,
        "transcripts": each.n_all,
        "transcripts_engaged": each.n_engaged,
        "by_transcript": dict(each.values()),
    }
