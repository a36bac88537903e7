"""A setting over its transcripts: replicates averaged, then sums, means and intervals.

Fidelity counts only where a setting saved something.
"""

from dataclasses import asdict
from typing import Any, Final

import pandas as pd

from reports.intervals import estimate

FIDELITY: Final = ("reach", "facts_kept_fraction", "quote_kept_fraction")
JUDGED: Final = (
    *FIDELITY,
    "compared_reach",
    "compared_saving",
    "matched_reach",
    "reach_difference",
    "needs",
    "lost",
    "undeclared",
    "mentioned",
    "facts_removed",
    "regret",
    "constraints_kept_fraction",
    "obligations_kept_fraction",
    "files_lost_fraction",
    "files_stale_fraction",
    "unsupported_fraction",
)
"""What says something of a setting only on transcripts where it saved something."""
DOLLARS: Final = (
    "cost_before_usd",
    "cost_after_usd",
    "saved_usd",
    "net_saved_usd_p50",
    "net_saved_usd_p100",
    "own_calls_usd",
)
"""Missing where a transcript has no price."""
SUMS: Final = (
    "requests",
    "input_tokens_before",
    "input_tokens_after",
    "needs",
    "lost",
    "undeclared",
    "mentioned",
    "facts_removed",
    "quote_needs",
    "compactions",
    "compactions_failed",
    "model_calls",
    "violations",
    "constraints",
    "obligations",
    "files",
    "drifted_pairs",
    "obligations_ticked",
    "cache_breaks",
    "rewritten_tokens",
    *DOLLARS,
)
MEANS: Final = (
    *FIDELITY,
    *SUMS,
    "saved_usd_fraction",
    "cache_hit_fraction",
    "cache_hit_fraction_before",
    "oracle_reach",
    "regret",
    "dead_token_fraction",
    "constraints_kept_fraction",
    "obligations_kept_fraction",
    "files_lost_fraction",
    "files_stale_fraction",
    "unsupported_fraction",
    "probe_right_fraction",
    "saving_fraction",
    "peak_tokens_before",
    "peak_tokens_after",
    "placebo_fraction",
    "compared_reach",
    "compared_saving",
    "matched_reach",
    "reach_difference",
)
ESTIMATES: Final = (
    "saving_fraction",
    "reach",
    "facts_kept_fraction",
    "compared_reach",
    "compared_saving",
    "reach_difference",
    "saved_usd_fraction",
    "regret",
    "constraints_kept_fraction",
)


def by_transcript(rows: pd.DataFrame) -> pd.DataFrame:
    """Average the replicates of each (provenance, label, key)."""
    grouped = rows[rows["scored"]].groupby(["provenance", "label", "key"], sort=False)
    each = grouped[list(MEANS)].mean()
    each["cluster"], each["engaged"] = grouped["cluster"].first(), grouped["engaged"].all()
    each["has_needs"] = each["reach"].notna()
    for name in JUDGED:
        each[name] = each[name].where(each["engaged"])
    return each


def counts(group: pd.DataFrame) -> dict[str, Any]:
    first = group.iloc[0]
    return {
        "strategy": first["strategy"],
        "is_control": bool(first["is_control"]),
        "total": group["key"].nunique(),
        "errors": int((group["status"] == "error").sum()),
    }


def aggregated(each: pd.DataFrame) -> dict[str, Any]:
    """Aggregate one setting over its transcripts."""
    line: dict[str, Any] = {
        "scored": len(each),
        "engaged": int(each["engaged"].sum()),
        "with_needs": int(each["has_needs"].sum()),
        "saving_ratio": saving_of(each),
        "peak_max_tokens": each["peak_tokens_after"].max(),
        "peak_mean_tokens": each["peak_tokens_after"].mean(),
        "matched_reach": each["matched_reach"].mean(),
        "quotes_kept": each["quote_kept_fraction"].mean(),
        "quotes_n": int(each["quote_kept_fraction"].count()),
    }
    line |= {name: float(each[name].sum(min_count=name in DOLLARS)) for name in SUMS}
    for name in ESTIMATES:
        result = asdict(estimate(each[name], each["cluster"]))
        line |= {f"{name}_{key}": value for key, value in result.items()}
    return line | _shown(each)


def _shown(each: pd.DataFrame) -> dict[str, Any]:
    """Return saving and reach over one set of transcripts, the best there is to show."""
    for name in ("compared_reach", "reach"):
        of_name = each[each[name].notna()]
        if len(of_name):
            return {
                "shown_saving": saving_of(of_name),
                "shown_usd_saving": dollar_saving_of(of_name),
                "shown_reach": of_name[name].mean(),
                "shown_oracle": of_name["oracle_reach"].mean(),
                "shown_n": len(of_name),
                "is_compared": name == "compared_reach",
            }
    return {
        "shown_saving": saving_of(each),
        "shown_usd_saving": dollar_saving_of(each),
        "shown_reach": None,
        "shown_oracle": None,
        "shown_n": 0,
        "is_compared": False,
    }


def saving_of(each: pd.DataFrame) -> float | None:
    """Return the saving over some transcripts together; None if no input was measured."""
    after = each["input_tokens_after"]
    before = each["input_tokens_before"].where(after.notna()).sum()
    return float(1 - after.sum() / before) if before else None


def dollar_saving_of(each: pd.DataFrame) -> float | None:
    """Return the saving in dollars over some transcripts together, own calls included.

    Returns:
        None if a transcript has no price: a sum over the others would be of something else.
    """
    before, after = each["cost_before_usd"], each["cost_after_usd"]
    if each.empty or before.isna().any() or after.isna().any() or not before.sum():
        return None
    return float(1 - after.sum() / before.sum())
