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
    "regenerable",
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
    "regenerable",
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


_TIE: Final = 1e-9
"""Bills that differ by a smaller share are the same: floats are summed in another order."""


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
        **_dollars(each),
        **_compared(each),
        "peak_max_tokens": each["peak_tokens_after"].max(),
        "peak_mean_tokens": each["peak_tokens_after"].mean(),
        "quotes_kept": each["quote_kept_fraction"].mean(),
        "quotes_n": int(each["quote_kept_fraction"].count()),
    }
    line |= {name: float(each[name].sum(min_count=name in DOLLARS)) for name in SUMS}
    for name in ESTIMATES:
        result = asdict(estimate(each[name], each["cluster"]))
        line |= {f"{name}_{key}": value for key, value in result.items()}
    return line


def _compared(each: pd.DataFrame) -> dict[str, Any]:
    """Return what stands beside truncation, and the best choice over the transcripts of reach."""
    compared, judged = each[each["reach_difference"].notna()], each[each["reach"].notna()]
    has_oracle = len(judged) > 0 and bool(judged["oracle_reach"].notna().all())
    return {
        "is_compared": len(compared) > 0,
        "compared_saving_ratio": saving_of(compared),
        "matched_reach": compared["matched_reach"].mean(),
        "judged_oracle": judged["oracle_reach"].mean() if has_oracle else None,
    }


def _dollars(each: pd.DataFrame) -> dict[str, Any]:
    """Return the saving over the transcripts with a price, and on how many of them it is none."""
    priced = priced_of(each)
    return {
        "priced": len(priced),
        "usd_saving": dollar_saving_of(priced),
        "dearer": int((priced["cost_after_usd"] > (1 + _TIE) * priced["cost_before_usd"]).sum()),
    }


def priced_of(each: pd.DataFrame) -> pd.DataFrame:
    """Return the transcripts whose dollars are known with and without compaction.

    One without a request costs nothing whatever is done, and would only dilute a count.
    """
    is_known = each["cost_before_usd"].notna() & each["cost_after_usd"].notna()
    return each[is_known & (each["requests"] > 0)]


def saving_of(each: pd.DataFrame) -> float | None:
    """Return the saving over some transcripts together; None if no input was measured."""
    after = each["input_tokens_after"]
    before = each["input_tokens_before"].where(after.notna()).sum()
    return float(1 - after.sum() / before) if before else None


def dollar_saving_of(priced: pd.DataFrame) -> float | None:
    """Return the saving in dollars over priced transcripts together, own calls included."""
    before = priced["cost_before_usd"].sum()
    return float(1 - priced["cost_after_usd"].sum() / before) if before else None
