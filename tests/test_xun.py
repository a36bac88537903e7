"""When xun compacts, and what each of its parameters changes."""

import pytest

from compaction.pairing import orphan_results
from compaction.strategy import parameters_of
from compaction.systems.xun import ESCALATION_RATIO, CompactionCounter, Xun
from compaction.systems.xun_check import halved
from tests.xun_cases import (
    PLACEHOLDER_CHARS,
    SUMMARY,
    Run,
    agent_run,
    outcomes,
    replies,
    tool_round,
)

CLEARED = ("ClearToolResults", "applied")
SUMMARISED = ("Summarize", "applied")


def test_the_defaults_are_those_of_the_seed():
    defaults = parameters_of(Xun())

    assert defaults["token_threshold"] == 192_000
    assert defaults["enabled"] is True
    assert defaults["toolcall_keep_max"] == 12
    assert defaults["summary_keep_max"] == 16
    assert defaults["escalation_rounds"] == 2
    assert defaults["max_retries"] == 2
    assert defaults["max_summary_tokens"] == 1_024
    assert ESCALATION_RATIO == Xun.escalation_ratio == 0.95
    assert "escalation_ratio" not in defaults
    assert not any(value for name, value in defaults.items() if name.startswith("literal_"))


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("token_threshold", 0), ("toolcall_keep_max", -1), ("summary_keep_max", 0)],
)
def test_an_impossible_parameter_is_named_in_the_error(parameter, value):
    with pytest.raises(ValueError, match=f"{parameter} must be >= .*, got {value}"):
        Xun(**{parameter: value})


@pytest.mark.parametrize("total_tokens", [None, 0, 10_000])
def test_nothing_happens_at_the_threshold_or_below_or_without_usage(total_tokens):
    view = Run(agent_run(20), token_threshold=10_000).view(total_tokens)

    assert view.messages == tuple(agent_run(20))
    assert view.events == ()


def test_nothing_happens_when_it_is_switched_off():
    view = Run(agent_run(20), token_threshold=10_000, enabled=False).view(10_001)

    assert view.events == ()


def test_above_the_threshold_old_results_go_and_the_estimate_scales_the_reported_total():
    run = Run(agent_run(20), token_threshold=10_000)

    view = run.view(10_001)

    results = [m for m in view.messages if m.role == "tool"]
    chars_after = 20_200 - 8 * (1_000 - PLACEHOLDER_CHARS)
    assert [len(m.text) == 1_000 for m in results] == [False] * 8 + [True] * 12
    assert outcomes(view) == [CLEARED]
    assert view.events[0].trigger == "tokens 10001 > 10000"
    assert view.events[0].tokens_before == 10_001
    assert view.events[0].tokens_after == round(10_001 * chars_after / 20_200)
    assert run.counter.tool_rounds == 1


def test_a_collected_result_names_the_handle_that_gives_it_back():
    run = Run(agent_run(13), token_threshold=10_000, max_retries=0, model=replies(SUMMARY))
    run.add(*tool_round(13, "z" * 5_000))

    view = run.view(10_001)

    cleared = next(entry for entry in view.entries if entry.message.role == "tool")
    handle = cleared.origin.handle
    assert cleared.message.text == (
        f"[Compacted, ID: {handle}. If this content is still needed, call "
        "extract_compacted_tool_result with this ID or re-run the tool.]"
    )
    assert run.compactor.recover(handle) == "r" * 1_000
    assert run.compactor.recover("c0") is None


def test_the_literal_id_names_the_call_and_finds_the_first_of_two_with_one_id():
    messages = agent_run(12)
    messages[2:2] = [*tool_round(0, "first" * 400, "same"), *tool_round(0, "other" * 400, "same")]

    literal, sound = (
        Run(messages, token_threshold=10_000, literal_ids=ids) for ids in (True, False)
    )

    assert "[Compacted, ID: same. If" in literal.view(10_001).messages[5].text
    assert literal.compactor.recover("same") == "first" * 400
    handle = sound.view(10_001).entries[5].origin.handle
    assert sound.compactor.recover(handle) == "other" * 400
    assert Xun().promises.recoverable
    assert not Xun(literal_ids=True).promises.recoverable


def test_a_result_no_longer_than_its_placeholder_stays():
    run = Run([*agent_run(0), *tool_round(0, "r" * PLACEHOLDER_CHARS)], token_threshold=10)
    longer = Run([*agent_run(0), *tool_round(0, "r" * (PLACEHOLDER_CHARS + 1))], token_threshold=10)
    for each in (run, longer):
        each.add(*agent_run(12)[2:])

    assert run.view(11).events[0].tier == "Summarize"
    assert longer.view(11).events[0].tier == "ClearToolResults"


def halving_run(extra_chars=0, **parameters):
    """13 results; collecting the first leaves exactly half of the characters."""
    others = 1_000
    run = Run(
        agent_run(0) + tool_round(0, "r" * (others + 2 * PLACEHOLDER_CHARS + extra_chars)),
        token_threshold=10_000,
        model=replies(SUMMARY),
        **parameters,
    )
    for index in range(1, 13):
        run.add(*tool_round(index, "r" * (66 if index < 12 else 74)))
    return run


def test_an_estimate_at_95_percent_is_no_progress_and_escalates_at_once():
    at_the_limit = halving_run().view(19_000)
    below = halving_run(extra_chars=2).view(19_000)

    assert at_the_limit.events[0].tokens_after == 9_500
    assert outcomes(at_the_limit) == [CLEARED, SUMMARISED]
    assert outcomes(below) == [CLEARED]


def test_the_literal_length_compares_characters_with_the_limit_in_tokens():
    scaled = Run(agent_run(20), token_threshold=10_000)
    literal = Run(
        agent_run(20), replies(SUMMARY, SUMMARY, SUMMARY), token_threshold=10_000,
        literal_length_limit=True,
    )  # fmt: skip

    assert outcomes(scaled.view(10_001)) == [CLEARED]
    assert outcomes(literal.view(10_001))[:2] == [CLEARED, SUMMARISED]


def cheap_rounds(totals, **parameters):
    """Outcomes of one check per total, each of which finds three new large results."""
    run = Run(agent_run(20), replies(*[SUMMARY] * 9), token_threshold=10_000, **parameters)
    found = []
    for at, total in enumerate(totals):
        for index in range(3):
            run.add(*tool_round(index, "r" * 4_000, f"n{at}{index}"))
        found.append(outcomes(run.view(total)))
    return found


def test_two_cheap_rounds_in_a_row_are_enough_and_the_third_summarises():
    assert cheap_rounds([10_001] * 3) == [[CLEARED], [CLEARED], [CLEARED, SUMMARISED]]


def test_a_summary_starts_the_count_of_cheap_rounds_again():
    run = Run(agent_run(20), replies(SUMMARY), token_threshold=10_000, escalation_rounds=0)

    view = run.view(10_001)

    assert outcomes(view) == [CLEARED, SUMMARISED]
    assert run.counter == CompactionCounter(tool_rounds=0, summary_rounds=1)


def test_literally_the_second_cheap_round_summarises_itself():
    assert cheap_rounds([10_001] * 2, literal_last_round=True) == [
        [CLEARED],
        [CLEARED, SUMMARISED],
    ]


def test_a_check_below_the_threshold_breaks_the_row():
    totals = [10_001, 10_001, 10_000, 10_001]

    assert cheap_rounds(totals)[-1] == [CLEARED]
    assert cheap_rounds(totals, reset_rounds_below_threshold=False)[-1] == [CLEARED, SUMMARISED]


def test_a_request_without_a_new_reply_compacts_nothing_again():
    run = Run(agent_run(20), token_threshold=10_000)
    run.view(10_001)

    assert run.view().events == ()
    assert run.counter.tool_rounds == 1


def large_tail(**parameters):
    """A run whose last 16 messages alone are over the threshold, and whose last 4 are not."""
    run = Run(agent_run(4), replies(*[SUMMARY] * 9), token_threshold=10_000, **parameters)
    for index in range(4, 10):
        run.add(*tool_round(index, "r" * 60_000))
    run.add(*tool_round(10, "r" * 10_000), *tool_round(11, "r" * 10_000))
    return run


def test_a_summary_that_is_not_enough_is_followed_by_passes_with_halved_keeps():
    run = large_tail()

    view = run.view(50_000)

    assert outcomes(view) == [SUMMARISED, CLEARED, SUMMARISED, CLEARED, SUMMARISED]
    assert [event.messages_edited for event in view.events if event.messages_edited] == [2, 1]
    assert [m.role for m in view.messages] == ["system", "user", *["assistant", "tool"] * 2]
    assert run.counter.summary_rounds == 3
    assert run.counter.tool_rounds == 0


def test_the_halved_keeps_are_forgotten_after_the_check():
    run = large_tail()
    run.view(50_000)
    for index in range(12, 22):
        run.add(*tool_round(index, "r" * 100))

    view = run.view(10_001)

    assert outcomes(view) == [SUMMARISED]
    assert len(view) == 1 + 1 + 16


def test_max_retries_limits_the_passes():
    run = large_tail(max_retries=0)

    assert len(run.view(50_000)) == 1 + 1 + 16
    assert run.counter.summary_rounds == 1


def test_literally_the_total_is_unknown_after_a_summary_so_nothing_is_retried():
    run = large_tail(literal_total_reset=True)

    assert len(run.view(50_000)) == 1 + 1 + 16


def test_the_literal_retry_limit_is_the_threshold_itself():
    strict, literal = (
        Run(
            agent_run(8, 2_000) + agent_run(8, 10_000)[2:],
            replies(*[SUMMARY] * 9),
            token_threshold=10_000,
            literal_retry_limit=limit,
        )
        for limit in (False, True)
    )

    assert outcomes(strict.view(11_600)) == [CLEARED, SUMMARISED, CLEARED]
    assert outcomes(literal.view(11_600)) == [CLEARED, SUMMARISED]


@pytest.mark.parametrize(("keep", "half"), [(16, 8), (3, 1), (2, 1), (1, 1), (0, 0)])
def test_halving_rounds_down_and_stops_at_one(keep, half):
    assert halved(keep) == half


def test_one_order_and_a_hundred_rounds_still_condense():
    run = Run(token_threshold=10_000, model=replies(*[SUMMARY] * 99))
    messages = agent_run(100)
    sizes = []
    for end in range(2, len(messages) + 1, 2):
        run.add(*messages[len(run.history) : end])
        view = run.view(sum(len(m.text) for m in messages[:end]) if not sizes else sizes[-1])
        sizes.append(sum(len(m.text) for m in view.messages))
        assert orphan_results(view.messages) == ()
        assert messages[1] in view.messages

    assert run.counter.summary_rounds >= 5
    assert max(sizes) < 10_000 + 2_000


def test_literally_the_tail_reaches_back_to_the_last_user_message_and_nothing_is_left():
    run = Run(agent_run(100), token_threshold=10_000, literal_last_user=True)

    view = run.view(100_000)

    assert outcomes(view)[-1] == ("Summarize", "skipped")
    assert view.events[-1].reason == "nothing to condense"
    assert len(view) == 202
