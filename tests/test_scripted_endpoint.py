import gzip
import json
import time
import urllib.error
import urllib.request
from contextlib import closing
from http.client import IncompleteRead, RemoteDisconnected

import pytest

from compaction.errors import ModelError
from compaction.llm import ModelCall, OpenAIChat
from compaction.messages import Message
from evals.recording.scripted_answers import Fault, Reply, quarter_of_chars
from evals.recording.scripted_endpoint import serve_script

CALL = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{}"}}


def post(endpoint, body, path="/chat/completions"):
    request = urllib.request.Request(
        endpoint.base_url + path,
        data=body if isinstance(body, bytes) else json.dumps(body).encode(),
        headers={"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=5) as answer:
        return json.loads(answer.read())


def client(endpoint):
    from openai import OpenAI

    return OpenAI(base_url=endpoint.base_url, api_key="none", max_retries=0)


def said(*texts):
    return {"model": "m", "messages": [{"role": "user", "content": text} for text in texts]}


def test_replies_come_in_the_order_of_the_script():
    with serve_script([Reply("one"), Reply(None, (CALL,))]) as endpoint:
        first, second = post(endpoint, said("a")), post(endpoint, said("a"))

    assert first["choices"][0]["message"]["content"] == "one"
    assert first["choices"][0]["finish_reason"] == "stop"
    assert second["choices"][0]["message"]["tool_calls"] == [CALL]
    assert second["choices"][0]["finish_reason"] == "tool_calls"


def test_the_real_client_understands_the_answers():
    with (
        serve_script([Reply("text", (CALL,))], model="scripted-x") as endpoint,
        closing(OpenAIChat("m", base_url=endpoint.base_url)) as model,
    ):
        reply = model.complete(ModelCall((Message("user", "a" * 8),)))

    assert (reply.text, reply.model) == ("text", "scripted-x")
    assert [call.name for call in reply.tool_calls] == ["read"]
    assert reply.usage is not None
    # 4 tokens of framing and 8 characters / 4
    assert reply.usage.input_tokens == 6
    # framing, "text", the name "read" and the arguments "{}"
    assert reply.usage.output_tokens == 4 + 1 + 1 + 1


def test_the_shared_prefix_counts_as_cached_in_steps_of_128():
    long = "x" * 4 * 1296

    with serve_script([Reply("a"), Reply("b"), Reply("c")]) as endpoint:
        usages = [
            post(endpoint, said(*texts))["usage"]
            for texts in ((long,), (long, "more"), ("other", long))
        ]

    cached = [usage["prompt_tokens_details"]["cached_tokens"] for usage in usages]
    # 1,296 + 4 tokens are shared with the request before: ten whole steps of 128
    assert cached == [0, 1280, 0]
    assert usages[1]["prompt_tokens"] == 1300 + 5


def test_the_same_script_gives_the_same_answers():
    def run():
        with serve_script([Reply("a"), Reply("b", elapsed_seconds=30)], created=1000) as endpoint:
            return [post(endpoint, said("q")), post(endpoint, said("q", "r"))]

    first = run()

    assert first == run()
    assert [answer["created"] for answer in first] == [1012, 1042]
    assert first[0]["id"] != first[1]["id"]


def test_a_status_fault_takes_one_turn():
    with serve_script([Fault("status", 429), Reply("after")]) as endpoint:
        with pytest.raises(urllib.error.HTTPError) as caught:
            post(endpoint, said("a"))
        caught.value.close()
        after = post(endpoint, said("a"))

    assert caught.value.code == 429
    assert after["choices"][0]["message"]["content"] == "after"
    assert len(endpoint.requests) == 2


def test_a_cut_off_answer_is_incomplete():
    with serve_script([Fault("cut_off")]) as endpoint, pytest.raises(IncompleteRead):
        post(endpoint, said("a"))


def test_a_slow_fault_closes_without_an_answer():
    with (
        serve_script([Fault("slow", delay_seconds=0.05)]) as endpoint,
        pytest.raises(RemoteDisconnected),
    ):
        post(endpoint, said("a"))


def test_a_status_fault_may_say_when_to_come_back():
    with serve_script([Fault("status", 429, retry_after_seconds=7)]) as endpoint:
        with pytest.raises(urllib.error.HTTPError) as caught:
            post(endpoint, said("a"))
        caught.value.close()

    assert caught.value.headers["retry-after"] == "7"


def test_a_malformed_answer_is_no_json():
    with serve_script([Fault("malformed")]) as endpoint, pytest.raises(json.JSONDecodeError):
        post(endpoint, said("a"))


def test_a_reply_may_come_late():
    with serve_script([Reply("late", delay_seconds=0.2)]) as endpoint:
        started = time.monotonic()
        late = post(endpoint, said("a"))

    assert time.monotonic() - started >= 0.2
    assert late["choices"][0]["message"]["content"] == "late"


def test_a_function_answers_by_what_it_is_asked():
    def echo(body):
        return Reply(body["messages"][-1]["content"].upper())

    with serve_script(echo) as endpoint:
        answers = [post(endpoint, said(text)) for text in ("b", "a", "b")]

    assert [a["choices"][0]["message"]["content"] for a in answers] == ["B", "A", "B"]


def test_the_headers_of_requests_are_remembered_in_lower_case():
    with serve_script([Reply("a")]) as endpoint:
        post(endpoint, said("a"))

    assert endpoint.headers[0]["content-type"] == "application/json"


@pytest.mark.parametrize("compress", [False, True])
def test_the_real_client_puts_a_stream_together(compress):
    text, calls = "A text of more than seven characters.", (CALL, {**CALL, "id": "call_2"})
    with (
        serve_script([Reply(text, calls)], compress=compress) as endpoint,
        client(endpoint) as openai,
    ):
        stream = openai.chat.completions.create(
            **said("a"), stream=True, stream_options={"include_usage": True}
        )
        chunks = list(stream)

    deltas = [choice.delta for chunk in chunks for choice in chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == text
    # 37 characters in sevens
    assert sum(bool(delta.content) for delta in deltas) == 6
    heads = [call for delta in deltas for call in delta.tool_calls or () if call.id]
    assert [(call.index, call.id) for call in heads] == [(0, "call_1"), (1, "call_2")]
    arguments = [call for delta in deltas for call in delta.tool_calls or () if not call.id]
    assert [(call.index, call.function.arguments) for call in arguments] == [(0, "{}"), (1, "{}")]
    assert chunks[-1].usage.prompt_tokens == 4 + 1
    assert chunks[-2].choices[0].finish_reason == "tool_calls"


def test_a_stream_has_no_usage_unless_it_was_asked_for():
    with serve_script([Reply("a")]) as endpoint, client(endpoint) as openai:
        stream = openai.chat.completions.create(**said("a"), stream=True)
        assert [chunk.usage for chunk in stream] == [None] * 3


def test_a_stream_that_is_cut_off_fails_in_the_client():
    from openai import OpenAIError

    with (
        serve_script([Fault("cut_off")]) as endpoint,
        client(endpoint) as openai,
        pytest.raises(OpenAIError, match="Connection error"),
    ):
        list(openai.chat.completions.create(**said("a"), stream=True))


def test_gzip_is_sent_to_those_who_accept_it_only():
    with serve_script([Reply("a"), Reply("b")], compress=True) as endpoint:
        request = urllib.request.Request(
            endpoint.base_url + "/chat/completions",
            data=json.dumps(said("a")).encode(),
            headers={"accept-encoding": "gzip"},
        )
        with urllib.request.urlopen(request, timeout=5) as answer:
            packed = answer.read()
        plain = post(endpoint, said("a"))

    assert json.loads(gzip.decompress(packed))["choices"][0]["message"]["content"] == "a"
    assert plain["choices"][0]["message"]["content"] == "b"


def test_the_end_of_the_script_is_an_error_that_says_so():
    with serve_script([Reply("only")]) as endpoint:
        call = ModelCall((Message("user", "a"),))
        with closing(OpenAIChat("m", base_url=endpoint.base_url)) as model:
            model.complete(call)
            with pytest.raises(ModelError, match="the script ended after 1 answers"):
                model.complete(call)


@pytest.mark.parametrize(
    ("body", "path", "status"),
    [
        (b"{", "/chat/completions", 400),
        ({"model": "m"}, "/chat/completions", 400),
        (said("a"), "/responses", 400),
        (said("a"), "/completions", 404),
    ],
)
def test_a_bad_request_costs_no_reply(body, path, status):
    with serve_script([Reply("kept")]) as endpoint:
        with pytest.raises(urllib.error.HTTPError) as caught:
            post(endpoint, body, path)
        caught.value.close()
        kept = post(endpoint, said("a"))

    assert caught.value.code == status
    assert kept["choices"][0]["message"]["content"] == "kept"


def test_a_quarter_of_the_characters_rounds_up():
    assert [quarter_of_chars("x" * n) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]
