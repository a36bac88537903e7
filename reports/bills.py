"""How far simulated bills are from those that the logs recorded, over all and log by log."""

from collections.abc import Iterator
from typing import Final

import pandas as pd

from reports.aggregates import priced_of
from reports.frames import Run
from reports.wording import clean, count, number, percent, plural

MUCH_LOST: Final = 0.05
"""Above this share of what was paid, losses of the cache change what compaction saves by much, and
it is shown without them too. This project's choice."""
MUCH_CHANGED: Final = 0.02
"""Of the dollars: where what a setting saves differs by more, it is shown without losses too,
however little was lost. This project's choice."""
MAX_NAMED: Final = 4
"""Bills that a terminal names; the other reports have all."""
HEADS: Final = (
    *("Transcript", "Recorded, USD", "Error by rule alone, %", "With cache losses, %"),
    *("As in the tables, %", "Lost in lifetime, %", "Requests covered"),
)
TITLE: Final = "Recorded bills"
_ERRORS: Final = (
    "bill_rule_error_fraction",
    "bill_error_fraction",
    "bill_shown_error_fraction",
)
_UNTOLD: Final = (
    "no usage of the priced model, or usage that does not tell what was cached and no costs beside "
    "it"
)


def priced_transcripts(run: Run) -> pd.DataFrame:
    """Return a row for each transcript with a price; what it costs is the same in all of them."""
    return priced_of(run.rows[run.rows["scored"]]).drop_duplicates("key")


def bill_lines(of_each: pd.DataFrame) -> Iterator[str]:
    """Yield how far recorded bills are reproduced, how much of them, and what was lost."""
    told = _told(of_each)
    if told.empty:
        return
    untold = len(of_each) - len(told)
    why = f"; {untold} without: {_UNTOLD}" if untold else ""
    by_rule, with_losses, shown = (_error_of(told[name]) for name in _ERRORS)
    yield (
        "Simulated bill without compaction against the recorded one, of "
        f"{plural(len(told), 'transcript')} with a recorded bill: median error {by_rule} by the "
        f"caching rule alone, {with_losses} with the cache losses that the logs show, {shown} as "
        f"in the tables, from an empty cache on and at the prices of one model{why}."
    )
    covered = (told["bill_covered_fraction"] * told["cost_before_usd"]).sum()
    yield (
        f"These bills are of {count(told['bill_requests'].sum())} of "
        f"{plural(int(told['requests'].sum()), 'request')} and "
        f"{percent(covered / told['cost_before_usd'].sum())} % of the dollars. "
        f"{_lost_percent(told)} % of what they say was paid because cached prompts "
        "were lost within their stated lifetime, for no reason that the logs show."
    )
    yield from _losses(told)


def short_bill_lines(of_each: pd.DataFrame) -> Iterator[str]:
    """Yield the medians of the errors, and that much was lost if it was; two lines at most."""
    told = _told(of_each)
    if told.empty:
        return
    by_rule, with_losses, shown = (percent(told[name].abs().median()) for name in _ERRORS)
    yield (
        f"Recorded bills of {len(told):,} of {plural(len(of_each), 'transcript')} are met within "
        f"{by_rule} % (median) by the caching rule alone, {with_losses} % with the cache losses "
        f"that their logs show, {shown} % as in the tables, which begin with an empty cache and "
        "price all requests of a transcript as one model's."
    )
    if (told["bill_lost_fraction"] > MUCH_LOST).any():
        yield (
            f"{_lost_percent(told)} % of them was paid because cached prompts were lost; what is "
            "saved without such losses is in the table of costs (report --costs)."
        )


def _lost_percent(told: pd.DataFrame) -> str:
    lost_usd = (told["bill_lost_fraction"] * told["recorded_usd"]).sum()
    return percent(lost_usd / told["recorded_usd"].sum())


def _losses(told: pd.DataFrame) -> Iterator[str]:
    lossy = told[told["bill_lost_fraction"] > MUCH_LOST]
    if len(lossy):
        before, by_rule = (
            number(lossy[name].sum(), 2) for name in ("cost_before_usd", "cost_before_by_rule_usd")
        )
        yield (
            "Dollars are what would have been paid then: such losses happen with compaction too, "
            f"and make long prompts dear. Where they are more than {percent(MUCH_LOST, 0)} % "
            f"({plural(len(lossy), 'transcript')}: ${before} without compaction, ${by_rule} by the "
            "rule alone), or the two savings of a setting differ by more than "
            f"{percent(MUCH_CHANGED, 0)} points, the table of costs has savings by the rule alone "
            "beside them."
        )


def named_bills(run: Run) -> Iterator[str]:
    """Yield a line with the errors of each bill, or of those that are farthest off in any."""
    told = _told(priced_transcripts(run))
    if told.empty:
        return
    worst = told[list(_ERRORS)].abs().max(axis="columns")
    farthest = worst.sort_values(ascending=False, kind="stable")
    chosen = told.loc[farthest.index[:MAX_NAMED]] if len(told) > MAX_NAMED else told
    which = "" if len(told) <= MAX_NAMED else f", the {MAX_NAMED} farthest off, all in report.md"
    each = (
        f"{clean(line['transcript'], 40)} {' / '.join(percent(line[name]) for name in _ERRORS)}"
        for _, line in chosen.iterrows()
    )
    yield (
        "Bill errors by file, % (by the rule alone / with losses / as in the tables"
        f"{which}): {'; '.join(each)}."
    )


def bill_rows(run: Run) -> list[tuple[str, ...]]:
    """Return a row of texts for each transcript with a recorded bill, as `HEADS`."""
    return [
        (
            clean(line["transcript"]),
            number(line["recorded_usd"], 4),
            *(percent(line[name]) for name in _ERRORS),
            percent(line["bill_lost_fraction"]),
            f"{count(line['bill_requests'])} of {count(line['requests'])}",
        )
        for _, line in _told(priced_transcripts(run)).iterrows()
    ]


def _told(of_each: pd.DataFrame) -> pd.DataFrame:
    return of_each[of_each["bill_rule_error_fraction"].notna()]


def _error_of(errors: "pd.Series[float]") -> str:
    worst = max(errors, key=abs)
    return f"{percent(errors.abs().median())} % (largest {percent(worst)} %)"
