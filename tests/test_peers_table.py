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


@pytest.mark.usefixtures("work")
def test_the_truncating_rule_keeps_whole_lines_of_the_last_30_percent():
    from keep_tail import keep_tail

    # Five lines of 10 characters and 4 breaks: 54. The last 16 are 5 of a cut line, a break and
    # the last line.
    turns = [("user", f"{number}ab") for number in range(5)]

    assert keep_tail(turns) == "[user] 4ab"
