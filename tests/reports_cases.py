"""Run folders written by hand, with numbers that a test can work out."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from evals.results import Metric, Row, RunFolder

METRICS = (
    Metric("saving_fraction", "Saved input", "share of input tokens", "higher", "1 - after/before"),
    Metric("reach", "Reach", "share of needs", "higher", "What is visible | recoverable."),
)


def row(transcript: str, label: str, **columns: Any) -> Row:
    """Return a scored row of 1,000 input tokens before; a saving is given as a fraction."""
    saving = columns.pop("saving", None)
    strategy = columns.pop("strategy", label.partition("(")[0])
    defaults: dict[str, Any] = {
        "cell_id": f"{transcript}-{label}"[:60].replace("/", "_"),
        "transcript": transcript,
        "transcript_digest": f"digest of {transcript[:20]}",
        "source": f"{transcript[:20]}.jsonl",
        "format": "native",
        "provenance": "recorded",
        "cluster": transcript,
        "strategy": strategy,
        "strategy_version": "1",
        "parameters": {},
        "resolved": {},
        "label": label,
        "messages": 40,
        "requests": 20,
        "segments": 1,
        "input_tokens_before": 1_000.0,
        "peak_tokens_before": 100.0,
    }
    if saving is not None:
        before = columns.get("input_tokens_before", 1_000.0)
        defaults |= {
            "saving_fraction": saving,
            "input_tokens_after": before * (1 - saving),
            "engaged": saving >= 0.01,
            "peak_tokens_after": 100.0 * (1 - saving),
        }
    return Row(**{**defaults, **columns})


def failed(transcript: str, label: str, error: str, **columns: Any) -> Row:
    return row(transcript, label, status="error", error=error, **columns)


def write_run(path: Path, rows: list[Row], **manifest: Any) -> Path:
    folder = RunFolder(path)
    folder.create()
    for item in rows:
        folder.append(item)
    defaults = {
        "command": "compaction-evals run logs",
        "finished_at": "2026-01-02T03:04:05+00:00",
        "cells": [item.cell_id for item in rows],
        "refused": [],
        "corpus_digest": "abc123",
        "model": "extractive",
        "seed": 0,
        "measuring_counter": "o200k_base",
        "metrics_version": "1",
        "metrics": [asdict(metric) for metric in METRICS],
        "versions": {"compaction-evals": "0.1.0", "tiktoken": "0.13.0"},
        "python": "3.11.0",
    }
    folder.write_manifest({**defaults, **manifest})
    return path


def small_rows() -> list[Row]:
    """Return two recorded transcripts and an authored one under three settings and controls.

    `a` has 1,000 input tokens and `b` 3,000, so that a ratio of sums differs from a mean of ratios.
    """
    big = {"input_tokens_before": 3_000.0}
    return [
        # Saves 50 % of 1,000 and 10 % of 3,000.
        row("a", "xun(k=2)", saving=0.5, reach=0.9, needs=20, lost=2, compactions=3),
        row("b", "xun(k=2)", saving=0.1, reach=0.7, needs=10, lost=3, compactions=1, **big),
        # Fails on b.
        row(
            "a",
            "mine.py:shrink",
            saving=0.6,
            reach=0.5,
            needs=20,
            lost=10,
            violations=4,
            violated={"calls_stay_paired": 4},
        ),
        failed("b", "mine.py:shrink", "request 3: ValueError: no", **big),
        # Does nothing on b: its fidelity there does not count.
        row("a", "idle", saving=0.2, reach=0.8, needs=20, lost=4),
        row("b", "idle", saving=0.0, reach=1.0, needs=10, **big),
        # Controls.
        row("a", "identity", saving=0.0, reach=1.0, needs=20, is_control=True),
        row("b", "identity", saving=0.0, reach=1.0, needs=10, is_control=True, **big),
        row("a", "drop_all", saving=0.9, reach=0.0, needs=20, lost=20, is_control=True),
        row("b", "drop_all", saving=0.9, reach=0.0, needs=10, lost=10, is_control=True, **big),
        # Truncation: (0, 1), (0.4, 0.8), (0.8, 0.4) on a; (0, 1), (0.2, 0.6) on b.
        *_truncate("a", [(0.0, 1.0), (0.4, 0.8), (0.6, 0.6), (0.8, 0.4)]),
        *_truncate("b", [(0.0, 1.0), (0.0, 1.0), (0.1, 0.8), (0.2, 0.6)], **big),
        # Authored data stands apart.
        row("made", "xun(k=2)", saving=0.4, reach=0.2, needs=5, lost=4, provenance="authored"),
    ]


def _truncate(transcript: str, points: list[tuple[float, float]], **columns: Any) -> list[Row]:
    return [
        row(
            transcript,
            f"truncate(keep_tokens={100 - 25 * step}%)",
            saving=saving,
            reach=reach,
            is_control=True,
            **columns,
        )
        for step, (saving, reach) in enumerate(points)
    ]


HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "a`b|c",
    "\u202eevil\u2066",
    "\x1b[31mred\x07",
    "{{ 7 * 7 }}",
    "x" * 1_000_000,
)
"""Names that somebody else chose."""


def hostile_rows() -> list[Row]:
    """Return every hostile name as label, as transcript and as error."""
    good = [
        row(
            name,
            name,
            saving=0.5,
            reach=0.5,
            cell_id=f"good-{at}",
            violations=1,
            violated={name[:200]: 1},
        )
        for at, name in enumerate(HOSTILE)
    ]
    bad = [failed(name, "x", name, cell_id=f"bad-{at}") for at, name in enumerate(HOSTILE)]
    return good + bad


def small_sidecar() -> dict[str, Any]:
    """Return a sidecar of four requests: message 1 is edited from request 2, gone from 3."""
    return {
        "requests": {
            "before": [10, 20, 30, 40],
            "after": [10, 20, 25, 20],
            "first_message": [0],
            "segment": [0, 0, 0, 0],
            "position": [2, 4, 5, 7],
        },
        "fate_codes": {"whole": "w", "edited": "e", "summarised": "s", "gone": "-"},
        "fates": [[1, 2, "e"], [1, 3, "-"], [2, 3, "s"], [3, 3, "s"]],
        "needs": {
            "columns": ["digest", "class", "kind", "request", "gap", "status"],
            "rows": [
                ["d1", "path", "need", 3, 4, "lost"],
                ["d2", "path", "need", 3, 4, "lost"],
                ["d3", "path", "need", 2, 4, "restated"],
                ["d4", "quote", "quote", 1, 4, "lost"],
                ["d5", "path", "need", 2, 3, "lost"],
            ],
        },
        "violations": [],
    }


def long_sidecar(n: int, lost_from: int | None = None) -> dict[str, Any]:
    """Return n requests of a call and its result; results are cleared 20 requests later."""
    rows = range(lost_from or n, n)
    return {
        "requests": {
            "first_message": [0],
            "segment": [0] * n,
            "position": [2 * at + 1 for at in range(n)],
        },
        "fate_codes": {"whole": "w", "cleared": "c", "gone": "-"},
        "fates": [[2 * at, at + 20, "c"] for at in range(1, n - 20)],
        "needs": {
            "columns": ["digest", "class", "kind", "request", "gap", "status", "source"],
            "rows": [[f"d{at}", "path", "need", at, 30, "lost", 2 * (at - 30)] for at in rows],
        },
    }


def wide_rows(n_strategies: int, n_settings: int) -> list[Row]:
    """Return twelve transcripts under settings whose table has every column, with large numbers.

    Each strategy has two settings; truncation was run at sizes on both sides of each saving.
    """
    labels = [
        (
            f"strategy_{at % n_strategies}(token_threshold={25 + at}%)",
            f"strategy_{at % n_strategies}",
        )
        for at in range(n_settings)
    ]
    rows = []
    for number in range(12):
        common = {
            "input_tokens_before": 13_398_000.0,
            "peak_tokens_before": 185_500.0,
            "requests": 1_234,
            "needs": 586,
            "cost_before_usd": 20.0,
            "priced_model": "claude-sonnet-4-5",
            "price_basis": "default",
        }
        judged = {
            "regret": 0.453,
            "oracle_reach": 0.987,
            "facts_kept_fraction": 0.833,
            "constraints_kept_fraction": 0.643,
            "quote_kept_fraction": 0.792,
            "quote_needs": 12,
            "compactions": 86,
            "model_calls": 19,
            "compactions_failed": 1,
            "first_failure": "the summary was cut off at the output limit",
            "own_calls_usd": 0.6043,
            "saved_usd": -17.6908,
            "net_saved_usd_p50": -18.1,
            "net_saved_usd_p100": -19.2,
            "cache_hit_fraction": 0.533,
            "cache_hit_fraction_before": 0.964,
            "cache_breaks": 558,
            "rewritten_tokens": 12_679_600.0,
            "break_even_requests": 961.6,
            "repaid_fraction": 0.417,
            "retriggered_fraction": 0.604,
            "absorbed_requests": -15.8,
            "best_trigger_tokens": 16_500.0,
            "retrievals": 309,
            "own_input_tokens": 412_200.0,
            "own_output_tokens": 232_700.0,
            "own_seconds": 593.0,
        }
        name = f"a-long-session-{number}"
        for at, (label, strategy) in enumerate(labels):
            rows.append(
                row(
                    name,
                    label,
                    strategy=strategy,
                    parameters={"token_threshold": f"{25 + at}%"},
                    saving=0.3 + at / 200 + number / 100,
                    reach=1 - at / 100 - number / 40,
                    lost=112 + number,
                    cost_after_usd=66.08,
                    cell_id=f"{number}-{at}",
                    **common,
                    **judged,
                )
            )
        for keep in (95, 50, 5):
            truncated = {"saving": 1 - keep / 100, "reach": keep / 100, "lost": 10}
            label = f"truncate(keep_tokens={keep}%)"
            rows.append(row(name, label, is_control=True, **truncated, **common))
    return rows
