"""One request under one setting: both sides, the needs, and what would have kept them."""

import sys
from dataclasses import asdict, replace

import pytest

from compaction.errors import CompactionError
from compaction.extractive import ExtractiveModel
from evals.cli import main
from evals.explain import explain
from evals.explain_text import event_lines, headline, need_lines, rows_of
from evals.needs import find_needs
from evals.settings import Setting, bind
from reports.explain_page import page
from tests.needs_cases import prepared, result, says, steps, user
from tests.rule_cases import summarised
from tests.run_cases import write_chats

LOG = "/srv/billing/ledger_export.log"
LINE = f"the nightly export writes every booking into {LOG} before midnight"
TALK = (
    user("Find it."),
    says("", ("c1", "read_notes", {"n": 1})),
    result("c1", f"head\n{LINE}\ntail"),
    *steps(4),
    says(f"I open {LOG}."),
    user("Thanks."),
    says("Bye."),
)


def explained(strategy, request=None, talk=TALK):
    conversation = prepared(*talk)
    needs = find_needs(conversation)
    return explain(conversation, needs, strategy, ExtractiveModel(), label="rule", request=request)


def test_without_a_request_it_is_the_first_at_which_something_was_missing():
    found = explained(summarised("nothing"))

    assert found.request == 5
    assert found.missing_at == ((5, 1),)
    (need,) = found.needs
    assert (need.status, need.value, need.source, need.source_line) == ("lost", LOG, 2, LINE)


def test_if_nothing_was_missing_it_is_the_last_request():
    found = explained(summarised("x", after=1000))

    assert (found.request, found.missing_at) == (6, ())


def test_what_would_have_kept_a_need_is_counted_from_its_source():
    conversation = prepared(*TALK)
    counter = conversation.counter

    (need,) = explained(summarised("nothing")).needs

    # c1 and the four results after it.
    assert need.keep_last_results == 5
    assert need.keep_last_tokens == sum(map(counter.count, TALK[2:11]))


def test_keeping_so_many_results_does_keep_it():
    conversation = prepared(*TALK)
    (need,) = explained(summarised("nothing")).needs

    def keeps(count):
        parameters = {"keep_last_results": str(count)}
        strategy = bind(Setting("clear_tool_results", parameters), conversation)
        return explained(strategy, request=5).needs[0].status

    assert keeps(need.keep_last_results) == "visible_source"
    assert keeps(need.keep_last_results - 1) != "visible_source"


def test_every_message_of_the_history_stands_once_beside_what_became_of_it():
    found = explained(summarised("a summary", keep_last=2), request=5)

    indices = [pair.index for pair in found.pairs if pair.index is not None]
    assert indices == [*range(11)]
    written = [pair for pair in found.pairs if pair.fate == "written"]
    assert [(pair.after, pair.stands_for) for pair in written] == [("a summary", "0-8")]
    fates = [pair.fate for pair in found.pairs if pair.index is not None]
    assert fates == ["summarised"] * 9 + ["whole"] * 2


def test_the_sizes_are_those_of_the_replay():
    found = explained(summarised("x", after=1000), request=3)

    assert found.tokens_before == found.tokens_after
    assert headline(found).startswith("talk under rule, request 3: ")


@pytest.mark.parametrize("request_", [-1, 7])
def test_a_request_that_is_not_there_is_refused(request_):
    with pytest.raises(CompactionError, match="its requests are 0 to 6"):
        explained(summarised("x"), request=request_)


def test_runs_of_whole_messages_are_one_line_unless_all_are_wanted():
    found = explained(summarised("x", after=1000), request=5)

    short, long = (list(rows_of(found.pairs, show_all=flag)) for flag in (False, True))

    assert len(short) == 1
    assert "11 messages sent whole" in short[0].cells[2]
    assert len(long) == 11


def test_escape_codes_of_a_conversation_do_not_reach_the_terminal():
    hostile = f"\x1b[31m{LINE}\u202e"
    talk = (*TALK[:2], result("c1", hostile), *TALK[3:])
    found = explained(summarised("\x1b[2J"), talk=talk)

    texts = [cell for row in rows_of(found.pairs, show_all=True) for cell in row.cells]
    texts += need_lines(found)

    assert all(text.isprintable() for text in texts)
    assert any("\\x1b" in text for text in texts)


def test_the_page_shows_hostile_text_as_text():
    hostile = f"</pre><script>alert(1)</script><img src=x onerror=alert(2)> {LINE}"
    talk = (*TALK[:2], result("c1", hostile), *TALK[3:])

    text = page(asdict(explained(summarised("<b>bold</b>"), talk=talk)))

    assert "<script" not in text
    assert "<img" not in text
    assert "<b>bold" not in text
    assert "&lt;b&gt;bold" in text
    assert "default-src 'none'; style-src 'unsafe-inline'" in text


def test_names_on_the_page_turn_no_text():
    found = replace(explained(summarised("x")), label="a\x1b\u202e", transcript="b\u2066")

    text = page(asdict(found))

    assert "a\\u001b\\u202e" in text
    assert not set("\x1b\u202e\u2066") & set(text)


def test_an_edited_message_shows_what_replaced_it():
    conversation = prepared(*TALK)
    strategy = bind(Setting("clear_tool_results", {"keep_last_results": "1"}), conversation)

    found = explained(strategy, request=5)

    edited = next(pair for pair in found.pairs if pair.index == 2)
    assert (edited.fate, edited.before) == ("edited", f"head\n{LINE}\ntail")
    assert "cleared" in edited.after


def ended(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["compaction-evals", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main()
    return stop.value.code


@pytest.mark.slow
def test_the_command_explains_a_cell_of_a_run(tmp_path, monkeypatch, capsys):
    data, out = write_chats(tmp_path / "data", 2), tmp_path / "run"
    flags = ("--strategy", "xun", "--set", "token_threshold=50%", "--no-controls")
    assert ended(monkeypatch, "run", data, *flags, "--out", out) == 0
    capsys.readouterr()

    assert ended(monkeypatch, "explain", out, "chat_9.json", "--html", tmp_path / "e.html") == 2
    said = capsys.readouterr().err
    assert "no transcript 'chat_9.json' in the run; it has " in said
    assert str(data / "chat_1.json") in said  # both are named "conversation"
    assert ended(monkeypatch, "explain", out, "conversation") == 2
    assert "may be any of" in capsys.readouterr().err
    assert ended(monkeypatch, "explain", out, "chat_1.json", "3") == 0
    named_by_file = capsys.readouterr().out
    assert ended(monkeypatch, "explain", out, "at_1.js", "3") == 0
    assert capsys.readouterr().out == named_by_file
    source = data / "chat_1.json"
    assert ended(monkeypatch, "explain", out, source, "3", "--html", tmp_path / "e.html") == 0
    assert capsys.readouterr().out.startswith(named_by_file[:200])
    assert "request 3" in named_by_file
    assert (tmp_path / "e.html").read_text("utf-8").startswith("<!doctype html>")
    assert ended(monkeypatch, "explain", out, source, "--setting", "nope") == 2
    source.write_text((data / "chat_0.json").read_text())
    assert ended(monkeypatch, "explain", out, source) == 2
    assert "has changed since the run" in capsys.readouterr().err
    source.unlink()
    assert ended(monkeypatch, "explain", out, source) == 2
    assert "is not here" in capsys.readouterr().err


def test_events_name_the_request_that_they_were_made_for():
    found = explained(summarised("nothing", after=6))

    (request, event), *_ = found.events
    lines = list(event_lines(found))

    assert event.tier == "rule"
    assert lines[0].startswith(f"request {request}: rule applied")
