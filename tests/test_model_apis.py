"""Any compatible endpoint: both APIs, whole and streamed, over a real server and on disk."""

import asyncio
import gc
import json
from contextlib import closing

import pytest

from compaction.errors import ModelError
from compaction.llm import ModelCall, OpenAIChat
from compaction.messages import Message
from compaction.model_wire_stream import joined
from evals.probing.answers import Endpoint, RecordedChat
from evals.recording.scripted_answers import Fault, Reply
from evals.recording.scripted_endpoint import serve_script

CALL_READ = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "read", "arguments": '{"path": "a.txt", "lines": 12}'},
}
SCHEMA = {"type": "object", "properties": {"tool": {"type": "string"}}}
ASKED = ModelCall(
    (Message("system", "Be brief."), Message("user", "a" * 80)),
    max_output_tokens=20,
    response_schema=SCHEMA,
)
TEXT = "Ein längerer Text — in mehr als sieben Zeichen."
every_api = pytest.mark.parametrize("api", ["chat", "responses"])
every_way = pytest.mark.parametrize("stream", [False, True])


def chat_of(endpoint, **settings):
    return OpenAIChat("m", endpoint.base_url, max_retries=0, temperature=0.0, **settings)


def facts(reply):
    calls = [(call.name, call.arguments) for call in reply.tool_calls]
    return reply.text, reply.refusal, calls, reply.finish_reason, reply.usage


@every_api
@pytest.mark.parametrize(
    "said", [Reply(TEXT), Reply(TEXT, (CALL_READ,)), Reply(None, refusal="No."), Reply("")]
)
def test_a_streamed_answer_is_the_same_as_a_whole_one(api, said):
    found = []
    for stream in (False, True):
        with (
            serve_script([said], model="m-1") as endpoint,
            closing(chat_of(endpoint, api=api, stream=stream)) as chat,
        ):
            found.append(facts(chat.complete(ASKED)))
            (body,) = endpoint.requests
            assert body.get("stream", False) is stream

    assert found[0] == found[1]
    assert found[0][0] == (said.content or "")
    assert found[0][1] == said.refusal
    assert len(found[0][2]) == len(said.tool_calls)
    assert found[0][4].input_tokens > 20


@every_api
@every_way
def test_an_answer_may_be_awaited(api, stream):
    with serve_script([Reply(TEXT)]) as endpoint:
        reply = asyncio.run(chat_of(endpoint, api=api, stream=stream).acomplete(ASKED))

    assert reply.text == TEXT


@every_api
@every_way
def test_what_came_in_pieces_is_found_again_however_it_was_sent(tmp_path, api, stream):
    path = tmp_path / "probes.json"
    with (
        serve_script([Reply(TEXT)], model="m") as endpoint,
        closing(chat_of(endpoint, api=api, stream=stream)) as chat,
    ):
        first = RecordedChat(path, Endpoint("m"), chat).complete(ASKED)

    again = RecordedChat(path, Endpoint("m")).complete(ASKED)

    assert facts(again) == facts(first)
    assert again.text == TEXT


@every_api
@every_way
@pytest.mark.parametrize("fault", ["cut_off", "slow", "malformed"])
def test_a_broken_answer_is_an_error_and_may_have_been_charged(tmp_path, api, stream, fault):
    path = tmp_path / "probes.json"
    with (
        serve_script([Fault(fault), Reply("late")], model="m") as endpoint,
        closing(chat_of(endpoint, api=api, stream=stream)) as chat,
    ):
        recorded = RecordedChat(path, Endpoint("m"), chat)
        with pytest.raises(ModelError) as caught:
            recorded.complete(ASKED)

        assert caught.value.fate == "unanswered"
        assert recorded.complete(ASKED).text == "late"
    assert RecordedChat(path, Endpoint("m")).complete(ASKED).text == "late"


@pytest.mark.parametrize(
    ("status", "fate"),
    [
        (400, "refused"),
        (413, "refused"),
        (401, "denied"),
        (404, "denied"),
        (429, "busy"),
        (500, "busy"),
        (503, "busy"),
    ],
)
def test_a_status_says_what_came_of_the_call(status, fate):
    said = Fault("status", status, retry_after_seconds=7)
    with (
        serve_script([said]) as endpoint,
        closing(chat_of(endpoint)) as chat,
        pytest.raises(ModelError) as caught,
    ):
        chat.complete(ASKED)

    assert (caught.value.fate, caught.value.retry_after_seconds) == (fate, 7.0)


def test_an_endpoint_that_is_not_there_was_not_reached():
    chat = OpenAIChat("m", "http://127.0.0.1:9/v1", max_retries=0)
    with closing(chat), pytest.raises(ModelError) as caught:
        chat.complete(ASKED)

    assert caught.value.fate == "unreachable"


@pytest.mark.parametrize(
    ("api", "refused", "left"),
    [
        ("chat", {"temperature"}, {"max_completion_tokens", "response_format"}),
        ("chat", {"max_completion_tokens"}, {"max_tokens", "temperature", "response_format"}),
        ("chat", {"max_completion_tokens", "max_tokens"}, {"temperature", "response_format"}),
        ("chat", {"response_format"}, {"max_completion_tokens", "temperature"}),
        ("chat", {"stream_options"}, {"max_completion_tokens", "temperature", "response_format"}),
        ("responses", {"temperature", "text"}, {"max_output_tokens"}),
        ("responses", {"max_output_tokens"}, {"temperature", "text"}),
    ],
)
def test_a_model_that_rejects_parameters_is_asked_without_them(tmp_path, api, refused, left):
    optional = {"temperature", "max_completion_tokens", "max_tokens", "max_output_tokens"}
    optional |= {"response_format", "text"}

    def say(body):
        for name in sorted(refused & set(body), reverse=True):
            return Fault("status", 400, text=f"Unsupported parameter: {name!r} with this model.")
        return Reply('{"tool": "read"}')

    path = tmp_path / "next_actions.json"
    stream = "stream_options" in refused
    with (
        serve_script(say, model="m") as endpoint,
        closing(chat_of(endpoint, api=api, stream=stream)) as chat,
    ):
        reply = RecordedChat(path, Endpoint("m"), chat).complete(ASKED)
        chat.complete(ASKED)

    # It is asked anew once for each of them, and from then on as it wants.
    assert len(endpoint.requests) == len(refused) + 2
    assert optional & set(endpoint.requests[-1]) == left
    assert json.loads(reply.text) == {"tool": "read"}
    assert RecordedChat(path, Endpoint("m")).complete(ASKED).text == reply.text


def test_a_schema_is_sent_where_the_endpoint_takes_one():
    with serve_script([Reply("{}")] * 2) as endpoint:
        for api in ("chat", "responses"):
            with closing(chat_of(endpoint, api=api)) as chat:
                chat.complete(ASKED)

    first, second = endpoint.requests
    assert first["response_format"]["json_schema"]["schema"] == SCHEMA
    assert second["text"]["format"]["schema"] == SCHEMA


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        ([], "cut off after 0"),
        (
            [{"id": "c1", "choices": [{"index": 0, "delta": {"content": "half"}}]}],
            "cut off after 1",
        ),
        ([{"error": {"message": "overloaded"}}], "reports an error: .*overloaded"),
    ],
)
def test_half_a_stream_is_no_answer(pieces, said):
    with pytest.raises(ModelError, match=said):
        joined(pieces)
    with pytest.raises(ModelError):
        joined([{"type": "response.created", "response": {}}], api="responses")


def test_connections_end_with_the_object_even_if_it_is_part_of_a_cycle():
    with serve_script(lambda _: Reply("yes"), model="m") as endpoint:
        chat = chat_of(endpoint)
        chat.complete(ASKED)
        client = chat._clients["sync"]
        ring = [chat]
        ring.append(ring)
        was_open = not client.is_closed()

        del chat, ring
        gc.collect()

    assert (was_open, client.is_closed()) == (True, True)
