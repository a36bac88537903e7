import base64
import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.errors import ModelError, TranscriptError
from compaction.llm import ModelCall, OpenAIChat
from compaction.messages import Message
from evals.cassette_layout import deserialize, dumps, serialize
from evals.cassettes import (
    CassetteError,
    is_unrecorded,
    load_cassette,
    recorder,
)
from evals.redaction import body_digest, redact_secrets
from evals.scripted_endpoint import Fault, Reply, serve_script

URI = "https://api.example/v1/chat/completions"
ANSWER = {"choices": [{"message": {"role": "assistant", "content": "Grüße"}}]}


def entry(request_body, response_body, **more):
    return {
        "request": {"method": "POST", "uri": URI, "body": request_body, "headers": {}},
        "response": {
            "status": {"code": 200, "message": "OK"},
            "headers": {"content-type": ["application/json"]},
            "body": {"string": response_body},
        },
        **more,
    }


def cassette_of(*entries):
    return {"version": 1, "interactions": list(entries)}


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def chat(endpoint):
    return OpenAIChat("m", base_url=endpoint.base_url, max_retries=0)


def ask(endpoint, text):
    return chat(endpoint).complete(ModelCall((Message("user", text),))).text


def test_yaml_with_a_json_body_gives_its_value(tmp_path):
    path = written(
        tmp_path / "a.yaml",
        "interactions:\n- request: {method: POST, uri: 'https://h/v1', body: '{\"a\": [1]}'}\n"
        "  response: {status: {code: 201}, body: {string: '{\"b\": 2}'}}\n"
        "  recorded_at: 2026-03-29T10:00:00\nversion: 1\n",
    )

    (only,) = load_cassette(path)

    assert (only.method, only.uri, only.response_status) == ("POST", "https://h/v1", 201)
    assert only.request_body == {"a": [1]}
    assert only.response_json() == {"b": 2}
    assert only.recorded_at == "2026-03-29T10:00:00"


def test_a_binary_gzip_body_is_unpacked(tmp_path):
    packed = base64.b64encode(gzip.compress(dumps(ANSWER).encode())).decode()
    path = written(
        tmp_path / "a.yaml",
        "interactions:\n- request: {method: POST, uri: u, body: null}\n"
        f"  response: {{status: {{code: 200}}, body: {{string: !!binary {packed}}}}}\n",
    )

    assert load_cassette(path)[0].response_body == dumps(ANSWER)


def test_parsed_bodies_are_taken_as_they_are(tmp_path):
    path = written(
        tmp_path / "a.yaml",
        "interactions:\n- request: {method: POST, uri: u, parsed_body: {day: 2026-03-29}}\n"
        "  response: {status: {code: 200}, parsed_body: {ok: true}}\n",
    )

    (only,) = load_cassette(path)

    assert only.request_body == {"day": "2026-03-29"}
    assert only.response_body == '{"ok":true}'


def test_an_event_stream_stays_text(tmp_path):
    stream = 'data: {"delta": 1}\n\ndata: [DONE]\n\n'
    path = written(tmp_path / "a.json", json.dumps(cassette_of(entry("{}", stream))))

    (only,) = load_cassette(path)

    assert only.response_body == stream
    assert only.response_json() is None


@pytest.mark.parametrize(
    "tag", ["!!python/object/apply:os.system ['true']", "!!python/name:os.system", "!custom x"]
)
def test_yaml_that_asks_for_an_object_is_refused_by_name_and_line(tmp_path, tag):
    path = written(tmp_path / "evil.yaml", f"interactions:\n- {tag}\n")

    with pytest.raises(CassetteError, match=r"evil\.yaml:2: refused") as caught:
        load_cassette(path)

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b'{"version": 1,', "not JSON"),
        (b"a: [", "not YAML"),
        (b"- 1\n", "not a cassette"),
        (b'{"version": 1, "interactions": []}', "no interactions"),
        (b'{"interactions": [{"request": {}}]}', "interaction 0"),
        (b'{"format": "compaction-evals/cassette"}', "damaged"),
    ],
)
@pytest.mark.parametrize("read", [load_cassette, lambda path: recorder(path).__enter__()])
def test_an_unusable_cassette_is_one_clear_error(tmp_path, content, problem, read):
    path = tmp_path / "broken.yaml"
    path.write_bytes(content)

    with pytest.raises(TranscriptError, match=problem) as caught:
        read(path)

    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_replay_of_a_missing_cassette_is_an_error(tmp_path):
    with pytest.raises(CassetteError, match="no such cassette"), recorder(tmp_path / "none.json"):
        pass


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
messages = st.fixed_dictionaries({"role": st.sampled_from(["user", "tool"]), "content": values})
references = st.sampled_from(
    [{"$messages": [[0, 2]]}, {"$shared": 0}, {"$messages": "x"}, {"$json": 1}, {"$shared": "y"}]
)
json_bodies = st.fixed_dictionaries(
    {"model": st.text()},
    optional={
        "messages": st.lists(messages, max_size=5) | references,
        "tools": st.lists(st.just({"name": "x" * 300}), max_size=2) | references,
        "choices": values,
    },
)
spellings = st.sampled_from([dumps, lambda value: dumps(value, indent=2), json.dumps])
bodies = (
    st.builds(lambda value, spell: spell(value), json_bodies, spellings)
    | st.none()
    | st.binary(max_size=20)
    | st.text()
    | st.sampled_from(['{"a":1,"a":2}', '{"a":NaN}', '{"a":1e400}', "[" * 3000, "{}", "1", " {}"])
)


@given(st.lists(st.tuples(bodies, bodies), max_size=5))
def test_the_compact_layout_gives_back_every_body_to_the_letter(pairs):
    before = cassette_of(*(entry(*pair) for pair in pairs))

    assert deserialize(serialize(before)) == before


def test_a_history_is_stored_once():
    said = [{"role": "user", "content": f"{n} " + "x" * 1000} for n in range(40)]
    requests = [dumps({"messages": said[: n + 1]}) for n in range(40)]

    text = serialize(cassette_of(*(entry(body, dumps(ANSWER)) for body in requests)))

    assert sum(len(body) for body in requests) > 800_000
    assert len(text) < 60_000
    assert text.isascii()


def test_a_compact_cassette_reads_like_a_plain_one(tmp_path):
    body = dumps({"messages": [{"role": "user", "content": "a"}], "tools": [{"n": "x" * 300}]})
    plain = cassette_of(entry(body, dumps(ANSWER)), entry("not json", b"\xff"))
    compact = written(tmp_path / "c.json", serialize(plain))
    plain["interactions"][1]["response"]["body"]["string"] = "no"
    usual = written(tmp_path / "p.json", json.dumps(plain))

    read = load_cassette(compact)

    assert read[0] == load_cassette(usual)[0]
    assert read[0].request_body == json.loads(body)
    assert read[1].request_body is None
    assert read[1].response_body == b"\xff"


def test_another_layout_is_refused_by_the_deserializer():
    with pytest.raises(ValueError, match="not a cassette of the layout"):
        deserialize('{"version": 1, "interactions": []}')


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


def test_an_unrecorded_request_fails_and_is_told_apart(tmp_path):
    path = tmp_path / "a.json"
    with serve_script([Reply("one")]) as endpoint:
        with recorder(path, mode="record"):
            ask(endpoint, "a")
        with recorder(path), pytest.raises(Exception, match="no recorded") as caught:
            ask(endpoint, "never asked")

    assert is_unrecorded(caught.value)
    assert not is_unrecorded(ValueError("x"))


def test_a_cassette_holds_no_credentials_dates_or_ports(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-" + "a1" * 20)
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    path = tmp_path / "a.json"
    token = "ghp_" + "Z9" * 15
    with serve_script([Reply(f"use {token}")]) as endpoint:
        with recorder(path, mode="record"):
            live = ask(endpoint, f"my key\nsk-{'q' * 24}")
        port = endpoint.base_url.split(":")[2].split("/")[0]

    text = path.read_text("ascii")

    assert token in live
    assert "[REDACTED]" in text
    for secret in ("sk-", "ghp_", "org-secret", "authorization", "stainless", "date", f":{port}"):
        assert secret not in text


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


@pytest.mark.parametrize(
    "secret",
    [
        "sk-" + "a" * 20,
        "sk-proj-" + "A1_-" * 6,
        "ghp_" + "b" * 36,
        "AKIA" + "C3" * 8,
        "xoxb-1234567890-abc",
        "Bearer " + "e" * 30,
        "bearer " + "e" * 30,
    ],
)
@pytest.mark.parametrize("before", ["", " ", '"', "\\n", "\\\\n", "=", "："])
def test_a_secret_is_replaced_wherever_it_starts(secret, before):
    text = redact_secrets(f"x{before} {secret}" if before == "" else f"x{before}{secret} y")

    assert secret.split()[-1] not in text
    assert "[REDACTED]" in text
    assert redact_secrets(text) == text


@pytest.mark.parametrize(
    "harmless", ["task-aaaaaaaaaaaaaaaaaaaaaaaa", "sk-short", "a bearer of news", "risk-averse"]
)
def test_ordinary_words_are_kept(harmless):
    assert redact_secrets(harmless) == harmless


def test_a_digest_ignores_key_order_and_spacing_only():
    assert body_digest('{"a": 1, "b": 2}') == body_digest(b'{"b":2,"a":1}')
    assert body_digest('{"a": 1}') != body_digest('{"a": 2}')
    assert body_digest(None) == body_digest("") != body_digest("x")


def test_importing_the_reader_imports_no_heavy_library():
    source = Path(load_cassette.__code__.co_filename).read_text("utf-8")

    top = [line for line in source.splitlines() if line.startswith(("import ", "from "))]
    assert not [line for line in top if "vcr" in line or "yaml" in line]
