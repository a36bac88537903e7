import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.contract.generators import conversations
from compaction.errors import TranscriptError
from compaction.llm import Usage
from compaction.messages import Message
from evals.transcripts import (
    RecordedCompaction,
    RecordedRequest,
    Segment,
    Skipped,
    Transcript,
    from_native,
    requests_at,
    single_segment,
    to_native,
)

MESSAGES = (
    Message("user", "a"),
    Message("assistant", "b"),
    Message("user", "c"),
    Message("assistant", "d"),
)

counts = st.integers(0, 10**7)
usages = st.none() | st.builds(Usage, counts, counts, counts, counts)
objects = st.dictionaries(st.text(max_size=5), st.text(max_size=5) | counts | st.none(), max_size=3)
texts = st.none() | st.text(max_size=8)
compactions = st.none() | st.builds(
    RecordedCompaction,
    st.sampled_from(["full", "micro"]),
    texts,
    st.none() | counts,
    st.none() | counts,
    texts,
)


@st.composite
def segments(draw):
    messages = draw(conversations(max_turns=2, max_rounds=2))
    positions = [at for at, message in enumerate(messages) if message.role == "assistant"]
    kept = draw(st.lists(st.sampled_from(positions), unique=True)) if positions else []
    requests = tuple(
        RecordedRequest(at, draw(st.none() | st.floats(0, 2e9)), draw(texts), draw(usages))
        for at in sorted(kept)
    )
    return Segment(messages, requests, draw(compactions))


transcripts = st.builds(
    Transcript,
    name=st.text(max_size=8),
    segments=st.lists(segments(), max_size=3).map(tuple),
    source=st.text(min_size=1, max_size=8),
    format=st.sampled_from(["claude_code", "openai_chat"]),
    provenance=st.sampled_from(["recorded", "authored", "generated"]),
    session=texts,
    project=texts,
    tools=st.lists(objects, max_size=2).map(tuple),
    facts=st.lists(objects, max_size=2).map(tuple),
    skipped=st.lists(
        st.builds(Skipped, st.text(max_size=5), st.text(max_size=5), st.booleans()), max_size=2
    ).map(tuple),
    includes_reasoning=st.booleans(),
    extra=objects,
)


def transcript(**fields):
    return Transcript(**{"name": "t", "segments": single_segment(MESSAGES), **fields})


def native(**changes):
    return {**to_native(transcript()), **changes}


def said_by(raw):
    with pytest.raises(TranscriptError) as caught:
        from_native(raw, where="file.json")
    assert "\n" not in str(caught.value)
    return str(caught.value)


@given(transcripts)
def test_the_native_form_gives_back_an_equal_transcript(before):
    raw = json.loads(json.dumps(to_native(before)))

    after = from_native(raw, where="elsewhere.json")

    assert after == before
    assert after.digest == before.digest
    assert to_native(after) == raw


def test_a_transcript_without_a_source_gets_the_file_it_was_read_from():
    after = from_native(to_native(transcript(source="")), where="file.json")

    assert after.source == "file.json"
    assert after.digest == transcript().digest


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "other"},
        {"source": "other.jsonl"},
        {"session": "other", "project": "other"},
        {"format": "other"},
        {"skipped": (Skipped("line 1", "unknown"),)},
        {"extra": {"note": 1}},
        {"provenance": "authored"},
    ],
)
def test_the_digest_does_not_depend_on_where_a_transcript_comes_from(changes):
    assert transcript(**changes).digest == transcript().digest


def with_request(request):
    return (Segment(MESSAGES, (RecordedRequest(1), request)),)


@pytest.mark.parametrize(
    "changes",
    [
        {"segments": single_segment((*MESSAGES[:3], Message("assistant", "e")))},
        {"segments": single_segment(MESSAGES[:2]) + single_segment(MESSAGES[2:])},
        {"segments": with_request(RecordedRequest(3, time=1.0))},
        {"segments": with_request(RecordedRequest(3, model="m"))},
        {"segments": with_request(RecordedRequest(3, usage=Usage(1, 1)))},
        {"segments": (Segment(MESSAGES, requests_at([3])),)},
        {"segments": (replace(single_segment(MESSAGES)[0], opened_by=RecordedCompaction("full")),)},
        {"tools": ({"name": "read"},)},
        {"facts": ({"id": "f"},)},
        {"includes_reasoning": True},
    ],
)
def test_the_digest_depends_on_everything_that_a_replay_does(changes):
    assert transcript(**changes).digest != transcript().digest


def test_the_order_of_keys_in_a_tool_is_no_content():
    assert (
        transcript(tools=({"a": 1, "b": 2},)).digest == transcript(tools=({"b": 2, "a": 1},)).digest
    )


@pytest.mark.parametrize("positions", [[-1], [4], [1, 1], [3, 1], [0], [1, 2]])
def test_positions_outside_out_of_order_or_at_no_answer_are_refused(positions):
    with pytest.raises(TranscriptError, match="request positions must"):
        Segment(MESSAGES, requests_at(positions))


def test_positions_that_ascend_are_taken_and_name_their_answers():
    segment = Segment(MESSAGES, requests_at([1, 3]))

    assert [segment.answer(request).text for request in segment.requests] == ["b", "d"]


def test_a_log_without_times_has_a_request_for_each_assistant_message():
    (segment,) = single_segment(MESSAGES)

    assert segment.requests == requests_at([1, 3])
    assert segment.opened_by is None
    assert single_segment(()) == (Segment((), ()),)


def test_messages_and_requests_are_counted_over_all_segments():
    two = transcript(segments=single_segment(MESSAGES) + single_segment(MESSAGES[:2]))

    assert two.messages == MESSAGES + MESSAGES[:2]
    assert two.n_requests == 3


def test_parts_of_one_session_are_one_cluster_and_logs_without_session_stand_alone():
    assert transcript(session="s", project="p").cluster == "p/s"
    assert (
        transcript(session="s", source="x").cluster == transcript(session="s", source="y").cluster
    )
    assert transcript(session="s", project="p").cluster != transcript(session="s").cluster
    assert transcript(source="x").cluster != transcript(source="y").cluster
    assert transcript(source="x", name="1").cluster != transcript(source="x", name="2").cluster


@pytest.mark.parametrize("version", [None, 0, 2, "1"])
def test_another_version_says_which_is_read_and_what_to_do(version):
    assert said_by(native(version=version)) == (
        f"file.json: transcript version {version!r}, this program reads 1; "
        "convert it again from its source"
    )


@pytest.mark.parametrize(
    "raw",
    [
        {"version": 1},
        native(segments=None),
        native(segments=[{}]),
        native(segments=[{"messages": [{"role": "bot"}], "requests": []}]),
        native(segments=[{"messages": [], "requests": [{"position": 0}]}]),
        native(segments=[{"messages": [], "requests": [{"position": "0"}]}]),
        native(segments=[{"messages": [], "requests": [{}]}]),
        native(segments=[{"messages": [], "requests": [], "opened_by": {"why": 1}}]),
        native(segments="text"),
        native(skipped=[{"line": 1}]),
        native(tools=7),
    ],
)
def test_a_damaged_file_is_one_line_that_names_it(raw):
    assert said_by(raw).startswith("file.json: not a native transcript: ")


def test_fields_that_a_file_leaves_out_have_their_defaults():
    raw = {"version": 1, "name": "t", "segments": []}

    assert from_native(raw, where="file.json") == Transcript("t", (), source="file.json")


def test_the_digest_is_that_of_older_runs():
    """Runs and recorded answers of before know a transcript by it."""
    usage = Usage(10, 2, cached_input_tokens=3, cache_write_tokens=4)
    segment = Segment(
        MESSAGES,
        (RecordedRequest(1, 1.5, "m", usage, 0.25), RecordedRequest(3)),
        RecordedCompaction("full", "auto", 9, 8, "short"),
    )
    silent = replace(usage, is_cache_logged=False)
    other = replace(segment, requests=(replace(segment.requests[0], usage=silent),))

    assert Transcript("a", (segment,)).digest == "120176c4b8825e999b194187d2999374"
    assert Transcript("a", (other,)).digest != Transcript("a", (segment,)).digest
    assert from_native(to_native(Transcript("a", (other,))), where="x").segments == (other,)


def test_what_bears_on_the_cache_alone_is_written_and_not_in_the_digest():
    before = Segment(MESSAGES, (RecordedRequest(1, 9.5),))
    after = Segment(
        MESSAGES, (RecordedRequest(1, 9.5, sent_time=8.5, is_restart=True, is_reasoned=True),)
    )

    assert Transcript("a", (after,)).digest == Transcript("a", (before,)).digest
    assert from_native(to_native(Transcript("a", (after,))), where="x").segments == (after,)
    (segment,) = to_native(Transcript("a", (before,)))["segments"]
    assert not {"sent_time", "is_restart", "is_reasoned"} & segment["requests"][0].keys()
