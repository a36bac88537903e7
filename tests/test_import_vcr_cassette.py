"""Conversations of vcrpy cassettes against hand counts, for every API and body layout."""

import gzip
import json
from pathlib import Path

import pytest

from compaction.errors import TranscriptError
from evals.importers.event_streams import chat_completion, events_of
from evals.loading import load_file

FIXTURES = Path(__file__).parent / "fixtures" / "vcr_cassette"
SAMPLES = Path(__file__).resolve().parents[2] / "shared" / "data" / "vcr_cassettes"


def sums(transcript):
    usages = [r.usage for s in transcript.segments for r in s.requests if r.usage]
    return sum(u.input_tokens for u in usages), sum(u.output_tokens for u in usages)


def positions(transcript):
    return [[r.position for r in segment.requests] for segment in transcript.segments]


def test_plain_gzip_and_streamed_answers_form_one_conversation():
    chat, title = load_file(FIXTURES / "chat.yaml")

    expected = json.loads((FIXTURES.parent / "openai_chat" / "messages.json").read_text())
    assert [m.to_openai() for m in chat.messages] == expected
    assert positions(chat) == [[2, 5, 7, 9]]
    assert sums(chat) == (30 + 50 + 70 + 95, 11 + 5 + 6 + 2)
    assert chat.segments[0].requests[3].usage.cached_input_tokens == 64
    assert [r.time for r in chat.segments[0].requests] == [
        1770000030,
        1770000002,
        1770000005,
        1770000095,
    ]
    assert (len(title.messages), sums(title)) == (3, (9, 1))
    assert chat.cluster == title.cluster


def test_what_is_no_answered_chat_request_is_reported():
    chat, title = load_file(FIXTURES / "chat.yaml")

    assert [item.where for item in chat.skipped] == ["interactions[0]", "interactions[2]"]
    assert "status 429" in chat.skipped[1].reason
    assert title.skipped == ()


def test_a_chain_that_lost_messages_was_compacted():
    (transcript,) = load_file(FIXTURES / "compacted.yaml")

    assert positions(transcript) == [[2, 4, 6], [8, 10], [4]]
    _, cleared, summarised = transcript.segments
    assert (cleared.opened_by.kind, cleared.opened_by.tokens_before) == ("micro", 200)
    assert cleared.messages[3].text == "[cleared]"
    assert (summarised.opened_by.kind, summarised.opened_by.tokens_before) == ("full", 230)
    assert summarised.opened_by.summary.startswith("Summary so far")
    assert sums(transcript) == (100 + 150 + 200 + 180 + 230 + 90, 29)


def test_each_provider_has_its_conversation_in_chat_form():
    anthropic, responses, google = load_file(FIXTURES / "providers.yaml")

    for transcript in (anthropic, responses, google):
        assert transcript.messages[0].role == "system"
        assert transcript.messages[0].text == "Be brief."
        assert transcript.tools[0]["function"]["name"] == "look_up"
    assert [m.role for m in anthropic.messages[1:]] == ["user", "assistant", "tool", "assistant"]
    assert anthropic.messages[2].reasoning == "Need a."
    assert anthropic.messages[4].text == "It is 10."
    assert [m.role for m in responses.messages[1:]] == ["user", "assistant", "tool", "assistant"]
    assert responses.messages[2].reasoning == "Need b."
    assert [m.text for m in google.messages[3:]] == ['{"value": 30}', '{"value": 31}', "30."]


def test_usage_of_each_provider_is_all_input_and_all_output():
    anthropic, responses, google = load_file(FIXTURES / "providers.yaml")

    assert sums(anthropic) == (23 + 27, 8 + 6)
    assert anthropic.segments[0].requests[1].usage.cached_input_tokens == 20
    assert anthropic.segments[0].requests[0].usage.cache_write_tokens == 20
    assert anthropic.segments[0].requests[0].time == 1770091506
    assert sums(responses) == (40 + 60, 15 + 2)
    assert responses.segments[0].requests[1].usage.cached_input_tokens == 40
    assert sums(google) == (25 + 55, 16 + 2)
    assert google.segments[0].requests[1].usage.cached_input_tokens == 25


def test_calls_without_ids_are_paired_by_order():
    google = load_file(FIXTURES / "providers.yaml")[2]

    made = [call.call_id for call in google.messages[2].tool_calls]
    assert len(set(made)) == 2
    assert [m.tool_call_id for m in google.messages[3:5]] == made


def test_a_request_that_names_its_predecessor_gets_the_history():
    responses = load_file(FIXTURES / "providers.yaml")[1]

    assert positions(responses) == [[2, 4]]
    assert responses.messages[3].tool_call_id == "f1"


def test_a_packed_cassette_reads_the_same(tmp_path):
    packed = tmp_path / "chat.yaml.gz"
    packed.write_bytes(gzip.compress((FIXTURES / "chat.yaml").read_bytes()))

    plain = load_file(FIXTURES / "chat.yaml")

    assert [t.digest for t in load_file(packed)] == [t.digest for t in plain]


def test_a_cassette_without_a_model_says_what_it_holds():
    with pytest.raises(TranscriptError, match=r"no request to a model \(interactions\[0\]"):
        load_file(FIXTURES / "no_model.yaml")


def test_a_python_object_in_a_cassette_is_refused(tmp_path):
    path = tmp_path / "evil.yaml"
    path.write_text("interactions:\n- request: !!python/object/apply:os.getcwd []\n")

    with pytest.raises(TranscriptError, match=r"evil\.yaml:2: refused"):
        load_file(path)


def exchange(messages, answer, *, tools=()):
    body = json.dumps({"messages": messages, "model": "m", "tools": list(tools)})
    reply = {"choices": [{"message": {"role": "assistant", "content": None, **answer}}]}
    return {
        "request": {"uri": "https://h/v1/chat/completions", "method": "POST", "body": body},
        "response": {"status": {"code": 200}, "body": {"string": json.dumps(reply)}},
    }


def write_cassette(folder, interactions):
    path = folder / "recorded.json"
    path.write_text(json.dumps({"version": 1, "interactions": interactions}))
    return path


def test_two_conversations_that_share_their_start_are_not_a_compaction(tmp_path):
    system = {"role": "system", "content": "s"}
    start = [system, {"role": "user", "content": "one"}]
    more = [*start, {"role": "assistant", "content": "A"}, {"role": "user", "content": "two"}]
    interactions = [
        exchange(start, {"content": "A"}),
        exchange(more, {"content": "B"}),
        exchange([system, {"role": "user", "content": "other"}], {"content": "C"}),
        exchange(start, {"content": "D"}),
    ]

    transcripts = load_file(write_cassette(tmp_path, interactions))

    assert [positions(t) for t in transcripts] == [[[2, 4]], [[2]], [[2]]]


SUMMARY = "The user wants the sum of all rows; rows one and two gave 30 so far."
SYSTEM = {"role": "system", "content": "Use the tool."}
CALL = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
TOOL = {"type": "function", "function": {"name": "look_up"}}
TASK = {"role": "user", "content": "Sum all rows."}
RESUMED = [SYSTEM, {"role": "user", "content": f"Summary: {SUMMARY}\nGo on."}]


def test_a_summary_that_another_request_wrote_opens_a_segment(tmp_path):
    interactions = [
        exchange([SYSTEM, TASK], {"tool_calls": [CALL]}, tools=[TOOL]),
        exchange([{"role": "user", "content": "Summarise: ..."}], {"content": SUMMARY}),
        exchange(RESUMED, {"content": "60."}, tools=[TOOL]),
    ]

    main, summariser = load_file(write_cassette(tmp_path, interactions))

    assert positions(main) == [[2], [2]]
    assert main.segments[1].opened_by.summary == SUMMARY
    assert positions(summariser) == [[1]]


def test_a_summary_asked_for_inside_the_conversation_opens_a_segment(tmp_path):
    history = [
        SYSTEM,
        TASK,
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "10, 20"},
    ]
    asked = [*history, {"role": "user", "content": "Summarise this conversation."}]
    interactions = [
        exchange([SYSTEM, TASK], {"tool_calls": [CALL]}, tools=[TOOL]),
        exchange(asked, {"content": SUMMARY}, tools=[TOOL]),
        exchange(RESUMED, {"content": "60."}, tools=[TOOL]),
    ]

    (main,) = load_file(write_cassette(tmp_path, interactions))

    assert positions(main) == [[2, 5], [2]]
    assert main.segments[1].opened_by.summary == SUMMARY


def test_an_agent_that_is_given_the_answer_of_another_was_not_compacted(tmp_path):
    interactions = [
        exchange([SYSTEM, TASK], {"content": "30."}, tools=[TOOL]),
        exchange([{"role": "user", "content": "Explain 30."}], {"content": SUMMARY}),
        exchange(RESUMED, {"content": "60."}, tools=[TOOL]),
    ]

    transcripts = load_file(write_cassette(tmp_path, interactions))

    assert [positions(t) for t in transcripts] == [[[2]], [[1]], [[2]]]


@pytest.mark.parametrize("api", ["responses", "anthropic"])
def test_a_compaction_by_the_provider_drops_what_was_before_it(tmp_path, api):
    mark = {"type": "compaction", "content": "Two rows read.", "encrypted_content": "gAAA"}
    first = {"role": "user", "content": "Sum all rows."}
    more = {"role": "user", "content": "Go on."}
    if api == "responses":
        uri, key, answer_key = "https://h/v1/responses", "input", "output"
        answer = [{"type": "message", "role": "assistant", "content": "30."}, mark]
        history = [first, *answer, more]
    else:
        uri, key, answer_key = "https://h/v1/messages", "messages", "content"
        answer = [mark, {"type": "text", "text": "30."}]
        history = [first, {"role": "assistant", "content": answer}, more]
    done = {"responses": answer[:1], "anthropic": answer[1:]}[api]
    usage = {"input_tokens": 500, "output_tokens": 9}
    interactions = [
        {
            "request": {"uri": uri, "method": "POST", "body": json.dumps({key: sent})},
            "response": {"body": {"string": json.dumps({answer_key: got, "usage": usage})}},
        }
        for sent, got in (([first], answer), (history, done))
    ]

    (transcript,) = load_file(write_cassette(tmp_path, interactions))

    assert positions(transcript) == [[1], [2]]
    opened = transcript.segments[1].opened_by
    assert (opened.kind, opened.tokens_before, opened.summary) == ("full", 500, "Two rows read.")
    assert [m.role for m in transcript.segments[1].messages] == ["assistant", "user", "assistant"]


def test_a_stream_without_events_is_no_answer():
    assert chat_completion(events_of("data: [DONE]\n\n")) is None


@pytest.mark.parametrize(
    ("start", "messages", "requests", "calls"),
    [
        # MANIFEST.md counts the longest request; here with its answer, and each conversation.
        ("TestAnthropicStructuredPlanning", [[5], [21]], [2, 10], [1, 9]),
        ("TestOpenAIStructuredPlanning", [[3], [11]], [1, 4], [1, 5]),
        ("test_disabling_cache_for_agent", [[27]], [9], [5]),
        ("test_google_instructions_only", [[13]], [5], [7]),
        ("test_live_tool_search_handoff", [[13], [11]], [4, 2], [3, 3]),
        ("test_openai_responses_compact", [[6, 3]], [4], [0]),
        ("test_tool_use_chain_of_two_calls", [[6]], [3], [2]),
    ],
)
@pytest.mark.skipif(not SAMPLES.is_dir(), reason="no sample data beside the repository")
def test_real_cassettes_agree_with_their_manifest(start, messages, requests, calls):
    (path,) = SAMPLES.glob(f"{start}*")

    transcripts = load_file(path)

    assert [[len(s.messages) for s in t.segments] for t in transcripts] == messages
    assert [t.n_requests for t in transcripts] == requests
    assert [sum(len(m.tool_calls) for m in t.messages) for t in transcripts] == calls
    assert all(r.usage for t in transcripts for s in t.segments for r in s.requests)
    assert [item for t in transcripts for item in t.skipped if not item.expected] == []


def test_an_address_that_is_none_is_reported(tmp_path):
    text = (FIXTURES / "providers.yaml").read_text("utf-8")
    assert "https://" in text
    path = tmp_path / "a.yaml"
    path.write_text(text.replace("https://", "https://[", 1), "utf-8")

    reasons = [item.reason for transcript in load_file(path) for item in transcript.skipped]

    assert "no address of a model: Invalid IPv6 URL" in reasons
