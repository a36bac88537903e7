"""Texts of a strategy against what was said, by hand."""

import json

import pytest

from compaction.history import View, generated
from compaction.strategy import CompactionEvent
from tests.needs_cases import prepared, result, says, steps, user
from tests.rule_cases import Rule, scored, summarised

TALK = (
    user("Look at /srv/billing/export.log and keep port=8787."),
    says("", ("c1", "read_file", {"path": "src/ledger.py"})),
    result("c1", "def book_entry(): retry_limit=5 token abc https://intra.example/wiki/Ledger"),
    *steps(3),
    says("Done."),
)


def columns(text):
    return scored(prepared(*TALK), summarised(text)).columns


@pytest.mark.parametrize(
    ("text", "written", "unsupported", "drifted"),
    [
        ("We looked at /srv/billing/export.log with port=8787.", 2, 0, 0),
        ("We looked at /srv/billing/import.log.", 1, 1, 0),
        # The key is known with another value only.
        # The name `retry_limit` is a reference of its own.
        ("It runs with port=9999 and retry_limit=5.", 3, 1, 1),
        # An unknown key is invented, and no drift.
        ("It runs with max_depth=3 on src/ledger.py.", 3, 2, 0),
        # A part of something longer was said.
        ("The file ledger.py has book_entry.", 2, 0, 0),
        ("Nothing exact was said.", 0, None, 0),
    ],
)
def test_references_of_a_summary(text, written, unsupported, drifted):
    found = columns(text)

    share = None if unsupported is None else unsupported / written
    assert found["written_references"] == written
    assert found["unsupported_fraction"] == share
    assert found["drifted_pairs"] == drifted


def test_the_handles_of_a_strategy_are_no_references_of_its_texts():
    """The text names what was made up, what was said, and the strategy's own handle."""
    text = "See /srv/made/up.log, port=8787 and /store/offloaded_results_1.txt."

    def write(history):
        event = CompactionEvent("rule", "applied", handles=("/store/offloaded_results_1.txt",))
        return View((generated("user", text, history.entries(), "rule"),), (event,))

    found = scored(prepared(*TALK), Rule(write)).columns

    assert (found["written_references"], found["unsupported_fraction"]) == (2, 0.5)


def test_what_is_said_later_supports_nothing_written_before():
    later = (*TALK[:-1], user("Now see /etc/hosts.allow"), says("Done."))

    found = scored(prepared(*later), summarised("See /etc/hosts.allow.")).columns

    assert found["unsupported_fraction"] == 1.0


def test_a_text_that_stands_for_many_requests_counts_once():
    found = scored(prepared(*TALK), summarised("See /srv/x/one.log and /srv/x/two.log."))

    assert found.columns["written_references"] == 2
    rows = found.sidecar["unsupported"]["rows"]
    assert [row[1:] for row in rows] == [["path", 1, False]] * 2


def test_the_sidecar_names_them_only_if_text_is_shown():
    text = "See /srv/secret/place.log."

    hidden = json.dumps(scored(prepared(*TALK), summarised(text)).sidecar)
    shown = json.dumps(scored(prepared(*TALK), summarised(text), show_text=True).sidecar)

    assert "/srv/secret/place.log" not in hidden
    assert "/srv/secret/place.log" in shown


def test_without_written_texts_there_is_no_rate():
    found = scored(prepared(*TALK), summarised("x", after=1000)).columns

    assert (found["written_references"], found["unsupported_fraction"]) == (0, None)


def test_what_is_unsupported_is_listed_in_the_same_order_in_every_process():
    texts = [" ".join(f"/srv/made/up/{name}_{number}.log" for number in range(20)) for name in "za"]

    def write_both(history):
        written = (generated("user", text, history.entries(), "rule") for text in texts)
        return View((*written,))

    sidecar = scored(prepared(*TALK), Rule(write_both), show_text=True).sidecar

    listed = [row[0] for row in sidecar["unsupported"]["rows"]]
    assert listed == [path for text in texts for path in sorted(text.split())]
