"""Recorded answers: found by what was asked, kept before the next request, never mixed up."""

import json
import threading
import time
from dataclasses import replace

import openai
import pytest

from compaction.errors import ModelError
from compaction.llm import ModelCall, OpenAIChat
from compaction.messages import Message
from compaction.model_wire import request_body
from evals.cassettes import load_cassette
from evals.probing.answers import (
    SECONDS_FILE,
    Endpoint,
    RecordedChat,
    UnrecordedError,
    digest_of_body,
    model_folder,
    request_digest,
)
from evals.probing.failed_calls import FAILURES_FILE
from evals.recording.scripted_answers import Fault, Reply
from evals.recording.scripted_endpoint import serve_script

ENDPOINT = Endpoint("m")


def asking(text, **changes):
    return ModelCall((Message("user", text),), purpose="probe answer", **changes)


def echo(body):
    return Reply(f"said: {body['messages'][-1]['content']}")


@pytest.fixture
def live():
    """Make chats of a class for an endpoint, and close their connections in the end."""
    made = []

    def make(endpoint, kind=OpenAIChat):
        made.append(kind("m", endpoint.base_url, max_retries=0, temperature=0.0))
        return made[-1]

    yield make
    for chat in made:
        chat.close()


def test_an_answer_is_asked_for_once_and_found_again_by_the_request(tmp_path, live):
    path = tmp_path / "probes.json"
    with serve_script(echo, model="m") as endpoint:
        first = RecordedChat(path, ENDPOINT, live(endpoint)).complete(asking("a"))
        assert len(endpoint.requests) == 1

    again = RecordedChat(path, ENDPOINT).complete(asking("a"))

    assert again.text == first.text == "said: a"
    assert again.usage == first.usage
    assert again.seconds == round(first.seconds, 4)


@pytest.mark.parametrize(
    "other",
    [
        asking("b", max_output_tokens=9),
        asking("a", max_output_tokens=5),
        asking("a", max_output_tokens=9, seed=2),
        replace(
            asking("a", max_output_tokens=9),
            messages=(Message("system", "x"), Message("user", "a")),
        ),
    ],
)
def test_what_was_not_asked_is_unrecorded_and_says_how_to_record_it(tmp_path, live, other):
    path = tmp_path / "probes.json"
    with serve_script(echo, model="m") as endpoint:
        RecordedChat(path, ENDPOINT, live(endpoint)).complete(asking("a", max_output_tokens=9))

    with pytest.raises(
        UnrecordedError, match=r"no recorded probe answer of m .*; record it: probe"
    ):
        RecordedChat(path, ENDPOINT, hint="probe x").complete(other)
    with pytest.raises(UnrecordedError):
        RecordedChat(path, Endpoint("other")).complete(asking("a", max_output_tokens=9))


def test_an_answer_recorded_without_a_refused_parameter_is_found(tmp_path, live):
    path = tmp_path / "probes.json"
    call = asking("a", max_output_tokens=5)
    with serve_script(echo, model="m") as endpoint:
        refusing = live(endpoint)
        refusing._refused.update({"temperature", "max_completion_tokens"})
        RecordedChat(path, ENDPOINT, refusing).complete(call)
        assert endpoint.requests[0]["max_tokens"] == 5

    assert RecordedChat(path, ENDPOINT).complete(call).text == "said: a"


def test_an_answer_of_the_responses_api_is_found(tmp_path):
    call = asking("a", max_output_tokens=20)
    said = {
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "said: a"}]}],
        "usage": {"input_tokens": 3, "output_tokens": 4},
    }
    interaction = {
        "request": {
            "method": "POST",
            "uri": "http://localhost/v1/responses",
            "body": json.dumps(request_body(call, model="m", temperature=0.0, api="responses")),
            "headers": {},
        },
        "response": {
            "status": {"code": 200, "message": "OK"},
            "headers": {},
            "body": {"string": json.dumps(said)},
        },
    }
    path = tmp_path / "probes.json"
    path.write_text(json.dumps({"interactions": [interaction], "version": 1}), "ascii")

    found = RecordedChat(path, ENDPOINT)

    assert found.complete(call).text == "said: a"
    assert found.find(asking("a", max_output_tokens=20, seed=2)) is None


def test_a_digest_is_blind_to_the_order_of_keys_and_to_nothing_else():
    call = asking("a", max_output_tokens=5)
    body = request_body(call, model="m", temperature=0.0)

    assert digest_of_body(dict(reversed(body.items()))) == request_digest(call, ENDPOINT)
    assert digest_of_body({**body, "temperature": 0.1}) != request_digest(call, ENDPOINT)


def test_no_more_are_asked_at_a_time_than_allowed_and_equal_calls_once(tmp_path, live):
    lock, flying, most = threading.Lock(), [0], [0]

    class Counting(OpenAIChat):
        def complete(self, call):
            with lock:
                flying[0] += 1
                most[0] = max(most[0], flying[0])
            reply = OpenAIChat.complete(self, call)
            with lock:
                flying[0] -= 1
            return reply

    def slowly(body):
        return Reply(echo(body).content, delay_seconds=0.05)

    path = tmp_path / "probes.json"
    calls = [asking(letter) for letter in "abcdefa"]
    with serve_script(slowly, model="m") as endpoint:
        chat = RecordedChat(path, ENDPOINT, live(endpoint, Counting))
        replies = chat.complete_all(calls, concurrency=3)

        assert len(endpoint.requests) == 6
    assert [reply.text for reply in replies] == [f"said: {letter}" for letter in "abcdefa"]
    assert most[0] == 3
    assert len(load_cassette(path)) == 6


def test_of_several_asked_together_the_answered_ones_are_kept_when_one_fails(tmp_path, live):
    def say(body):
        return Fault("status", status=400) if body["messages"][-1]["content"] == "b" else echo(body)

    path = tmp_path / "probes.json"
    with serve_script(say, model="m") as endpoint:
        chat = RecordedChat(path, ENDPOINT, live(endpoint))
        outcomes = chat.complete_all([asking("a"), asking("b"), asking("c")], concurrency=3)

    assert [getattr(outcome, "text", None) for outcome in outcomes] == ["said: a", None, "said: c"]
    kept = RecordedChat(path, ENDPOINT)
    assert [kept.find(asking(letter)) is not None for letter in "abc"] == [True, False, True]
    assert "400" in kept.failure_of(asking("b"))
    with pytest.raises(UnrecordedError, match=r"the last try failed: .*400"):
        kept.complete(asking("b"))


def test_an_error_names_no_key_on_disk_and_is_forgotten_with_the_answer(tmp_path, live):
    key = "sk-proj-" + "a1B2" * 12
    script = iter([Fault("status", status=400, text=f"no such thing for {key}"), Reply("late")])
    path = tmp_path / "probes.json"
    with serve_script(lambda _: next(script), model="m") as endpoint:
        chat = RecordedChat(path, ENDPOINT, live(endpoint))
        (failed,) = chat.complete_all([asking("a")])
        noted = (tmp_path / FAILURES_FILE).read_text("ascii")
        (answered,) = chat.complete_all([asking("a")])

    assert isinstance(failed, ModelError)
    assert "no such thing for" in noted
    assert key not in noted
    assert answered.text == "late"
    assert not (tmp_path / FAILURES_FILE).exists()


def test_damaged_times_cost_the_times_only(tmp_path, live):
    path = tmp_path / "probes.json"
    with serve_script(echo, model="m") as endpoint:
        RecordedChat(path, ENDPOINT, live(endpoint)).complete(asking("a"))
    assert json.loads((tmp_path / SECONDS_FILE).read_text("ascii"))
    (tmp_path / SECONDS_FILE).write_text("{", "ascii")

    assert RecordedChat(path, ENDPOINT).complete(asking("a")).seconds == 0.0


@pytest.mark.parametrize(
    ("model", "folder"),
    [("qwen2.5-coder", "qwen2.5-coder"), ("a/b:c", "a-b-c"), ("../..", "-"), ("..", "model")],
)
def test_no_model_name_leads_out_of_its_folder(model, folder):
    assert model_folder(model) == folder


def test_threads_that_share_a_chat_make_one_client(tmp_path, live, monkeypatch):
    made = []

    class Slow(openai.OpenAI):
        def __init__(self, **settings):
            made.append(self)
            time.sleep(0.05)
            super().__init__(**settings)

    monkeypatch.setattr(openai, "OpenAI", Slow)
    with serve_script(echo, model="m") as endpoint:
        chat = RecordedChat(tmp_path / "probes.json", ENDPOINT, live(endpoint))
        chat.complete_all([asking(letter) for letter in "abc"], concurrency=3)

    assert len(made) == 1
