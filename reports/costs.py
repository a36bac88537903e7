"""What each setting costs and why: cache, breaks, repayment, retrievals, own calls, by setting.

Over the transcripts with a price, each counted alike; sums where the title says so. How far
simulated bills are from what the logs recorded is in `reports.bills`.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

import pandas as pd

from reports.aggregates import priced_of
from reports.bills import (
    MUCH_CHANGED,
    MUCH_LOST,
    bill_lines,
    priced_transcripts,
    short_bill_lines,
)
from reports.columns import Cell, Column, Line
from reports.frames import Run
from reports.league import Block, ranked
from reports.matched import TRUNCATE
from reports.wording import MISSING, clean, count, kilo, listed, number, percent, plural

TITLE: Final = "Cost"
LEAST_CHANGE: Final = 0.01
"""Of the dollars: a smaller change of what is saved is not named above the tables."""
MAX_CHANGED: Final = 3
_AS_PAID: Final = "saved_usd_fraction"
_BY_RULE: Final = "saved_by_rule_usd"
_SUMS: Final = (
    *("cost_before_usd", "cost_after_usd", "saved_usd", "net_saved_usd_p50", "net_saved_usd_p100"),
    *("cost_before_by_rule_usd", "saved_by_rule_usd"),
    *("own_calls_usd", "own_input_tokens", "own_output_tokens", "own_seconds"),
    *("cache_breaks", "rewritten_tokens", "retrievals", "model_calls"),
)
_MEANS: Final = (
    "cache_hit_fraction",
    "cache_hit_fraction_before",
    "repaid_fraction",
    "retriggered_fraction",
)
_MEDIANS: Final = ("break_even_requests", "absorbed_requests", "best_trigger_tokens")


def cost_blocks(run: Run) -> tuple[Block, ...]:
    """Return a table for each provenance of which anything was priced."""
    found = (_block(run, provenance) for provenance in run.provenances)
    return tuple(block for block in found if block is not None)


def short_price_lines(run: Run) -> Iterator[str]:
    """Yield what has to be known of dollars in a table that is not about them."""
    of_each = priced_transcripts(run)
    if not of_each.empty:
        yield from _choice_lines(run, of_each)
        yield from short_bill_lines(of_each)


def _choice_lines(run: Run, of_each: pd.DataFrame) -> Iterator[str]:
    yield f"Dollars are priced as {priced_models(of_each)}."
    yield from price_file_lines(run)


def price_lines(run: Run) -> Iterator[str]:
    """Yield as what the transcripts were priced, and how far that is from recorded bills."""
    of_each = priced_transcripts(run)
    if of_each.empty:
        return
    yield from _choice_lines(run, of_each)
    yield from bill_lines(of_each)
    yield from _changed_lines(run)
    counted, requests = (int(of_each[name].sum()) for name in ("counted_outputs", "requests"))
    if counted:
        yield (
            f"Output is priced by the tokens of the answer for {count(counted)} of "
            f"{plural(requests, 'request')}: their logs hold no number, or less than the answer."
        )


def _changed_lines(run: Run) -> Iterator[str]:
    """Yield the settings of which the losses of the logs change most what they save."""
    found = [
        (line.label, _cell_of(block, line, _AS_PAID), _cell_of(block, line, _BY_RULE))
        for block in cost_blocks(run)
        for line in block.lines
        if not line.is_control
    ]
    known = [
        (abs(saved.value - by_rule.value), f"{label} {saved.text} % and {by_rule.text} %")
        for label, saved, by_rule in found
        if saved.value is not None and by_rule.value is not None
    ]
    known = sorted((each for each in known if each[0] >= LEAST_CHANGE), key=lambda one: -one[0])
    if known:
        yield (
            "Saved dollars over all transcripts with a price, as paid then and by the rule alone, "
            f"where they differ most: {'; '.join(text for _, text in known[:MAX_CHANGED])}."
        )


def _cell_of(block: Block, line: Line, metric: str) -> Cell:
    metrics = [column.metric for column in block.columns]
    return line.cells[metrics.index(metric)] if metric in metrics else Cell(MISSING)


def priced_models(of_each: pd.DataFrame) -> str:
    """List the models that transcripts are priced as, with how many and by whose choice."""
    models = Counter(
        (clean(row["priced_model"]), str(row["price_basis"])) for _, row in of_each.iterrows()
    )
    return listed(
        [
            f"{model} ({plural(n, 'transcript')}{_BASIS.get(basis, '')})"
            for (model, basis), n in sorted(models.items())
        ]
    )


def price_file_lines(run: Run) -> Iterator[str]:
    """Yield for how many transcripts a price file was of use, and why not for all."""
    of_each = priced_transcripts(run)
    used = of_each["price_file_used"].dropna().astype(bool)
    if used.empty:
        return
    models = [clean(name) for name in run.manifest.get("price_file", ())]
    is_asked = (of_each["price_basis"] == "given").all()
    others = "--price asked for another" if is_asked else "the others name another, or none"
    why = "" if used.all() else f"; it has prices of {listed(models)}, and {others}"
    yield f"Price file: used for {int(used.sum()):,} of {plural(len(used), 'transcript')}{why}."


_BASIS: Final = {
    "default": ", by default: they name no model with a price; --price MODEL prices another",
    "given": ", as --price asked",
    "file": ", from the price file",
}


def priced_as(model: Any, basis: str) -> str:
    """Return the model that a transcript was priced as, marked where that is nobody's choice."""
    if pd.isna(model):
        return MISSING
    return f"{clean(model)} (default)" if basis == "default" else clean(model)


def _block(run: Run, provenance: str) -> Block | None:
    rows = run.rows[(run.rows["provenance"] == provenance) & run.rows["scored"]]
    rows = priced_of(rows[rows["strategy"] != TRUNCATE])
    if rows.empty:
        return None
    settings = run.settings()
    order = ranked(settings[settings["provenance"] == provenance])["label"]
    by_label = {str(label): _line(group) for label, group in rows.groupby("label", sort=False)}
    found = [(label, by_label[label]) for label in map(str, order) if label in by_label]
    columns = tuple(
        column
        for column in COST_COLUMNS
        if any(column.cell(line).text != MISSING for _, line in found)
    )
    lines = tuple(
        Line(clean(label), line["is_control"], tuple(column.cell(line) for column in columns))
        for label, line in found
    )
    n = int(rows["key"].nunique())
    title = f"{TITLE}, {clean(provenance)}: {plural(n, 'transcript')} with a price"
    with_needs = int(rows.loc[rows["needs"] > 0, "key"].nunique())
    return Block(provenance, title, n, with_needs, columns, lines, NOTES)


def _line(group: pd.DataFrame) -> Mapping[str, Any]:
    """Return one setting: replicates of a transcript averaged, then sums, means and medians."""
    each = group.groupby("key", sort=False)[[*_SUMS, *_MEANS, *_MEDIANS]].mean()
    return {
        "is_control": bool(group["is_control"].iloc[0]),
        "n": len(each),
        "is_much_lost": bool((group["bill_lost_fraction"] > MUCH_LOST).any()),
        **{name: each[name].sum(min_count=1) for name in _SUMS},
        **{name: each[name].mean() for name in _MEANS},
        **{name: each[name].median() for name in _MEDIANS},
    }


def _of(write: Callable[[float | None], str], name: str) -> Callable[[Mapping[str, Any]], Cell]:
    def cell(line: Mapping[str, Any]) -> Cell:
        value = line[name]
        return Cell(MISSING) if pd.isna(value) else Cell(write(value), float(value))

    return cell


def _share(name: str) -> Callable[[Mapping[str, Any]], Cell]:
    def cell(line: Mapping[str, Any]) -> Cell:
        value, before = line[name], line["cost_before_usd"]
        if pd.isna(value) or not before:
            return Cell(MISSING)
        return Cell(percent(value / before), float(value / before))

    return cell


def _by_rule(line: Mapping[str, Any]) -> Cell:
    before = line["cost_before_by_rule_usd"]
    if pd.isna(before) or not before:
        return Cell(MISSING)
    share = float(line["saved_by_rule_usd"] / before)
    paid = _AS_PAID_SHARE(line).value
    is_changed = paid is not None and abs(paid - share) > MUCH_CHANGED
    return Cell(percent(share), share) if line["is_much_lost"] or is_changed else Cell(MISSING)


_AS_PAID_SHARE: Final = _share("saved_usd")
_usd: Final = partial(number, digits=4)
_tenths: Final = partial(number, digits=1)
_HITS: Final = _of(percent, "cache_hit_fraction")
_HITS_BEFORE: Final = _of(percent, "cache_hit_fraction_before")
_REWRITTEN: Final = _of(kilo, "rewritten_tokens")
_BREAK_EVEN: Final = _of(_tenths, "break_even_requests")
_REPAID: Final = _of(percent, "repaid_fraction")
_RETRIGGERED: Final = _of(percent, "retriggered_fraction")
_ABSORBS: Final = _of(_tenths, "absorbed_requests")
_BEST_TRIGGER: Final = _of(kilo, "best_trigger_tokens")
_HALF, _ALL = "Saved if half is fetched again, %", "Saved if all is fetched again, %"
_AGAIN: Final = "Re-triggered, % of compactions"
_LAMBDA: Final = "Absorbs lambda*, requests per 1,000 tokens"
COST_COLUMNS: Final = (
    Column("Saved, USD", "Saved $", "saved_usd", 1, _of(_usd, "saved_usd")),
    Column("Saved, % of dollars", "Saved $ %", "saved_usd_fraction", 0, _AS_PAID_SHARE),
    Column("Saved by the rule alone, %", "By rule %", _BY_RULE, 2, _by_rule),
    Column(_HALF, "Half fetched %", "net_saved_usd_p50", 7, _share("net_saved_usd_p50")),
    Column(_ALL, "All fetched %", "net_saved_usd_p100", 6, _share("net_saved_usd_p100")),
    Column("Cache hits, % of input", "Hits %", "cache_hit_fraction", 3, _HITS),
    Column("Cache hits uncompacted, %", "Hits before %", "cache_hit_fraction", 9, _HITS_BEFORE),
    Column("Cache breaks", "Breaks", "cache_breaks", 5, _of(count, "cache_breaks")),
    Column("Rewritten, k tokens", "Rewr k tok", "rewritten_tokens", 8, _REWRITTEN),
    Column("Break-even N*, requests", "N*", "break_even_requests", 3, _BREAK_EVEN),
    Column("Repaid, % of compactions", "Repaid %", "repaid_fraction", 9, _REPAID),
    Column(_AGAIN, "Again %", "retriggered_fraction", 10, _RETRIGGERED),
    Column(_LAMBDA, "lambda*", "absorbed_requests", 10, _ABSORBS),
    Column("Best trigger h*, k tokens", "h* k tok", "best_trigger_tokens", 11, _BEST_TRIGGER),
    Column("Retrievals", "Fetches", "retrievals", 12, _of(count, "retrievals")),
    Column("Own calls, USD", "Own $", "own_calls_usd", 4, _of(_usd, "own_calls_usd")),
    Column("Own input, k tokens", "Own in k", "own_calls_usd", 14, _of(kilo, "own_input_tokens")),
    Column(
        "Own output, k tokens", "Own out k", "own_calls_usd", 15, _of(kilo, "own_output_tokens")
    ),
    Column("Own seconds", "Own s", "own_seconds", 16, _of(_tenths, "own_seconds")),
    Column("n", "n", "priced_model", 4, _of(count, "n")),
)
NOTES: Final = (
    "Dollars, breaks, tokens, retrievals, calls and seconds are sums; cache hits, repaid and "
    "re-triggered are means over transcripts; N*, lambda* and h* medians over the transcripts that "
    "have any, and one where most compactions are never repaid has no N*. All of it is over the n "
    "transcripts with a price, whether a setting did anything or not.",
)
