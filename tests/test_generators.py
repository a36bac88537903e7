import json
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given

from compaction.contract.generators import (
    LENGTHS,
    SUMMARISER_FAULTS,
    conversations,
    malformed_conversations,
    summariser_replies,
    tool_groups,
    usage_series,
    visit_examples,
)
from compaction.contract.mutations import MUTATIONS
from compaction.errors import MessageError, ModelError
from compaction.messages import Message, messages_from_openai, messages_to_openai
from compaction.pairing import pair

EXAMPLES = 300
PLACEHOLDER_CHARS = 130
"""The longest text that a tier of ours or a known system puts where a result was."""


def results(messages):
    return [message for message in messages if message.is_result]


def answered_ids(messages):
    """Call ids per assistant message in the order of calls, and in the order of results."""
    pairing = pair(messages)
    return [
        ([call.call_id for call in messages[at].tool_calls], [messages[r].tool_call_id for r in of])
        for at, of in pairing.results_of.items()
    ]


def text_of(messages):
    return "".join(message.text for message in messages)


CASES = {
    "no message at all": lambda m: not m,
    "one system message": lambda m: sum(x.role == "system" for x in m) == 1,
    "two instruction messages": lambda m: [x.role for x in m[:2]] == ["system", "developer"],
    "no system message": lambda m: m and m[0].role == "user",
    "parallel calls": lambda m: any(len(x.tool_calls) > 1 for x in m),
    "six results or more of one turn": lambda m: len(results(m)) >= 6,
    "results out of order": lambda m: any(
        calls[: len(got)] != got and len(calls) == len(got) for calls, got in answered_ids(m)
    ),
    "an id used again in a later round": lambda m: any(
        count > 1 for count in Counter(c.call_id for x in m for c in x.tool_calls).values()
    ),
    "all calls pending at the end": lambda m: m and bool(m[-1].tool_calls),
    "some calls pending at the end": lambda m: m and m[-1].is_result and bool(pair(m).open_calls),
    "a result longer than every placeholder": lambda m: any(
        len(x.text) > PLACEHOLDER_CHARS for x in results(m)
    ),
    "a result longer than every preview": lambda m: any(len(x.text) > 2_000 for x in results(m)),
    "a result shorter than every placeholder": lambda m: any(
        0 < len(x.text) < 10 for x in results(m)
    ),
    "an empty result": lambda m: any(x.text == "" for x in results(m)),
    "Chinese": lambda m: "结果" in text_of(m),
    "emoji": lambda m: "😀" in text_of(m),
    "emoji of several code points": lambda m: "👩\u200d👧" in text_of(m),
    "combining marks": lambda m: "e\u0301" in text_of(m),
    "an empty user message": lambda m: any(x.role == "user" and x.text == "" for x in m),
    "null content": lambda m: any(x.content is None and x.content_given for x in m),
    "absent content": lambda m: any(not x.content_given for x in m),
    "content in parts": lambda m: any(isinstance(x.content, tuple) for x in m),
    "a result in parts": lambda m: any(isinstance(x.content, tuple) for x in results(m)),
    "an image of the user's": lambda m: any(
        x.role == "user" and any(part.kind == "image" for part in x.parts) for x in m
    ),
    "an image in a result": lambda m: any(
        any(part.kind == "image" for part in x.parts) for x in results(m)
    ),
    "reasoning": lambda m: any(x.reasoning for x in m),
    "reasoning with a signature": lambda m: any("signature" in x.extra for x in m),
    "signed reasoning before calls": lambda m: any(
        "signature" in x.extra and x.tool_calls for x in m
    ),
    "one user message with many rounds": lambda m: (
        sum(x.role == "user" for x in m) == 1 and sum(bool(x.tool_calls) for x in m) >= 6
    ),
    "several turns": lambda m: sum(x.role == "user" for x in m) >= 2,
    "an assistant at the end": lambda m: m and m[-1].role == "assistant" and not m[-1].tool_calls,
}


@pytest.fixture(scope="module")
def seen():
    """How many of the generated conversations show each case."""
    counts = Counter()

    def look(messages):
        counts.update(name for name, shows in CASES.items() if shows(messages))

    visit_examples(conversations(), look, examples=EXAMPLES, random_seed=0)
    return counts


@pytest.mark.parametrize("case", CASES)
def test_conversations_show_every_case_at_least_once_in_a_hundred(case, seen):
    # Hypothesis shows the same value only once, and there is one empty conversation.
    assert seen[case] >= (1 if case == "no message at all" else EXAMPLES / 100)


@given(messages=conversations())
def test_every_result_answers_a_call_and_only_the_last_calls_are_open(messages):
    pairing = pair(messages)
    last = max((at for at, m in enumerate(messages) if m.tool_calls), default=-1)

    assert pairing.orphans == []
    assert {caller for caller, _ in pairing.open_calls} <= {last}
    assert messages_from_openai(messages_to_openai(messages)) == messages


@given(messages=conversations(allow_pending=False, min_turns=2, max_turns=2))
def test_limits_are_kept(messages):
    assert pair(messages).open_calls == []
    assert sum(message.role == "user" for message in messages) == 2


@given(group=tool_groups(first=10, max_calls=3))
def test_a_tool_group_is_one_message_with_all_its_results(group):
    calls = group[0].tool_calls

    assert 1 <= len(calls) <= 3
    assert sorted(m.tool_call_id for m in group[1:]) == sorted(c.call_id for c in calls)


@given(group=tool_groups(pending=True))
def test_a_pending_group_lacks_a_result(group):
    assert len(group) - 1 < len(group[0].tool_calls)


@pytest.mark.parametrize("name", MUTATIONS)
def test_every_named_fault_is_in_what_is_generated_for_it(name):
    shown = FAULT_SHOWS[name]
    seen = []

    visit_examples(
        malformed_conversations(mutations=[name], max_turns=1),
        lambda found: seen.append((found.mutation, shown(list(found.messages)))),
        examples=20,
        random_seed=1,
    )

    assert len(seen) == 20
    assert set(seen) == {(name, True)}


@pytest.mark.slow
def test_malformed_conversations_have_all_faults():
    seen = Counter()

    visit_examples(
        malformed_conversations(),
        lambda found: seen.update([found.mutation]),
        examples=EXAMPLES,
        random_seed=0,
    )

    assert set(seen) == set(MUTATIONS)


def test_a_fault_that_has_no_place_is_refused_and_nothing_given_is_changed():
    talk = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]

    assert MUTATIONS["duplicate_result"].apply(talk) is None
    assert MUTATIONS["orphan_result"].apply(talk, 1)[1]["tool_call_id"] == "call_of_nobody"
    assert talk == [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]


def roles_of(raw):
    return [message["role"] for message in raw]


def has_orphans(raw):
    return bool(pair(messages_from_openai(raw)).orphans)


def inside_role(raw, role):
    messages = messages_from_openai(raw)
    spans = [(caller, result) for result, (caller, _) in pair(messages).call_of.items()]
    return any(messages[at].role == role for start, stop in spans for at in range(start, stop))


def open_sizes(raw):
    """For each message with open calls: how many are open, of how many."""
    messages = messages_from_openai(raw)
    counts = Counter(caller for caller, _ in pair(messages).open_calls)
    return [(count, len(messages[at].tool_calls), at) for at, count in counts.items()]


def has_broken_arguments(raw):
    for message in raw:
        for call in message.get("tool_calls", ()):
            try:
                json.loads(call["function"]["arguments"])
            except ValueError:
                return True
    return False


FAULT_SHOWS = {
    "orphan_result": has_orphans,
    "dangling_call": lambda raw: any(
        count == size and at < len(raw) - 1 for count, size, at in open_sizes(raw)
    ),
    "partial_parallel": lambda raw: any(count < size for count, size, _ in open_sizes(raw)),
    "duplicate_result": has_orphans,
    "duplicate_id": lambda raw: any(
        len({call["id"] for call in m["tool_calls"]}) < len(m["tool_calls"])
        for m in raw
        if "tool_calls" in m
    ),
    "result_before_call": has_orphans,
    "message_inside": lambda raw: inside_role(raw, "user"),
    "system_inside": lambda raw: inside_role(raw, "system"),
    "missing_id": lambda raw: any(m["role"] == "tool" and "tool_call_id" not in m for m in raw),
    "invalid_arguments": has_broken_arguments,
    "empty_assistant": lambda raw: {"role": "assistant", "content": ""} in raw,
    "unknown_role": lambda raw: "narrator" in roles_of(raw),
}


def test_an_unknown_role_cannot_be_read_as_a_message():
    damaged = MUTATIONS["unknown_role"].apply([{"role": "user", "content": "hi"}])

    with pytest.raises(MessageError, match="narrator"):
        messages_from_openai(damaged)


@given(series=usage_series(min_size=2, max_size=9))
def test_usage_is_of_the_asked_length_and_cached_input_is_part_of_it(series):
    assert 2 <= len(series) <= 9
    assert all(
        0 <= usage.cached_input_tokens <= usage.input_tokens
        for usage in series
        if usage is not None
    )


def test_usage_grows_falls_is_zero_and_is_absent():
    seen = Counter()

    def look(series):
        sizes = [usage.input_tokens for usage in series if usage is not None]
        seen["absent"] += None in series
        seen["zero"] += 0 in sizes
        seen["falls"] += any(0 < b < a for a, b in pairwise(sizes))
        seen["grows"] += any(b > a for a, b in pairwise(sizes))

    visit_examples(usage_series(), look, examples=100, random_seed=0)

    assert all(seen[kind] >= 5 for kind in ("absent", "zero", "falls", "grows"))


def test_summaries_come_good_and_with_every_fault():
    seen = Counter()

    visit_examples(
        summariser_replies(),
        lambda reply: seen.update([(reply.fault, isinstance(reply.answer, ModelError))]),
        examples=EXAMPLES,
        random_seed=0,
    )

    expected = {(name, name == "raises") for name in SUMMARISER_FAULTS}
    assert set(seen) == expected | {("good", False)}


def test_the_same_seed_gives_the_same_values_and_another_seed_others():
    def values(random_seed):
        seen = []
        visit_examples(conversations(), seen.append, examples=10, random_seed=random_seed)
        return seen

    assert values(3) == values(3)
    assert values(3) != values(4)


def test_lengths_stand_around_every_placeholder():
    assert min(LENGTHS) == 0
    assert any(0 < length < 20 for length in LENGTHS)
    assert max(LENGTHS) > 2_000
    assert Message("user", "").text == ""
