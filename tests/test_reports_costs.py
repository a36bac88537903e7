"""The tables of costs, on rows whose sums, means and medians can be worked out."""

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from evals.metrics import METRICS
from reports import page, tables
from reports.bills import bill_rows, named_bills
from reports.costs import COST_COLUMNS, cost_blocks, price_lines, short_price_lines
from reports.frames import load
from reports.wording import MISSING
from tests.reports_cases import row, small_rows, write_run

PRICED = {
    "priced_model": "m",
    "price_basis": "recorded",
    "cost_before_usd": 2.0,
    "cost_after_usd": 2.0,
}


def priced_rows():
    first = {
        "cost_after_usd": 1.0,
        "saved_usd": 1.0,
        "cost_before_by_rule_usd": 1.2,
        "saved_by_rule_usd": 0.4,
        "net_saved_usd_p50": 0.5,
        "net_saved_usd_p100": 0.0,
        "cache_hit_fraction": 0.8,
        "cache_breaks": 3,
        "rewritten_tokens": 1_500.0,
        "break_even_requests": 4.0,
        "repaid_fraction": 1.0,
        "retriggered_fraction": 0.25,
        "bill_error_fraction": -0.03,
        "bill_rule_error_fraction": -0.28,
        "bill_shown_error_fraction": 0.05,
        "bill_lost_fraction": 0.25,
        "bill_requests": 9,
        "bill_covered_fraction": 0.9,
        "recorded_usd": 4.0,
        "counted_outputs": 3,
        "own_calls_usd": 0.25,
        "own_input_tokens": 4_000.0,
        "own_seconds": 1.5,
    }
    second = {
        "cost_after_usd": 3.0,
        "saved_usd": -1.0,
        "cost_before_by_rule_usd": 2.0,
        "saved_by_rule_usd": -1.2,
        "net_saved_usd_p50": -1.5,
        "net_saved_usd_p100": -2.0,
        "cache_hit_fraction": 0.4,
        "cache_breaks": 5,
        "rewritten_tokens": 500.0,
        "break_even_requests": 8.0,
        "repaid_fraction": 0.5,
        "retriggered_fraction": 0.75,
        "bill_error_fraction": 0.2,
        "bill_rule_error_fraction": 0.08,
        "bill_shown_error_fraction": 0.336,
        "bill_lost_fraction": 0.0,
        "bill_requests": 10,
        "bill_covered_fraction": 1.0,
        "recorded_usd": 1.0,
        "counted_outputs": 0,
    }
    by_default = {**PRICED, "priced_model": "d", "price_basis": "default"}
    return [
        row("a", "x", saving=0.5, reach=0.9, **{**PRICED, **first}),
        row("b", "x", saving=0.5, reach=0.9, **{**by_default, **second}),
    ]


@pytest.fixture
def run(tmp_path):
    return load(write_run(tmp_path / "run", priced_rows()))


def test_a_small_loss_that_is_written_as_zero_has_no_sign(tmp_path):
    rows = [row("a", "x", saving=0.5, **PRICED, absorbed_requests=-0.03, saved_usd=-0.00001)]
    (block,) = cost_blocks(load(write_run(tmp_path / "run", rows)))

    cells = zip(block.columns, block.lines[0].cells, strict=True)
    texts = {column.metric: cell.text for column, cell in cells}

    assert texts["absorbed_requests"] == "0.0"
    assert texts["saved_usd"] == "0.0000"


def test_sums_means_and_medians_by_hand(run):
    (block,) = cost_blocks(run)
    (line,) = block.lines

    cells = {c.title: cell.text for c, cell in zip(block.columns, line.cells, strict=True)}

    assert cells == {
        "Saved, USD": "0.0000",
        "Saved, % of dollars": "0.0",
        "Saved by the rule alone, %": "-25.0",
        "Saved if half is fetched again, %": "-25.0",
        "Saved if all is fetched again, %": "-50.0",
        "Cache hits, % of input": "60.0",
        "Cache breaks": "8",
        "Rewritten, k tokens": "2.0",
        "Break-even N*, requests": "6.0",
        "Repaid, % of compactions": "75.0",
        "Re-triggered, % of compactions": "50.0",
        "Own calls, USD": "0.2500",
        "Own input, k tokens": "4.0",
        "Own seconds": "1.5",
        "n": "2",
    }


def test_what_was_priced_and_how_far_the_bill_is_off_is_said(run):
    assert list(price_lines(run)) == [
        "Dollars are priced as d (1 transcript, by default: they name no model with a price; "
        "--price MODEL prices another) and m (1 transcript).",
        "Simulated bill without compaction against the recorded one, of 2 transcripts with a "
        "recorded bill: median error 18.0 % (largest -28.0 %) by the caching rule alone, 11.5 % "
        "(largest 20.0 %) with the cache losses that the logs show, 19.3 % (largest 33.6 %) as in "
        "the tables, from an empty cache on and at the prices of one model.",
        # 9 + 10 of 20 + 20 requests; (0.9 + 1.0) / 2 of equal dollars; 0.25 x 4 of 4 + 1 dollars.
        "These bills are of 19 of 40 requests and 95.0 % of the dollars. 20.0 % of what they say "
        "was paid because cached prompts were lost within their stated lifetime, for no reason "
        "that the logs show.",
        # One of them lost 25 %: 2 dollars, 1.2 by the rule.
        "Dollars are what would have been paid then: such losses happen with compaction too, and "
        "make long prompts dear. Where they are more than 5 % (1 transcript: $2.00 without "
        "compaction, $1.20 by the rule alone), or the two savings of a setting differ by more than "
        "2 points, the table of costs has savings by the rule alone beside them.",
        "Saved dollars over all transcripts with a price, as paid then and by the rule alone, "
        "where they differ most: x 0.0 % and -25.0 %.",
        "Output is priced by the tokens of the answer for 3 of 40 requests: their logs hold no "
        "number, or less than the answer.",
    ]


def test_transcripts_without_a_recorded_bill_are_counted_with_the_reason(tmp_path):
    untold = row("c", "x", saving=0.5, reach=0.9, **PRICED)
    run = load(write_run(tmp_path / "run", [*priced_rows(), untold]))

    assert list(price_lines(run))[1].endswith(
        "from an empty cache on and at the prices of one model; 1 without: no usage of the priced "
        "model, or usage that does not tell what was cached and no costs beside it."
    )


def test_savings_by_the_rule_alone_stand_where_much_was_lost(tmp_path):
    def shown(lost):
        same = {"cost_before_by_rule_usd": 2.0, "saved_by_rule_usd": 0.0}
        rows = [replace(each, bill_lost_fraction=lost, **same) for each in priced_rows()]
        run = load(write_run(tmp_path / str(lost), rows))
        (block,) = cost_blocks(run)
        said = any("by the rule alone beside them" in line for line in price_lines(run))
        return said, "By rule %" in [column.short for column in block.columns]

    assert shown(0.051) == (True, True)
    assert shown(0.05) == (False, False)
    assert shown(None) == (False, False)


@pytest.mark.parametrize(("by_rule_usd", "shown"), [(-0.05, "-2.5"), (0.0, MISSING), (0.05, "2.5")])
def test_savings_by_the_rule_alone_stand_where_they_differ_by_more_than_two_points(
    tmp_path, by_rule_usd, shown
):
    lost = {**PRICED, "bill_lost_fraction": 0.0, "cost_before_by_rule_usd": 2.0}
    rows = [
        row("a", "x", saving=0.5, **lost, saved_usd=0.0, saved_by_rule_usd=by_rule_usd),
        row("a", "far", saving=0.5, **lost, saved_usd=0.0, saved_by_rule_usd=1.0),
    ]
    (block,) = cost_blocks(load(write_run(tmp_path / "run", rows)))

    at = [column.short for column in block.columns].index("By rule %")

    assert {line.label: line.cells[at].text for line in block.lines} == {"x": shown, "far": "50.0"}


def test_a_transcript_without_a_request_is_in_no_denominator(tmp_path):
    empty = {"requests": 0, "cost_before_usd": 0.0, "cost_after_usd": 0.0, "saved_usd": 0.0}
    silent = row("c", "x", saving=0.0, **{**PRICED, **empty}, input_tokens_before=0.0)
    run = load(write_run(tmp_path / "run", [*priced_rows(), silent]))

    (block,) = cost_blocks(run)
    priced, bills, _ = short_price_lines(run)

    assert block.title.endswith("2 transcripts with a price")
    assert "m (1 transcript)" in priced
    assert bills.startswith("Recorded bills of 2 of 2 transcripts")
    (line,) = run.settings().to_dict("records")
    assert (line["scored"], line["priced"], line["dearer"]) == (3, 2, 1)


def test_the_settings_that_losses_change_most_are_named(tmp_path):
    lost = {**PRICED, "bill_lost_fraction": 0.4, "cost_before_by_rule_usd": 1.0}
    savings = {"least": (1.0, 0.4), "more": (1.2, 0.4), "none": (0.4, 0.2), "most": (0.2, -0.5)}
    rows = [
        row("a", name, saving=0.5, **lost, saved_usd=saved, saved_by_rule_usd=by_rule)
        for name, (saved, by_rule) in {**savings, "third": (0.0, 0.15)}.items()
    ]
    control = row("a", "identity", is_control=True, **lost, saved_usd=0.0, saved_by_rule_usd=1.0)

    (line,) = (
        line
        for line in price_lines(load(write_run(tmp_path / "run", [*rows, control])))
        if "differ most" in line
    )

    # Of 2 dollars as paid then and of 1 by the rule.
    assert line.endswith(
        "differ most: most 10.0 % and -50.0 %; more 60.0 % and 40.0 %; third 0.0 % and 15.0 %."
    )


def test_a_table_of_other_things_says_of_bills_only_the_medians_and_what_was_lost(run):
    _, *said = short_price_lines(run)

    # Errors of a and b: 28 and 8 % by the rule, 3 and 20 % with losses, 5 and 33.6 % as shown; a
    # quarter of the 4 dollars of a was lost, nothing of the 1 dollar of b.
    assert said == [
        "Recorded bills of 2 of 2 transcripts are met within 18.0 % (median) by the caching rule "
        "alone, 11.5 % with the cache losses that their logs show, 19.3 % as in the tables, which "
        "begin with an empty cache and price all requests of a transcript as one model's.",
        "20.0 % of them was paid because cached prompts were lost; what is saved without such "
        "losses is in the table of costs (report --costs).",
    ]


def test_the_error_of_each_bill_is_named_where_they_are_few(run):
    assert list(named_bills(run)) == [
        "Bill errors by file, % (by the rule alone / with losses / as in the tables): "
        "a -28.0 / -3.0 / 5.0; b 8.0 / 20.0 / 33.6."
    ]


def test_of_many_bills_a_terminal_names_those_that_are_farthest_off(tmp_path):
    errors = ((0, 0, 0.01), (0, 0, -0.5), (-0.41, 0, 0), (0, 0, -0.02), (0, 0.3, 0), (0, 0, 0))
    names = ("bill_rule_error_fraction", "bill_error_fraction", "bill_shown_error_fraction")
    rows = [
        row(name, "x", saving=0.5, **PRICED, **dict(zip(names, map(float, each), strict=True)))
        for name, each in zip("abcdef", errors, strict=True)
    ]
    run = load(write_run(tmp_path / "run", rows))

    (line,) = named_bills(run)

    assert line == (
        "Bill errors by file, % (by the rule alone / with losses / as in the tables, the 4 "
        "farthest off, all in report.md): b 0.0 / 0.0 / -50.0; c -41.0 / 0.0 / 0.0; "
        "e 0.0 / 30.0 / 0.0; d 0.0 / 0.0 / -2.0."
    )
    assert len(bill_rows(run)) == 6


def test_every_bill_is_a_line_of_the_markdown_report(run):
    text = tables.markdown(run)

    section = text[text.index("## Recorded bills") :].split("\n\n")[1]
    assert section.splitlines()[2:] == [
        "| `a` | 4.0000 | -28.0 | -3.0 | 5.0 | 25.0 | 9 of 20 |",
        "| `b` | 1.0000 | 8.0 | 20.0 | 33.6 | 0.0 | 10 of 20 |",
    ]


def test_without_a_recorded_bill_there_is_no_table_of_them(tmp_path):
    run = load(write_run(tmp_path / "run", small_rows()))

    assert (list(named_bills(run)), bill_rows(run)) == ([], [])
    assert "## Recorded bills" not in tables.markdown(run)


def test_every_report_has_the_table_and_the_terminal_on_request(run):
    def printed(**options):
        out = io.StringIO()
        Console(file=out, width=200).print(tables.terminal(run, width=200, **options))
        return out.getvalue()

    assert "Bill errors by file" in printed()
    title = "Cost, recorded: 2 transcripts with a price"
    only = printed(only_costs=True)
    assert title in only
    assert "Recorded: 2 transcripts" not in only
    assert "keeps the most" not in only
    assert "Recorded: 2 transcripts" in printed()
    assert title not in printed()
    assert "priced as" in printed()
    assert f"## {title}" in tables.markdown(run)
    content = page.html(run)
    assert content.index("Cost breakdown") < content.index(title)


def test_without_prices_there_is_no_table(tmp_path):
    run = load(write_run(tmp_path / "run", small_rows()))

    assert cost_blocks(run) == ()
    assert list(price_lines(run)) == []


def test_each_column_has_a_definition_that_the_page_shows(run):
    defined = {metric.name for metric in METRICS}

    assert [c.title for c in COST_COLUMNS if c.metric not in defined] == []


def test_the_page_names_what_each_transcript_was_priced_as(run):
    content = page.html(run)
    lines = content[content.index("Each transcript") :]

    assert "<td>m</td><td>-3.0</td><td>-28.0</td><td>5.0</td><td>25.0</td>" in lines
    assert "<td>d (default)</td><td>20.0</td><td>8.0</td><td>33.6</td><td>0.0</td>" in lines


def test_the_columns_of_settings_begin_behind_those_of_the_transcript(run):
    content = page.html(run)
    table = content[content.index('<table class="matrix"') :]
    head, line = table[: table.index("</thead>")], table[table.index("<tbody>") :]

    columns = re.findall(r"<col (?!data-setting)[^>]*>", head)
    spans = [re.search(r'span="([0-9]+)"', column) for column in columns]
    span = sum(int(found[1]) if found else 1 for found in spans)
    n_settings = head.count("data-setting=")
    assert n_settings > 0
    assert head.count("<th ") == span + n_settings
    first = line[: line.index("</tr>")]
    assert first.count("<td>") + 1 == span + n_settings


def test_the_definition_of_a_column_speaks_of_what_it_shows():
    said = {metric.name: metric.definition for metric in METRICS}
    metric_of = {column.short: column.metric for column in COST_COLUMNS}

    assert "Tokens as reported" in said[metric_of["Own in k"]]
    assert "Tokens as reported" in said[metric_of["Own out k"]]
    assert "Uncompacted" in said[metric_of["Hits before %"]]
    assert "as a share of the dollars without" in said[metric_of["Half fetched %"]]
