import re
import sys
from pathlib import Path

import pytest

WORK = Path(__file__).parent / "benchmarks" / "peer_work"


@pytest.fixture
def work(monkeypatch):
    monkeypatch.syspath_prepend(str(WORK))
    yield
    for name in ("jobs", "table", "keep_tail"):
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("work")
def test_a_row_of_the_table_has_medians_and_a_tool_that_did_not_run_has_none():
    from table import HEADER, Row, Timing, table

    # Medians of (1, 9, 2), (30, 10, 20) and of the two known of (-, 0.5, 0.7).
    timings = (Timing(1, 30), Timing(9, 10, 0.5), Timing(2, 20, 0.7))
    rows = [
        Row("a|b", "1.0", "all\nof it", timings, "40 facts", ""),
        Row("c", "-", "some", (), "not run: no such package", "x"),
    ]

    header, rule, first, second = table(rows).splitlines()

    assert header.count("|") == rule.count("|") == len(HEADER) + 1
    assert first == "| a\\|b | 1.0 | all of it | 2.00 | 0.60 | 20.00 | 40 facts | - |"
    assert second == "| c | - | some | - | - | - | not run: no such package | x |"


@pytest.mark.usefixtures("work")
def test_two_tools_agree_in_a_request_if_they_edit_the_same_messages():
    from jobs import differing

    said = differing([[3], [3, 5], [3, 5]], [[3], [5, 3], [3, 7, 9]])

    assert said == (
        "same results cleared in 2 of 3 requests (1 results cleared only here, 2 only there)"
    )


ROOT = Path(__file__).resolve().parents[1]
OURS = "compaction-evals"
ROWS = (
    (("compaction-conformance-kit", "`check`: 5 rounds"), "5 rounds, 40 planted facts"),
    ((OURS, "`run`: the same code"), "the same, with report"),
    (("inspect-ai", "`CompactionTrim`"), "`CompactionTrim`, 207 requests"),
    ((OURS, "preset `inspect_trim`"), "preset `inspect_trim`, views alone"),
    (("inspect-ai", "`CompactionEdit`"), "`CompactionEdit`, 207 requests"),
    ((OURS, "preset `inspect_edit`"), "preset `inspect_edit`, views alone"),
    (("cutctx", "`ObservationMaskingPolicy`"), "masking, keep 3, 207 requests"),
    ((OURS, "`run` of `inspect_edit`"), "`inspect_edit`, everything scored, with report"),
)
"""A row of PEERS.md, by tool and beginning of what was run -> the work of a README row."""


def cells_below(text, head):
    """Return the rows of the first table whose header begins so, as lists of cells."""
    lines = text[text.index(head) :].splitlines()
    end = next((at for at, line in enumerate(lines) if not line.startswith("|")), len(lines))
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines[2:end]]


def figures(text):
    """Return the numbers of a result that a reader compares: requests, facts, columns."""
    return set(re.findall(r"\d+(?= of \d+ (?:views|requests))|\d+(?= views)|\d+(?= columns)", text))


def test_the_table_of_the_readme_is_that_of_the_last_measurement():
    measured = (ROOT / "tests" / "benchmarks" / "PEERS.md").read_text("utf-8")
    readme = (ROOT / "README.md").read_text("utf-8")
    ours = cells_below(readme, "| tool | work |")
    known = {work: (tool, seconds, result) for tool, work, seconds, result in ours}
    rows = cells_below(measured, "| tool | version")
    date = re.search(r"^(\d{4}-\d\d-\d\d), ", measured, re.MULTILINE)[1]

    assert [work for _, work in ROWS] == [work for _, work, *_ in ours]
    assert f"Measured on {date} " in readme
    for (tool, what), work in ROWS:
        (row,) = [each for each in rows if each[0] == tool and each[2].startswith(what)]
        version = row[1].partition(",")[0]
        shown, seconds, result = known[work]
        assert shown == ("this" if tool == OURS else f"{tool} {version}")
        assert seconds == row[3], work
        assert figures(result) <= figures(row[6]), work
        if "held" in result:
            assert result.removesuffix(" of 40 held") in row[6], work


@pytest.mark.usefixtures("work")
def test_the_truncating_rule_keeps_whole_lines_of_the_last_30_percent():
    from keep_tail import keep_tail

    # Five lines of 10 characters and 4 breaks: 54. The last 16 are 5 of a cut line, a break and
    # the last line.
    turns = [("user", f"{number}ab") for number in range(5)]

    assert keep_tail(turns) == "[user] 4ab"
