"""What requests read from a cache: the examples of the providers, then a second simulation.

Sizes are characters: a message of 10 blocks or 1,000 tokens is as long as that.
"""

from dataclasses import replace
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.money.caching import RULES, CachingRule, rule_named
from evals.money.prompt_cache import MAX_EARLIER_LINES, Limit
from evals.money.splits import Scale, Split, split_of
from tests.cost_cases import (
    cache,
    calls,
    entries,
    result,
    says,
    send,
    size_of,
    system,
    user,
)

# Automatic prefixes: OpenAI before GPT-5.6, Gemini.


def test_openai_reads_a_prefix_in_steps_of_128_tokens():
    # Source: https://openai.com/index/api-prompt-caching/ shows 1,920 cached of 2,006 prompt
    # tokens: 15 steps of 128 are 1,920, and 16 would be 2,048.
    held = cache("openai")

    first, second = send(held, user(2_006)), send(held, user(2_006), says(10), user(90))

    assert first.split == Split(uncached=2_006, written=0, read=0)
    assert second.split == Split(uncached=2_106 - 1_920, written=0, read=1_920)


def test_openai_caches_nothing_below_1024_tokens():
    # Source: https://developers.openai.com/api/docs/guides/prompt-caching, minimum of 1,024.
    held = cache("openai")
    send(held, user(1_023))

    assert send(held, user(1_023), says(1_000)).split.read == 0

    held = cache("openai")
    send(held, user(1_024))

    assert send(held, user(1_024), says(1_000)).split.read == 1_024


def test_gpt_5_5_reads_in_steps_of_2048_tokens():
    # Source: https://developers.openai.com/api/docs/guides/prompt-caching, "Summary of model
    # differences": two steps fit into 5,000 tokens.
    held = cache("openai-5.5")
    send(held, user(5_000))

    assert send(held, user(5_000), says(100)).split.read == 4_096


def test_a_changed_message_ends_the_common_prefix():
    held = cache("gemini")
    send(held, system(5_000), user(300), says(400), user(500))

    sent = send(held, system(5_000), user(300), says(40), user(500), says(60))

    # Only instructions and the first user message are as before.
    assert sent.split == Split(uncached=40 + 500 + 60, written=0, read=5_300)
    assert (sent.kept, sent.could_read) == (2, 6_200)


def test_gemini_reads_all_of_the_prefix_from_its_minimum_on():
    # Source: https://ai.google.dev/gemini-api/docs/caching, 4,096 tokens for newer models.
    held = cache("gemini")
    send(held, user(4_095))

    assert send(held, user(4_095), says(5)).split.read == 0
    assert send(held, user(4_095), says(5), user(7)).split.read == 4_100


# How long an entry lives.


@pytest.mark.parametrize(
    ("rule", "ttl_seconds"),
    [
        # Sources: the pages that `tests.test_caching` names.
        ("openai", 300),
        ("openai-24h", 1_800),
        ("openai-5.5", 1_800),
        ("openai-5.6", 1_800),
        ("anthropic-5m", 300),
        ("anthropic-1h", 3_600),
        ("gemini", 300),
        ("assumed-prefix", 300),
        ("deepseek", 3_600),
    ],
)
def test_an_entry_lives_for_its_time_after_the_last_use(rule, ttl_seconds):
    held = cache(rule)
    grown = user(8_192)
    send(held, grown, time=0.0)

    in_time = send(held, grown, says(9), user(9), time=ttl_seconds)
    refreshed = send(held, grown, says(9), user(9), says(9), user(9), time=2 * ttl_seconds)
    late = send(held, grown, says(9), user(9), says(9), user(9), time=3 * ttl_seconds + 1)

    assert in_time.split.read == 8_192
    assert refreshed.split.read == pytest.approx(8_210, abs=128)
    assert (late.split.read, late.could_read) == (0, 0)


def test_without_times_nothing_expires():
    held = cache("anthropic-5m")
    send(held, user(2_000), time=0.0)
    send(held, user(2_000), says(10))

    assert send(held, user(2_000), says(10), user(10)).split.read == 2_010


def test_a_record_of_the_cache_decides_instead_of_the_time():
    held = cache("anthropic-5m")
    send(held, user(2_000), time=0.0)

    outlived = send(held, user(2_000), says(10), time=9_999.0, limit=Limit(is_outlived=True))
    lost = send(held, user(2_000), says(10), user(10), time=9_999.0, limit=Limit(1_500.0))

    assert outlived.split.read == 2_000
    assert lost.split == Split(uncached=0, written=520, read=1_500)
    assert lost.could_read == 1_500


def test_a_record_that_tells_of_no_longer_life_leaves_the_time_to_decide():
    held = cache("anthropic-5m")
    send(held, user(2_000), time=0.0)

    assert send(held, user(2_000), says(10), time=9_999.0, limit=Limit()).split.read == 0


def test_a_view_that_was_left_expires_whatever_the_record_tells_of_the_open_one():
    held = cache("anthropic-5m")
    send(held, user(2_000), says(3_000), time=0.0)
    send(held, user(2_000), says(1_500, mark="n"), time=100.0)
    told = Limit(is_outlived=True)

    back = send(held, user(2_000), says(3_000), user(9), time=9_999.0, limit=told)
    open_one = send(held, user(2_000), says(3_000), user(9), says(9), time=99_999.0, limit=told)

    # Neither entry of its own ends behind the 2,000 tokens that the open view shares with it.
    assert back.split.read == 0
    assert open_one.split.read == 5_009


# Breakpoints: Anthropic.


def test_anthropic_writes_what_it_did_not_read():
    # Source: https://platform.claude.com/docs/en/build-with-claude/prompt-caching: tokens before
    # the last breakpoint are read or written, and the breakpoint is at the end of the request.
    held = cache("anthropic-5m")

    first = send(held, system(2_000), user(100))
    second = send(held, system(2_000), user(100), says(50), user(30))

    assert first.split == Split(uncached=0, written=2_100, read=0)
    assert second.split == Split(uncached=0, written=80, read=2_100)


def test_anthropic_caches_nothing_below_the_minimum():
    # Source: as above, "Cache limitations": shorter prompts are processed without caching.
    held = cache(replace(rule_named("anthropic-5m"), min_tokens=4_096))

    assert send(held, user(4_095)).split == Split(uncached=4_095, written=0, read=0)
    assert send(held, user(4_095), says(1)).split == Split(uncached=0, written=4_096, read=0)
    assert send(held, user(4_095), says(1), user(1)).split.read == 4_096


def test_anthropic_looks_back_20_blocks_from_the_breakpoint():
    # Source: as above, "Lookback in a growing conversation": entries at blocks 10 and 15 are
    # found from 15 and not from 35, since 35 to 16 are 20 positions.
    held = cache(replace(rule_named("anthropic-5m"), min_tokens=1))
    blocks = [user(1, mark=chr(ord("a") + n % 26)) for n in range(35)]
    reads = [send(held, *blocks[:n]).split.read for n in (10, 15, 35)]

    assert reads == [0, 10, 0]

    held = cache(replace(rule_named("anthropic-5m"), min_tokens=1))
    reads = [send(held, *blocks[:n]).split.read for n in (10, 15, 34)]

    assert reads == [0, 10, 15]


def test_a_run_of_calls_and_one_of_results_are_one_position_each():
    # Source: as above: a turn with many parallel calls does not push the entry out of the window.
    held = cache(replace(rule_named("anthropic-5m"), min_tokens=1))
    many = [result(5, f"c{n}") for n in range(30)]
    send(held, user(7))

    # 30 calls are a position and their results another; 18 more blocks make 20 with the last.
    turn = [user(7), calls(30), *many]
    assert send(held, *turn, *[says(1)] * 17).split.read == 7

    held = cache(replace(rule_named("anthropic-5m"), min_tokens=1))
    send(held, user(7))

    assert send(held, *turn, *[says(1)] * 18).split.read == 0


def test_anthropic_reads_the_instructions_if_all_behind_them_changed():
    held = cache("anthropic-5m")
    send(held, system(3_000), user(500), says(500))

    sent = send(held, system(3_000), user(40, mark="n"))

    assert sent.split == Split(uncached=0, written=40, read=3_000)


def test_what_stands_before_the_messages_is_read_too():
    # 3,000 tokens of tool schemas, and a slope of 2: a message of 500 counts for 1,000.
    scale = Scale(3_000.0, 2.0)
    held = cache("anthropic-5m")
    send(held, user(500), scale=scale)

    changed = send(held, user(50, mark="n"), scale=scale)

    assert changed.split == Split(uncached=0, written=100, read=3_000)
    assert changed.could_read == 4_000


@pytest.mark.parametrize(
    ("rule", "read"),
    [
        *(("openai", 4_992), ("openai-5.6", 5_000), ("anthropic-5m", 5_000)),
        *(("gemini", 5_000), ("deepseek", 5_000)),
    ],
)
def test_a_request_of_which_a_log_has_no_message_leaves_what_stood_before_them(rule, read):
    # 5,000 tokens of instructions and tool schemas, as some logs begin with the answer to them.
    scale = Scale(5_000.0, 1.0)
    held = cache(rule)

    assert send(held, scale=scale).split.read == 0
    assert send(held, says(90), user(10), scale=scale).split.read == read


def test_of_what_stands_before_the_messages_no_more_is_read_than_was_there():
    # After a recorded compaction a client sends more with its instructions than it did before.
    held = cache("anthropic-5m")
    send(held, user(500), scale=Scale(3_000.0, 1.0))

    later = Scale(5_000.0, 1.0)
    sent = send(held, user(50, mark="n"), scale=later)
    same = send(held, user(50, mark="n"), says(9), scale=later)

    assert (sent.split.read, sent.split.written) == (3_000, 2_050)
    assert sent.could_read == 3_500
    assert same.split.read == 5_050


# A client that was started again.


@pytest.mark.parametrize(
    ("rule", "read"),
    [
        *(("openai", 5_376), ("openai-5.6", 5_400), ("anthropic-5m", 5_400)),
        *(("gemini", 5_400), ("deepseek", 0)),
    ],
)
def test_after_a_restart_only_what_stands_before_the_messages_is_read(rule, read):
    # 5,000 tokens of tool schemas and 400 of instructions. Source for Anthropic: the page of
    # `tests.test_caching`, "What invalidates the cache": a change of thinking leaves tools and
    # instructions. DeepSeek reads whole units, and there is none that ends behind them.
    scale = Scale(5_000.0, 1.0)
    held = cache(rule)
    talk = system(400), user(500), says(500)
    send(held, *talk, scale=scale)

    sent = send(held, *talk, user(90), scale=scale, unreadable_from=0)
    after = send(held, *talk, user(90), says(10), user(10), scale=scale)

    assert sent.split.read == read
    assert sent.kept == 3
    assert sent.could_read == (5_376 if rule == "openai" else 5_400)
    assert after.split.read == (6_400 if rule == "openai" else 6_490)


@pytest.mark.parametrize(("rule", "read"), [("openai", 2_432), ("anthropic-5m", 2_500)])
def test_what_a_prompt_no_longer_holds_ends_what_can_be_read(rule, read):
    # The answers from the third message of the history on came with reasoning, which is no longer
    # sent: 2,500 tokens stand before them, 19 x 128 = 2,432.
    held = cache(rule)
    talk = [system(2_000), user(500), says(700), user(300, "v"), says(100)]
    send(held, *talk[:2])
    send(held, *talk[:4])

    sent = send(held, *talk, user(90), unreadable_from=2)
    after = send(held, *talk, user(90), says(10), user(10))

    assert (sent.split.read, sent.could_read, sent.kept) == (read, read, 4)
    assert after.split.read == (3_584 if rule == "openai" else 3_690)


def test_a_record_of_the_cache_decides_instead_of_a_restart():
    held = cache("anthropic-5m")
    send(held, user(2_000))

    sent = send(held, user(2_000), says(10), unreadable_from=0, limit=Limit(is_outlived=True))

    assert sent.split.read == 2_000


def test_a_view_from_before_a_restart_is_not_gone_back_to():
    held = cache("anthropic-5m")
    send(held, user(2_000), says(3_000))
    send(held, user(2_000), says(3_000, mark="n"))

    assert send(held, user(2_000), says(3_000), user(9), unreadable_from=0).split.read == 0


def test_time_runs_from_an_answer_until_the_next_request_was_sent():
    held = cache("anthropic-5m")
    send(held, user(2_000), time=0.0)

    answered_late = send(held, user(2_000), says(10), time=900.0, asked=300.0)
    asked_late = send(held, user(2_000), says(10), says(10), time=1_202.0, asked=1_201.0)

    assert (answered_late.split.read, asked_late.split.read) == (2_000, 0)


# Endings of messages: OpenAI from GPT-5.6 on.


def test_gpt_5_6_writes_up_to_the_latest_message_and_reads_it_exactly():
    # Source: https://developers.openai.com/api/docs/guides/prompt-caching, implicit mode; cached
    # tokens end exactly at the boundary.
    held = cache("openai-5.6")

    first = send(held, user(1_999))
    second = send(held, user(1_999), says(41), user(10))

    assert first.split == Split(uncached=0, written=1_999, read=0)
    assert second.split == Split(uncached=0, written=51, read=1_999)


def test_gpt_5_6_reuses_the_instructions_before_another_user_message():
    # Source: as above: lookup also checks "the endpoint of the initial consecutive block of
    # developer messages".
    held = cache("openai-5.6")
    send(held, system(3_000), user(800, mark="a"))

    assert send(held, system(3_000), user(700, mark="b")).split.read == 3_000


def test_gpt_5_6_checks_20_earlier_endings():
    # Source: as above: "the implicit breakpoint, up to 20 earlier eligible message endings".
    first = user(2_000)
    tail = [user(1, mark=chr(ord("A") + n)) for n in range(21)]
    held = cache("openai-5.6")
    send(held, first)

    assert send(held, first, *tail[:20]).split.read == 2_000

    held = cache("openai-5.6")
    send(held, first)

    assert send(held, first, *tail).split.read == 0


def test_gpt_5_6_takes_a_group_of_results_as_one_ending():
    # Source: as above: "the last tool response in a consecutive group of tool responses".
    held = cache("openai-5.6")
    group = [result(100, f"c{n}") for n in range(3)]
    send(held, user(2_000), calls(3), *group)

    sent = send(held, user(2_000), calls(3), *group[:2], result(9, "c2"), says(5), user(5))

    # The group ends differently, so the last common ending is that of the user message.
    assert sent.split.read == 2_000


# Units: DeepSeek.

DEEPSEEK = "https://api-docs.deepseek.com/guides/kv_cache"


def test_deepseek_reads_a_whole_earlier_request():
    # Source: DEEPSEEK, example 1: A + B, then A + B + C.
    held = cache("deepseek")
    send(held, system(100), user(50, mark="b"))

    assert send(held, system(100), user(50, mark="b"), says(9), user(7)).split.read == 150


def test_deepseek_reads_a_common_prefix_only_from_the_third_time_on():
    # Source: DEEPSEEK, example 2: A + B, then A + C does not hit, then A + D hits A.
    held = cache("deepseek")

    reads = [send(held, system(100), user(50, mark=mark)).split.read for mark in "bcd"]

    assert reads == [0, 0, 100]


def test_deepseek_stores_the_answer_with_the_request():
    # Source: DEEPSEEK: units end at the end of the user input and of the model output.
    held = cache("deepseek")
    send(held, user(150), answer=says(40))

    assert send(held, user(150), says(40), user(5)).split.read == 190

    held = cache("deepseek")
    send(held, user(150), answer=says(40))

    assert send(held, user(150), says(39), user(5)).split.read == 150


# All rules.


def test_without_a_cache_all_input_is_uncached():
    held = cache("none")
    send(held, user(5_000))

    assert send(held, user(5_000), says(10)).split == Split(uncached=5_010, written=0, read=0)


def test_a_view_that_was_left_can_be_gone_back_to():
    held = cache("gemini")
    old = (system(5_000), user(100), says(100))
    send(held, *old)
    send(held, system(5_000), user(90, mark="n"))

    back = send(held, *old, user(30))

    assert back.split == Split(uncached=30, written=0, read=5_200)
    assert back.kept == 1


def test_what_any_earlier_view_stored_is_found():
    held = cache(replace(rule_named("anthropic-5m"), min_tokens=1))
    parts = [user(10, mark=mark) for mark in "abcde"]
    send(held, *parts)
    send(held, *parts[:3])

    # More of it is as in the first view, which stored nothing in front of its end.
    assert send(held, *parts[:4], user(7)).split.read == 30


def test_a_view_that_expired_is_not_gone_back_to():
    held = cache("anthropic-1h")
    send(held, system(2_000), user(100, mark="a"), says(100), time=0.0)
    send(held, system(2_000), user(100, mark="x"), time=4_000.0)

    sent = send(held, system(2_000), user(100, mark="a"), says(90), time=4_010.0)

    assert sent.split.read == 2_000


def test_only_so_many_views_are_remembered():
    held = cache("gemini")
    old = (system(5_000), user(100))
    send(held, *old)
    for number in range(MAX_EARLIER_LINES + 1):
        send(held, system(5_000), user(90, mark=str(number)))

    assert send(held, *old, says(30)).split.read == 5_000


def test_a_view_that_lost_its_end_is_read_up_to_there():
    held = cache("gemini")
    send(held, system(5_000), user(100), says(100))

    assert send(held, system(5_000), user(100)).split == Split(0, 0, 5_100)


def test_writes_are_billed_only_from_the_minimum_on():
    rule = CachingRule("r", "", "breakpoints", min_tokens=100, bills_writes=True)

    assert split_of(rule, 99, 0) == Split(99, 0, 0)
    assert split_of(rule, 100, 40) == Split(0, 60, 40)


MESSAGES = (user(700), says(300), result(500), user(650, mark="y"), result(450, mark="y"))
views = st.lists(st.sampled_from(MESSAGES), min_size=1, max_size=6)
requests = st.lists(st.tuples(views, st.sampled_from([10, 400, 4_000])), min_size=1, max_size=4)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.reads != "units"], ids=str)
@given(asked=requests, has_system=st.booleans())
def test_the_cache_reads_what_a_table_of_all_prefixes_holds(rule, asked, has_system):
    held, remembered, now = cache(rule), Remembered(rule), 0.0
    for messages, gap in asked:
        view = [system(1_100), *messages] if has_system else messages
        now += gap

        split = send(held, *view, time=now).split

        assert split.read == remembered.read(view, now)
        assert split.total == sum(map(size_of, view))


class Remembered:
    """All prefixes that a provider holds, each whole, with the time of its last use."""

    def __init__(self, rule):
        self.rule = rule
        self.used = {}

    def read(self, view, now):
        """Return what a request reads, then hold what it leaves behind."""
        rule = self.rule
        self.used = {key: at for key, at in self.used.items() if now - at <= rule.ttl_seconds}
        sizes = [0, *accumulate(map(size_of, view))]
        found = [end for end in places(rule, view) if tuple(view[:end]) in self.used]
        best = max((sizes[end] // rule.step_tokens * rule.step_tokens for end in found), default=0)
        held = entries_of(rule, view)
        used = {tuple(view[:end]) for end in range(len(view) + 1)} & self.used.keys()
        self.used |= dict.fromkeys(used | held, now)
        return best if best >= rule.min_tokens else 0


def entries_of(rule, view):
    if rule.reads == "nothing":
        return set()
    ends = range(len(view) + 1)
    if rule.reads == "breakpoints":
        ends = [n for n in (n_system(view), len(view)) if sum(map(size_of, view[:n])) >= 1_024]
    return {tuple(view[:end]) for end in ends}


def places(rule, view):
    """Return where a request looks for entries: near its end, and behind the instructions."""
    if rule.reads in ("prefix", "nothing"):
        return set(range(len(view) + 1))
    if rule.reads == "breakpoints":
        near = [end for end in range(len(view) + 1) if blocks(view[end:]) < rule.lookback]
    else:
        near = [
            end
            for end in range(1, len(view) + 1)
            if view[end - 1].role == "user"
            or (view[end - 1].is_result and (end == len(view) or not view[end].is_result))
        ][-rule.lookback :]
    return {*near, n_system(view)}


def n_system(view):
    return sum(message.role == "system" for message in view)


def blocks(messages):
    roles = [message.role for message in messages]
    runs = sum(role == "tool" and roles[at - 1 : at] != ["tool"] for at, role in enumerate(roles))
    return runs + sum(role != "tool" for role in roles)


def test_the_common_beginning_is_found_without_being_told():
    held = cache("gemini")
    send(held, user(5_000), says(10))

    told = cache("gemini")
    send(told, user(5_000), says(10))
    grown = entries(user(5_000), says(10), user(20))

    assert send(held, user(5_000), says(10), user(20)) == told.send(
        grown, 5_030.0, Scale(0.0, 1.0), unchanged=2
    )
