import json
import urllib.error
import urllib.request
from http.client import IncompleteRead, RemoteDisconnected

import pytest

from compaction.errors import ModelError
from compaction.llm import ModelCall, OpenAIChat
from compaction.messages import Message
from evals.scripted_endpoint import Fault, Reply, quarter_of_chars, serve_script

CALL = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{}"}}


def post(endpoint, body, path="/chat/completions"):
    request = urllib.request.Request(
        endpoint.base_url + path,
        data=body if isinstance(body, bytes) else json.dumps(body).encode(),
        headers={"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=5) as answer:
        return json.loads(answer.read())


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
    with serve_script([Reply("text", (CALL,))], model="scripted-x") as endpoint:
        model = OpenAIChat("m", base_url=endpoint.base_url)
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


def test_the_end_of_the_script_is_an_error_that_says_so():
    with serve_script([Reply("only")]) as endpoint:
        model = OpenAIChat("m", base_url=endpoint.base_url)
        call = ModelCall((Message("user", "a"),))
        model.complete(call)
        with pytest.raises(ModelError, match="the script ended after 1 answers"):
            model.complete(call)


@pytest.mark.parametrize(
    ("body", "path", "status"),
    [
        (b"{", "/chat/completions", 400),
        ({"model": "m"}, "/chat/completions", 400),
        ({"messages": [], "stream": True}, "/chat/completions", 400),
        (said("a"), "/responses", 404),
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
