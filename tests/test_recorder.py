import json
from contextlib import closing

import pytest
import vcr

from compaction.errors import ModelError
from compaction.llm import ModelCall, OpenAIChat
from compaction.messages import Message
from evals.cassettes import load_cassette
from evals.recording.cassette_files import CassetteError
from evals.recording.recorder import UnrecordedRequestError, recorder, resumable_recorder
from evals.recording.scripted_answers import Fault, Reply
from evals.recording.scripted_endpoint import serve_script


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def streamed(endpoint, text):
    from openai import OpenAI

    message = {"role": "user", "content": text}
    with OpenAI(base_url=endpoint.base_url, api_key="none", max_retries=0) as client:
        chunks = list(client.chat.completions.create(model="m", messages=[message], stream=True))
    return "".join(c.delta.content or "" for chunk in chunks for c in chunk.choices)


def ask(endpoint, *texts):
    with closing(OpenAIChat("m", base_url=endpoint.base_url, max_retries=0)) as chat:
        return chat.complete(ModelCall(tuple(Message("user", text) for text in texts))).text


def test_replay_of_a_missing_cassette_is_an_error(tmp_path):
    with pytest.raises(CassetteError, match="no such cassette"), recorder(tmp_path / "none.json"):
        pass


def test_what_was_recorded_is_replayed_without_the_endpoint(tmp_path):
    path = tmp_path / "a.json"
    with serve_script([Reply("one"), Reply("two")]) as endpoint:
        with recorder(path, mode="record"):
            recorded = [ask(endpoint, "a"), ask(endpoint, "b")]
        endpoint.base_url = "http://127.0.0.1:9/v1"
        with recorder(path):
            replayed = [ask(endpoint, text) for text in ("b", "a", "a")]

    assert recorded == ["one", "two"]
    assert replayed == ["two", "one", "one"]
    assert len(endpoint.requests) == 2


def test_an_unrecorded_request_is_an_error_that_shows_the_first_differing_message(tmp_path):
    path = tmp_path / "a.json"
    with serve_script([Reply("one"), Reply("two")]) as endpoint:
        with recorder(path, mode="record"):
            ask(endpoint, "a", "first line\nsecond line")
            ask(endpoint, "other")
        with recorder(path), pytest.raises(UnrecordedRequestError) as caught:
            ask(endpoint, "a", "first line\nsecond lime")

    text = str(caught.value)
    assert text.startswith(f"{path}: no recorded answer to POST /v1/chat/completions; the nearest")
    assert (
        "request 1 of 2; message 1 of 2 (user) differs: 'second line' became 'second lime'" in text
    )
    assert caught.value.diff.splitlines()[-2:] == ["-second line", "+second lime"]
    assert caught.value.__notes__ == [caught.value.diff]
    assert len(endpoint.requests) == 2


def test_a_request_to_another_path_is_not_answered(tmp_path):
    path = tmp_path / "a.json"
    with serve_script([Reply("one")]) as endpoint:
        with recorder(path, mode="record"):
            ask(endpoint, "a")
        endpoint.base_url = endpoint.base_url.replace("/v1", "/v2")
        with recorder(path), pytest.raises(UnrecordedRequestError, match="nothing was recorded"):
            ask(endpoint, "a")


def test_plain_yaml_is_recorded_and_replayed_by_us_and_by_vcrpy_alone(tmp_path):
    path = tmp_path / "a.yaml"
    with serve_script([Reply("Grüße")]) as endpoint:
        with recorder(path, mode="record"):
            ask(endpoint, "a")
        with recorder(path):
            ours = ask(endpoint, "a")
        with vcr.use_cassette(str(path), record_mode="none", match_on=["method", "path"]):
            theirs = ask(endpoint, "a")

    assert path.read_text("ascii").startswith("interactions:")
    assert (ours, theirs) == ("Grüße", "Grüße")
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("compress", [False, True])
def test_a_stream_is_recorded_and_replayed(tmp_path, compress):
    path = tmp_path / "a.json"
    with serve_script([Reply("A text in pieces.")], compress=compress) as endpoint:
        with recorder(path, mode="record"):
            recorded = streamed(endpoint, "a")
        with recorder(path):
            replayed = streamed(endpoint, "a")

    assert recorded == replayed == "A text in pieces."
    assert load_cassette(path)[0].response_body.startswith("data: {")


def test_a_stream_that_was_cut_off_is_not_recorded(tmp_path):
    from openai import OpenAIError

    path = tmp_path / "a.json"
    with (
        serve_script([Fault("cut_off"), Reply("whole")]) as endpoint,
        recorder(path, mode="record"),
    ):
        with pytest.raises(OpenAIError):
            streamed(endpoint, "a")
        streamed(endpoint, "a")

    assert len(load_cassette(path)) == 1


SECRETS = {
    "header": "sk-" + "h1" * 12,
    "query": "sk-" + "q1" * 12,
    "user": "hunter-of-mice",
    "request": "ghp_" + "r1" * 12,
    "image": "AKIA" + "I1" * 8,
    "answer": "xoxb-" + "a1" * 12,
    "arguments": "glpat-" + "g1" * 12,
    "environment": "no shape at all, só nothing",
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("name", ["a.json", "a.yaml"])
def test_no_planted_credential_reaches_the_disk(tmp_path, monkeypatch, name, compress, stream):
    monkeypatch.setenv("OPENAI_API_KEY", SECRETS["header"])
    monkeypatch.setenv("OPENAI_ORG_ID", "org-planted")
    monkeypatch.setenv("SOME_TOKEN", SECRETS["environment"])
    function = {"name": "push", "arguments": json.dumps({"with": SECRETS["arguments"]})}
    call = {"id": "call_1", "type": "function", "function": function}
    reply = Reply(f"take {SECRETS['answer']} or\n{SECRETS['environment']}", (call,))
    with serve_script([reply], compress=compress) as endpoint:
        from openai import OpenAI

        client = OpenAI(
            base_url=endpoint.base_url,
            default_query={"api-version": "1", "Api_Key": SECRETS["query"]},
            default_headers={"x-api-key": SECRETS["header"], "cookie": "session=planted"},
        )
        address = f"https://me:{SECRETS['user']}@h.example/"
        said = f"use {SECRETS['request']}\nat {address} {SECRETS['image']}"
        with client, resumable_recorder(tmp_path / name) as recording:
            client.chat.completions.with_raw_response.create(
                model="m",
                messages=[{"role": "user", "content": said}],
                stream=stream,
            ).parse()
            recording.keep()
            journal = (tmp_path / f"{name}.unfinished").read_text("utf-8")
        port = endpoint.base_url.split(":")[2].split("/")[0]

    cassette = (tmp_path / name).read_text("ascii")
    assert SECRETS["header"] in endpoint.headers[0]["authorization"]
    for text in (journal, cassette):
        whole = "".join(text.split())
        for secret in (*SECRETS.values(), "org-planted", "session=planted"):
            assert secret not in text, secret
            assert json.dumps(secret)[1:-1] not in text, secret
        for part in ("authorization", "stainless", "date:", f":{port}", "x-api-key"):
            assert part not in whole.lower(), part
        assert "api-version=1" in text
    answer = load_cassette(tmp_path / name)[0].response_body
    for place, secret in SECRETS.items():
        assert "".join(pieces(answer)).find(secret) < 0, place
    assert "".join(pieces(answer)).count("[REDACTED]") == 3


def pieces(body):
    """Return the texts of an answer, those of a stream put together."""
    if not body.startswith("data:"):
        message = json.loads(body)["choices"][0]["message"]
        return [message["content"], *(c["function"]["arguments"] for c in message["tool_calls"])]
    events = [json.loads(line[6:]) for line in body.splitlines() if line.startswith("data: {")]
    deltas = [event["choices"][0]["delta"] for event in events]
    calls = [call for delta in deltas for call in delta.get("tool_calls") or ()]
    texts = [delta.get("content") or "" for delta in deltas]
    return [*texts, *(call["function"].get("arguments", "") for call in calls)]


def test_a_request_with_a_secret_is_found_again(tmp_path):
    path = tmp_path / "a.json"
    secret = "AKIA" + "A" * 16
    with serve_script([Reply("fine")]) as endpoint:
        with recorder(path, mode="record"):
            ask(endpoint, secret)
        with recorder(path):
            assert ask(endpoint, secret) == "fine"


def test_failures_are_not_recorded(tmp_path):
    path = tmp_path / "a.json"
    with (
        serve_script([Fault("status", 500), Reply("late")]) as endpoint,
        recorder(path, mode="record"),
    ):
        with pytest.raises(ModelError):
            ask(endpoint, "a")
        assert ask(endpoint, "a") == "late"

    assert [i.response_status for i in load_cassette(path)] == [200]


def test_a_recording_that_breaks_off_leaves_the_old_cassette(tmp_path):
    path = written(tmp_path / "a.json", "old")

    def record_and_break_off():
        with serve_script([Reply("new")]) as endpoint, recorder(path, mode="record"):
            ask(endpoint, "a")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        record_and_break_off()

    assert path.read_text() == "old"


def test_recording_replaces_whatever_was_there(tmp_path):
    path = written(tmp_path / "a.json", "not: [a cassette")

    with serve_script([Reply("new")]) as endpoint, recorder(path, mode="record"):
        ask(endpoint, "a")

    assert len(load_cassette(path)) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


def test_extending_keeps_what_was_recorded_and_adds(tmp_path):
    path = tmp_path / "a.json"
    with serve_script([Reply("one"), Reply("two")]) as endpoint:
        for texts in (["a"], ["a", "b"]):
            with recorder(path, mode="extend"):
                answers = [ask(endpoint, text) for text in texts]

    assert answers == ["one", "two"]
    assert len(load_cassette(path)) == 2


def test_what_was_kept_is_not_sent_again_after_a_failure(tmp_path):
    path = tmp_path / "a.json"
    with serve_script(lambda body: Reply(f"to {body['messages'][0]['content']}")) as endpoint:
        broken_off(path, endpoint, "a", "b")
        assert not path.exists()
        with resumable_recorder(path) as recording:
            answers = kept(recording, endpoint, "a", "b", "c")
            assert (recording.found, recording.reused) == (2, 2)

    assert answers == ["to a", "to b", "to c"]
    assert [body["messages"][0]["content"] for body in endpoint.requests] == ["a", "b", "c"]
    assert [i.request_body["messages"][0]["content"] for i in load_cassette(path)] == [
        "a",
        "b",
        "c",
    ]
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


def test_a_resumed_recording_equals_one_that_was_not_interrupted(tmp_path):
    def always(body):
        return Reply(f"to {body['messages'][0]['content']}", elapsed_seconds=0)

    for name in ("whole", "resumed"):
        with serve_script(always, created=0) as endpoint:
            if name == "resumed":
                broken_off(tmp_path / "resumed.json", endpoint, "a")
            with resumable_recorder(tmp_path / f"{name}.json") as recording:
                kept(recording, endpoint, "a", "b")

    whole, resumed = ((tmp_path / f"{name}.json").read_bytes() for name in ("whole", "resumed"))
    assert whole == resumed


def test_an_answer_that_was_not_kept_is_asked_for_again(tmp_path):
    path = tmp_path / "a.json"
    with serve_script([Reply("first"), Reply("second")]) as endpoint:
        broken_off(path, endpoint, "a", keep=False)
        with resumable_recorder(path) as recording:
            assert kept(recording, endpoint, "a") == ["second"]


def test_the_same_request_twice_is_two_requests(tmp_path):
    path = tmp_path / "a.json"
    with (
        serve_script([Reply("one"), Reply("two")]) as endpoint,
        resumable_recorder(path) as recording,
    ):
        assert kept(recording, endpoint, "a", "a") == ["one", "two"]

    assert len(load_cassette(path)) == 2


def test_kept_answers_that_fit_no_request_are_left_out(tmp_path):
    path = tmp_path / "a.json"
    with serve_script([Reply("one"), Reply("two"), Reply("three")]) as endpoint:
        broken_off(path, endpoint, "a", "b")
        with resumable_recorder(path) as recording:
            kept(recording, endpoint, "a", "c")
            assert (recording.found, recording.reused) == (2, 1)

    assert [i.request_body["messages"][0]["content"] for i in load_cassette(path)] == ["a", "c"]


def test_half_a_line_at_the_end_is_no_answer(tmp_path):
    path = tmp_path / "a.json"
    with serve_script([Reply("one"), Reply("two")]) as endpoint:
        broken_off(path, endpoint, "a", "b")
        journal = tmp_path / "a.json.unfinished"
        journal.write_bytes(journal.read_bytes()[:-20])
        endpoint.say = lambda _: Reply("again")
        with resumable_recorder(path) as recording:
            assert kept(recording, endpoint, "a", "b") == ["one", "again"]

    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize(
    "text",
    [
        "x\n{}\n",
        '{"format": "other"}\n',
        '{"format": "compaction-evals/unfinished-cassette"}\n{}\n',
    ],
)
def test_a_damaged_journal_is_one_clear_error_and_stays(tmp_path, text):
    written(tmp_path / "a.json.unfinished", text)

    with (
        pytest.raises(CassetteError, match=r"a\.json\.unfinished: cannot be continued") as caught,
        resumable_recorder(tmp_path / "a.json"),
    ):
        pass

    assert "delete it to record from the start" in str(caught.value)
    assert (tmp_path / "a.json.unfinished").read_text("utf-8") == text


def test_a_finished_cassette_is_not_recorded_over(tmp_path):
    path = written(tmp_path / "a.json", "paid for")

    with pytest.raises(CassetteError, match="recorded already"), resumable_recorder(path):
        pass

    assert path.read_text("utf-8") == "paid for"


def test_a_second_process_that_records_to_the_same_place_is_noticed(tmp_path):
    path = tmp_path / "a.json"
    with serve_script(lambda _: Reply("x")) as endpoint, resumable_recorder(path) as recording:
        kept(recording, endpoint, "a")
        broken_off(path, endpoint, "a", "b")
        with pytest.raises(CassetteError, match="something else wrote to it"):
            kept(recording, endpoint, "c")


def broken_off(path, endpoint, *texts, keep=True):
    def record_and_break_off():
        with resumable_recorder(path) as recording:
            if keep:
                kept(recording, endpoint, *texts)
            else:
                ask(endpoint, *texts)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        record_and_break_off()


def kept(recording, endpoint, *texts):
    answers = []
    for text in texts:
        answers.append(ask(endpoint, text))
        recording.keep()
    return answers
