import json

import pytest

from compaction.llm import Usage
from compaction.messages import Message, ToolCall
from compaction.tokens import TiktokenCounter
from evals.prepare import prepare
from evals.transcripts import RecordedRequest, Segment, Transcript, single_segment

TOOL = {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}
MESSAGES = (
    Message("system", "Be brief."),
    Message("user", "Count to three."),
    Message("assistant", None, tool_calls=(ToolCall("c1", "count", '{"to": 3}'),)),
    Message("tool", "one two three", tool_call_id="c1"),
    Message("assistant", "One, two, three."),
)


def transcript(*segments, **fields):
    return Transcript("example", tuple(segments), **fields)


def with_usage(reported, messages=MESSAGES):
    usages = [Usage(tokens, 7) if tokens is not None else None for tokens in reported]
    return Segment(
        messages, (RecordedRequest(2, usage=usages[0]), RecordedRequest(4, usage=usages[1]))
    )


def counted(messages):
    counter = TiktokenCounter()
    return sum(counter.count(message) for message in messages)


def test_a_request_is_counted_as_its_messages_its_tools_and_the_framing():
    prepared = prepare(transcript(*single_segment(MESSAGES), tools=(TOOL,)))

    tools = TiktokenCounter().count_tools([TOOL])
    assert tools > 0
    assert prepared.fixed_tokens == tools + 3
    assert [request.counted_tokens for request in prepared.requests] == [
        counted(MESSAGES[:2]) + tools + 3,
        counted(MESSAGES[:4]) + tools + 3,
    ]


def test_without_usage_sizes_are_as_counted_and_the_answer_is_counted():
    prepared = prepare(transcript(*single_segment(MESSAGES)))

    assert [r.tokens for r in prepared.requests] == [r.counted_tokens for r in prepared.requests]
    assert [r.output_tokens for r in prepared.requests] == [
        counted(MESSAGES[2:3]),
        counted(MESSAGES[4:]),
    ]
    assert prepared.segments[0].calibration.error_fraction is None


def test_sizes_are_what_the_provider_would_report_and_output_what_it_did():
    sizes = [counted(MESSAGES[:2]) + 3, counted(MESSAGES[:4]) + 3]

    prepared = prepare(transcript(with_usage([sizes[0] + 5_000, sizes[1] + 5_000])))

    assert [request.tokens for request in prepared.requests] == [s + 5_000 for s in sizes]
    assert [request.output_tokens for request in prepared.requests] == [7, 7]
    assert prepared.input_tokens == sum(sizes) + 10_000
    assert prepared.peak_tokens == sizes[1] + 5_000


def test_a_request_whose_usage_is_empty_does_not_enter_the_fit():
    size = counted(MESSAGES[:4]) + 3

    prepared = prepare(transcript(with_usage([0, size + 100])))

    calibration = prepared.segments[0].calibration
    assert (calibration.n_requests, calibration.offset_tokens) == (1, 100.0)


def test_each_segment_is_calibrated_by_itself_and_numbered_through():
    size = counted(MESSAGES[:4]) + 3
    first = Segment(MESSAGES, (RecordedRequest(4, usage=Usage(size + 10, 1)),))
    second = Segment(MESSAGES, (RecordedRequest(4, usage=Usage(size + 900, 1)),))

    prepared = prepare(transcript(first, second))

    assert [segment.calibration.offset_tokens for segment in prepared.segments] == [10.0, 900.0]
    assert [segment.first_message for segment in prepared.segments] == [0, 5]
    assert [(r.index, r.segment) for r in prepared.requests] == [(0, 0), (1, 1)]
    assert [len(segment.history) for segment in prepared.segments] == [5, 5]


def test_the_peak_in_characters_is_the_json_of_the_largest_request():
    small = Segment(MESSAGES[:3], (RecordedRequest(2),))

    prepared = prepare(transcript(small, *single_segment(MESSAGES), small))

    assert prepared.peak_chars == sum(
        len(json.dumps(message.to_openai(), ensure_ascii=False)) for message in MESSAGES[:4]
    )


def test_the_estimate_of_the_largest_request_is_a_quarter_of_its_characters_and_three_a_message():
    messages = (Message("user", "x" * 96), Message("assistant", "y" * 91))

    found = prepare(transcript(Segment(messages, (RecordedRequest(1),))))

    # The role is of 4 characters: 100 / 4 + 3.
    assert found.estimate_per_counted_token == 28 / found.peak_counted_tokens


@pytest.mark.parametrize("segments", [(), (Segment((), ()),), (Segment(MESSAGES, ()),)])
def test_a_transcript_without_requests_has_no_size(segments):
    prepared = prepare(transcript(*segments))

    assert (prepared.requests, prepared.input_tokens) == ((), 0)
    assert (prepared.peak_tokens, prepared.peak_chars) == (0.0, 0)


def test_reasoning_counts_only_where_it_was_sent_back():
    thought = Message("assistant", "One.", reasoning="a long chain of thought about counting")
    messages = (*MESSAGES[:2], thought, Message("user", "Go on."), Message("assistant", "Two."))

    without = prepare(transcript(*single_segment(messages)))
    included = prepare(transcript(*single_segment(messages), includes_reasoning=True))

    reasoning = TiktokenCounter().count_text(thought.reasoning)
    differences = [
        b.counted_tokens - a.counted_tokens
        for a, b in zip(without.requests, included.requests, strict=True)
    ]
    assert differences == [0, reasoning]


def test_the_fit_is_of_the_model_that_most_requests_went_to():
    """A log in which one question went to a small model with short instructions."""
    messages = tuple(
        Message(role, f"{role} {number} " * (number + 1))
        for number in range(9)
        for role in ("user", "assistant")
    )
    positions = range(1, len(messages), 2)
    sizes = [counted(messages[:position]) + 3 for position in positions]
    requests = [
        RecordedRequest(position, model="large", usage=Usage(30_000 + 2 * size, 7))
        for position, size in zip(positions, sizes, strict=True)
    ]
    requests[4] = RecordedRequest(positions[4], model="small", usage=Usage(900, 7))

    calibration = prepare(transcript(Segment(messages, tuple(requests)))).segments[0].calibration

    assert (round(calibration.slope, 6), round(calibration.offset_tokens)) == (2, 30_000)
    assert calibration.n_requests == 8


@pytest.mark.parametrize(
    ("share", "is_counted"), [(0.0, True), (0.05, True), (0.49, True), (0.51, False), (3.0, False)]
)
def test_output_of_less_than_half_its_answer_is_counted(share, is_counted):
    # The answer counts for more than 100 tokens; a stream's start is logged with 1 to 8.
    text = "The relay drops every frame above its limit and says so in the log. " * 10
    messages = (Message("user", "Why?"), Message("assistant", text))
    answer = counted(messages[1:])
    assert answer > 100
    usage = Usage(1_000, round(share * answer))
    segment = Segment(messages, (RecordedRequest(1, usage=usage),))

    (request,) = prepare(transcript(segment)).requests

    assert request.is_output_counted is is_counted
    assert request.output_tokens == (answer if is_counted else usage.output_tokens)


def test_a_counted_answer_is_as_long_as_the_providers_tokenizer_makes_it():
    # Input grows by twice what is counted, so an answer is twice as long too.
    text = "The relay drops every frame above its limit and says so in the log. " * 10
    messages, requests = [], []
    for number in range(8):
        messages += [Message("user", f"{number} {text}"), Message("assistant", text)]
        reported = 2 * counted(messages[: 2 * number + 1])
        requests.append(RecordedRequest(2 * number + 1, usage=Usage(reported, 2)))

    prepared = prepare(transcript(Segment(tuple(messages), tuple(requests))))

    answer = counted(messages[1:2])
    assert prepared.segments[0].calibration.slope == pytest.approx(2.0, rel=0.01)
    (output,) = {request.output_tokens for request in prepared.requests}
    assert output == pytest.approx(2 * answer, rel=0.01)


def test_a_new_turn_knows_where_the_reasoning_of_the_last_one_began():
    def thinks(text):
        return Message("assistant", text, reasoning="Well.")

    messages = (
        *(Message("user", "One."), Message("assistant", "Yes."), thinks("More."), thinks("Done.")),
        *(Message("user", "Two."), Message("assistant", "Yes.")),
        *(Message("user", "Three."), thinks("Yes."), Message("user", "Four."), thinks("Yes.")),
    )
    positions = (1, 2, 3, 5, 7, 9)
    hidden = tuple(RecordedRequest(p, is_reasoned=p == 5) for p in positions)
    plain = tuple(RecordedRequest(p) for p in positions)

    def found(requests):
        (segment,) = prepare(transcript(Segment(messages, requests))).segments
        return [request.reasoned_from for request in segment.requests]

    # Within a turn nothing is dropped; a turn without reasoning has none to drop.
    assert found(plain) == [None, None, None, 2, None, 7]
    assert found(hidden) == [None, None, None, 2, 5, 7]
