"""What stands around the table: what was run, caveats, faults, provenance, for every report."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pandas as pd

from reports.frames import Run
from reports.matched import EXPLANATION
from reports.wording import clean, count, percent, plural, tokens, with_n

MAX_LINE_CHARS: Final = 2_000
"""A command line may be long, and is there to be copied."""
PLACEBO_WARNING: Final = 0.02
"""Above this share of needs that an unrelated text would also meet, a report says so."""
CAVEATS: Final = (
    "Fixed trajectory: the recorded actions are replayed; an agent might have acted differently "
    "on a compacted context.",
    "Reach is an estimate from text: visible is not understood; another form is missed.",
    "Recorded, authored and generated transcripts are never pooled.",
    "What is lost is judged on transcripts on which a setting saved at least 1 % (n); failed cells "
    "stay in the count of all. Reach is a mean over transcripts, each counted alike; needs "
    "reached, mentioned and lost are counted together: there a long transcript weighs more.",
    "Intervals are 95 %, by bootstrap over sessions (of fewer than 20 the wider of it and "
    "Student's t), for each setting alone: they are not corrected for the number of settings "
    "compared, and say nothing of future conversations of another kind.",
    EXPLANATION,
)
SHORT_CAVEATS: Final = (
    "Fixed trajectory; reach is an estimate from text; authored and recorded data are not pooled. "
    "n = transcripts."
)


def headline(run: Run) -> tuple[str, ...]:
    """Say what was run, in a few lines; calibration only where usage was recorded."""
    of_each = transcripts(run)
    if of_each.empty:
        return ("No cell was run.",)
    n, total = len(of_each), of_each["input_tokens_before"].sum()
    size = f"{tokens(total)} input tokens" if total else "input tokens not measured"
    lines = [
        f"{plural(n, 'transcript')} ({_parts(of_each)}), {_settings(run)}, "
        f"{count(of_each['requests'].sum())} requests, {size} "
        f"by {clean(run.manifest.get('measuring_counter', 'an unnamed counter'))}.",
        *_calibration(of_each),
        *_files(run),
    ]
    placebo = run.rows.groupby("key")["placebo_fraction"].mean().dropna()
    if len(placebo) and placebo.mean() > PLACEBO_WARNING:
        lines.append(
            f"Placebo rate {with_n(percent(placebo.mean()), len(placebo))} %: that share of needs "
            "is met by chance in an unrelated transcript; reach is too high by up to as much."
        )
    if run.incomplete:
        lines.append(clean(f"{run.incomplete[0].upper()}{run.incomplete[1:]}", MAX_LINE_CHARS))
    if run.n_stale:
        lines.append(f"{plural(run.n_stale, 'row')} of other commands or versions left out.")
    return tuple(lines)


def _calibration(of_each: pd.DataFrame) -> Iterator[str]:
    """Yield how well sizes fit; the usage of a made transcript is no measurement."""
    is_recorded = of_each["provenance"] == "recorded"
    is_fitted = of_each["calibration_error_fraction"].notna()
    if is_recorded.any():
        errors = of_each.loc[is_recorded & is_fitted, "calibration_error_fraction"]
        text = f"{len(errors):,} of {plural(int(is_recorded.sum()), 'recorded transcript')}"
        end = f", median error {percent(errors.median())} %." if len(errors) else "."
        yield f"Calibrated to recorded usage in {text}{end}"
    made = of_each[~is_recorded]
    for provenance, group in made.groupby("provenance", sort=True):
        text = plural(len(group), f"{clean(provenance)} transcript")
        if group["calibration_error_fraction"].notna().any():
            yield f"Usage of {text} is computed, not billed, so it says nothing of a real bill."


def _files(run: Run) -> Iterator[str]:
    """Yield which files are not in the numbers, if there are any."""
    counts = (
        ("not read", _length(run.manifest, "refused")),
        ("passed over", _length(run.manifest, "passed_over")),
        ("noted in what was read", _length(run.manifest, "noted")),
    )
    parts = [f"{n:,} {what}" for what, n in counts if n]
    if parts:
        yield f"Files: {', '.join(parts)}; see run.json."


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
        "priced_model",
        "price_basis",
        "bill_error_fraction",
        "bill_rule_error_fraction",
        "bill_shown_error_fraction",
        "bill_lost_fraction",
        "needs",
        "facts",
    ]
    best_first = run.rows.sort_values("scored", ascending=False, kind="stable")
    firsts = best_first.groupby("key", sort=False)[columns].first()
    return firsts.sort_values(["provenance", "transcript"], kind="stable")


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
        ("Calibration", " ".join(_calibration(transcripts(run))) or "no transcript has usage"),
        ("Prices", "; ".join(map(_price, manifest.get("prices", ())))),
        ("Summaries by", clean(manifest.get("model", ""))),
        ("Seed", clean(manifest.get("seed", ""))),
        ("Metrics version", clean(manifest.get("metrics_version", ""))),
        ("Python", clean(manifest.get("python", ""))),
        ("Versions", ", ".join(f"{clean(k)} {clean(v)}" for k, v in sorted(versions.items()))),
        ("Files refused", count(_length(manifest, "refused"))),
        ("Files passed over", count(_length(manifest, "passed_over"))),
        ("Notes on files", count(_length(manifest, "noted"))),
    )


def _price(prices: Mapping[str, Any]) -> str:
    """Write one price vector as a run names it, with its date and its source."""
    usd = _mapping(prices.get("usd_per_million_tokens"))
    parts = ", ".join(f"{clean(name, 20)} {clean(value, 20)}" for name, value in usd.items())
    caching = clean(_mapping(prices.get("caching")).get("name", "no caching"))
    return (
        f"{clean(prices.get('model'))}, {clean(prices.get('source'))} of "
        f"{clean(prices.get('as_of'))}, USD per million tokens: {parts}; {caching}"
    )


def _settings(run: Run) -> str:
    """Count settings apart from controls: what is compared is the settings."""
    labels = run.rows.groupby("is_control")["label"].nunique()
    n, n_controls = int(labels.get(False, 0)), int(labels.get(True, 0))
    text = plural(n, "setting")
    return f"{text} and {plural(n_controls, 'control')}" if n_controls else text


def _length(manifest: Mapping[str, Any], name: str) -> int:
    found = manifest.get(name)
    return len(found) if isinstance(found, Sequence) and not isinstance(found, str) else 0


def _parts(of_each: pd.DataFrame) -> str:
    sizes = of_each.groupby("provenance").size()
    return ", ".join(f"{size} {clean(name)}" for name, size in sizes.items())


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
