import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.messages import messages_to_openai
from compaction.pairing import pair
from evals.extraction.references import extract_references
from evals.synthetic import DEFAULT_GAPS, generate, planted_in


def texts_of(messages):
    """Return everything written in each message: its text and the arguments of its calls."""
    return [
        message.text + "".join(call.arguments for call in message.tool_calls)
        for message in messages
    ]


sizes = st.integers(2, 250).map(lambda n: 2 * n + 1)


@given(sizes, st.integers(0, 1_000))
def test_equal_arguments_give_equal_transcripts(n_messages, seed):
    first, again = generate(n_messages, seed=seed), generate(n_messages, seed=seed)

    assert first == again
    assert first.digest == again.digest
    assert len(first.messages) == n_messages
    assert first.n_requests == (n_messages - 1) // 2


def test_another_seed_gives_another_transcript():
    assert generate(101, seed=1).digest != generate(101, seed=2).digest


@given(sizes, st.integers(0, 1_000))
def test_every_call_is_answered_by_the_message_after_it(n_messages, seed):
    messages = generate(n_messages, seed=seed).messages

    paired = pair(messages)
    assert paired.open_calls == []
    assert paired.orphans == []
    assert all(result == caller + 1 for result, (caller, _) in paired.call_of.items())


@given(sizes, st.integers(0, 1_000), st.sampled_from([DEFAULT_GAPS, (1,), (1, 1, 2), (9, 3)]))
def test_a_planted_value_stands_where_it_was_stated_and_used_and_nowhere_else(
    n_messages, seed, gaps
):
    transcript = generate(n_messages, seed=seed, gaps=gaps, plant_every=3)

    (segment,), texts = transcript.segments, texts_of(transcript.messages)
    for planted in planted_in(transcript):
        used_in = segment.requests[planted.used_at].position
        assert [at for at, text in enumerate(texts) if planted.value in text] == [
            planted.stated_at,
            used_in,
        ]
        assert planted.value in transcript.messages[planted.stated_at].text
        assert planted.value in transcript.messages[used_in].tool_calls[0].arguments


@given(sizes, st.integers(0, 1_000), st.sampled_from([DEFAULT_GAPS, (1,), (4, 2)]))
def test_a_gap_counts_the_requests_from_the_first_that_saw_the_statement_to_the_use(
    n_messages, seed, gaps
):
    transcript = generate(n_messages, seed=seed, gaps=gaps, plant_every=2)

    requests = transcript.segments[0].requests
    for planted in planted_in(transcript):
        seeing = [
            at
            for at, request in enumerate(requests)
            if request.position > planted.stated_at and at <= planted.used_at
        ]
        assert len(seeing) == planted.gap >= min(gaps)


def test_no_request_uses_two_planted_values():
    used = [planted.used_at for planted in planted_in(generate(2_001, plant_every=1, gaps=(1, 2)))]

    assert len(used) == len(set(used)) > 900


def test_a_long_transcript_has_values_of_every_kind_at_every_gap_each_found_as_a_reference():
    transcript = generate(1_001)

    planted = planted_in(transcript)
    assert {item.kind for item in planted} == {"path", "identifier", "url"}
    assert set(DEFAULT_GAPS) <= {item.gap for item in planted}
    assert len({item.value for item in planted}) == len(planted) > 50
    for item in planted:
        found = extract_references(transcript.messages[item.stated_at].text)
        assert (item.kind, item.value) in {(each.kind, each.value) for each in found}


@given(sizes, st.integers(0, 1_000))
def test_a_fact_stands_in_its_message_and_in_no_other(n_messages, seed):
    transcript = generate(n_messages, seed=seed, facts_every=3)

    texts = texts_of(transcript.messages)
    assert len({fact["id"] for fact in transcript.facts}) == len(transcript.facts)
    for fact in transcript.facts:
        for form in (fact["evidence"], *fact["values"][0]):
            assert [at for at, text in enumerate(texts) if form in text] == [fact["stated_at"]]
        assert fact["values"][0][0] in fact["evidence"]
        assert fact["answers"][0] == fact["values"][0][0]


@pytest.mark.parametrize("seed", range(5))
def test_no_two_facts_have_the_same_amount_so_that_none_stands_for_another(seed):
    facts = generate(1_601, seed=seed, facts_every=1, round_chars=200).facts

    assert len({fact["answers"][1] for fact in facts}) == len(facts) == 799


@pytest.mark.parametrize("round_chars", [600, 1_800, 6_000])
def test_a_round_has_about_the_size_asked_for(round_chars):
    transcript = generate(401, round_chars=round_chars)

    n_rounds = 199
    chars = sum(len(text) for text in texts_of(transcript.messages))
    assert 0.8 * round_chars < chars / n_rounds < 1.2 * round_chars


def test_the_transcript_says_that_it_was_generated_and_holds_nothing_that_is_no_json():
    transcript = generate(51)

    assert (transcript.provenance, transcript.format) == ("generated", "generated")
    assert len(messages_to_openai(transcript.messages)) == 51


@pytest.mark.parametrize("n_messages", [-1, 0, 3, 4, 6, 100])
def test_a_number_of_messages_that_makes_no_rounds_is_refused(n_messages):
    with pytest.raises(ValueError, match="n_messages must be odd and >= 5, got"):
        generate(n_messages)


@pytest.mark.parametrize(
    "options", [{"gaps": (2, 0)}, {"gaps": ()}, {"plant_every": 0}, {"facts_every": 0}]
)
def test_a_plan_that_states_a_value_after_its_use_is_refused(options):
    with pytest.raises(ValueError, match="must be >= 1"):
        generate(51, **options)
