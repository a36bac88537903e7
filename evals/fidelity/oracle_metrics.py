"""What the columns about the choice of a strategy mean; a part of `evals.metrics`."""

from typing import Final

from evals.results import Metric

ORACLE_METRICS: Final = (
    Metric(
        "oracle_reach",
        "Best choice",
        "share of needs",
        "neither",
        "The most reach that any strategy could have that sends messages whole or not at all, "
        "never brings back what it left out, and at each request sends no more tokens than this "
        "setting did (instructions aside). It knows the future. Exact where the optimum was found "
        "(`oracle_is_exact`), else an upper bound by linear relaxation.",
    ),
    Metric(
        "regret",
        "Regret",
        "share of needs",
        "lower",
        "Best choice minus reach: what was lost by keeping the wrong messages, and not by keeping "
        "few. Below zero where a summary or a handle reaches more than whole messages of that "
        "size could.",
    ),
    Metric(
        "dead_token_fraction",
        "Dead tokens",
        "share of tokens",
        "lower",
        "Of the tokens of old tool results that were sent whole (seen by more than 3 requests, "
        "this one included): those that stand in results which nothing used at that or a later "
        "request has among its sources: no need, quote, reread or derived one, over any gap; "
        "pinned ones aside. What was kept too long, as reach is what was dropped too early. A "
        "request with more than 20 needs counts 20 of them.",
    ),
    Metric(
        "stale_visible",
        "Stale",
        "needs",
        "lower",
        "Of the needs over long gaps that are visible in their source: those of which every "
        "visible source shows a file as it was before a later call changed it, while that call "
        "is not in the view. Changes made by shell commands are not known.",
    ),
    Metric(
        "unresolvable_needs",
        "Unresolvable",
        "needs",
        "neither",
        "Needs whose source lies before a compaction that was recorded, and was not in the "
        "conversation any more. No strategy could show it, so it is judged nowhere.",
    ),
)
