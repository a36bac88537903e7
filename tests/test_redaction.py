import gzip
import json

import pytest
from vcr.request import Request

from evals.recording.cassette_files import CassetteError
from evals.recording.redaction import DIGEST_HEADER, body_digest, clean_request, clean_response
from evals.recording.secret_shapes import redact_secrets


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
        "github_pat_" + "d" * 22,
        "glpat-" + "f" * 20,
        "AIza" + "g" * 35,
        "hf_" + "h" * 34,
        "sk_live_" + "i" * 24,
        "rk_test_" + "j" * 24,
        "ASIA" + "K" * 16,
        "gsk_" + "l" * 30,
        "eyJ" + "m" * 20 + ".eyJ" + "n" * 20 + "." + "o" * 20,
    ],
)
@pytest.mark.parametrize("before", ["", " ", '"', "\\n", "\\\\n", "\\u4e00", "=", "："])
def test_a_secret_is_replaced_wherever_it_starts(secret, before):
    text = redact_secrets(f"x{before} {secret}" if before == "" else f"x{before}{secret} y")

    assert secret.split()[-1] not in text
    assert "[REDACTED]" in text
    assert redact_secrets(text) == text


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("postgres://app:pa55word@db.example/x", "postgres://app:[REDACTED]@db.example/x"),
        ('{"Authorization": "Basic dXNlcjpwYXNz"}', '{"Authorization": "Basic [REDACTED]"}'),
        ("authorization: basic dXNlcjpwYXNz", "authorization: basic [REDACTED]"),
        (
            "a -----BEGIN RSA PRIVATE KEY-----\nMII=\n-----END RSA PRIVATE KEY----- b",
            "a [REDACTED] b",
        ),
        ("-----BEGIN PRIVATE KEY-----\\nMIIcut", "[REDACTED]"),
    ],
)
def test_a_secret_is_cut_out_of_its_surroundings(text, clean):
    assert redact_secrets(text) == clean
    assert redact_secrets(clean) == clean


def test_values_that_the_environment_names_as_secrets_are_replaced(monkeypatch):
    monkeypatch.setenv("LOCAL_API_KEY", 'an "odd" key')
    monkeypatch.setenv("SHORT_TOKEN", "short")
    monkeypatch.setenv("KEYBOARD_LAYOUT", "neo-qwertz-2")

    text = redact_secrets('an "odd" key; {"k": "an \\"odd\\" key"}; short; neo-qwertz-2')

    assert text == '[REDACTED]; {"k": "[REDACTED]"}; short; neo-qwertz-2'


KEY = "sk-" + "abcdefgh" * 3


def stream_of(*events):
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"


def cleaned(body, encoding=None):
    headers = {"content-type": ["text/event-stream"]}
    if encoding:
        headers["content-encoding"] = [encoding]
    response = {"status": {"code": 200}, "headers": headers, "body": {"string": body}}
    return clean_response(response)["body"]["string"]


def test_a_key_that_a_stream_gives_in_pieces_is_replaced_and_the_rest_kept():
    def delta(index, **more):
        return {"choices": [{"index": index, "delta": more}], "id": "c1"}

    halves = [delta(0, content=f"my key {KEY[:5]}"), delta(1, content="not it ")]
    halves += [delta(0, content=KEY[5:12]), delta(1, content="at all"), delta(0, content=KEY[12:])]

    text = cleaned(stream_of(*halves).encode()).decode()

    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    said = {0: "", 1: ""}
    for event in events:
        said[event["choices"][0]["index"]] += event["choices"][0]["delta"]["content"]
    assert said == {0: "my key [REDACTED]", 1: "not it at all"}
    assert text.endswith("data: [DONE]\n\n")


@pytest.mark.parametrize(
    "event",
    [
        lambda text: {"type": "content_block_delta", "index": 1, "delta": {"text": text}},
        lambda text: {"type": "response.output_text.delta", "item_id": "i", "delta": text},
        lambda text: {
            "choices": [
                {
                    "delta": {"tool_calls": [{"index": 2, "function": {"arguments": text}}]},
                    "index": 0,
                }
            ]
        },
    ],
)
def test_pieces_are_put_together_in_every_dialect(event):
    text = "event: x\n" + stream_of(event("a " + KEY[:9]), event(KEY[9:] + " b"))

    clean = cleaned(text.encode()).decode()

    assert KEY[9:] not in clean
    assert "a [REDACTED] b" in clean


def test_a_stream_without_secrets_stays_to_the_letter():
    text = stream_of({"choices": [{"delta": {"content": "é <&>"}}]}) + ": ping\n\ndata: {broken\n\n"

    assert cleaned(text.encode()) == text.encode()


def test_gzip_is_unpacked_and_what_cannot_be_looked_into_is_refused():
    assert cleaned(gzip.compress(f"key {KEY}".encode()), "gzip") == b"key [REDACTED]"
    assert cleaned(gzip.compress(f"key {KEY}".encode())) == b"key [REDACTED]"
    assert cleaned(b"plain after all", "zstd") == b"plain after all"
    with pytest.raises(CassetteError, match="in the encoding zstd cannot be searched"):
        cleaned(b"\x28\xb5\x2f\xfd\xff", "zstd")
    with pytest.raises(CassetteError, match="cannot be unpacked"):
        cleaned(b"\x1f\x8b broken", "gzip")


def test_secrets_in_bytes_that_are_no_text_are_replaced_and_the_bytes_kept():
    assert cleaned(b"\xff\xfe" + KEY.encode() + b"\x00\xff") == b"\xff\xfe[REDACTED]\x00\xff"


def test_a_packed_request_is_stored_unpacked_and_clean():
    request = Request("POST", "https://h.example/v1", gzip.compress(KEY.encode()), {})
    plain = Request("POST", "https://h.example/v1", KEY.encode(), {})

    assert clean_request(request).body == b"[REDACTED]"
    assert request.headers[DIGEST_HEADER] == clean_request(plain).headers[DIGEST_HEADER]


@pytest.mark.parametrize(
    ("address", "clean"),
    [
        ("https://u:p@h.example/v1?x=1#y", "https://h.example/v1?x=1"),
        ("http://127.0.0.1:8123/v1", "http://localhost/v1"),
        (
            "https://h.example/v1?API_KEY=a&api-version=2&code=b",
            "https://h.example/v1?api-version=2",
        ),
        (f"https://h.example/bot/{KEY}/say", "https://h.example/bot/[REDACTED]/say"),
    ],
)
def test_an_address_is_kept_without_what_opens_it(address, clean):
    assert clean_request(Request("POST", address, None, {})).uri == clean


@pytest.mark.parametrize("kind", [str, str.encode])
def test_an_answer_is_stored_without_the_timings_of_its_server(kind):
    def stored(text):
        response = {"status": {"code": 200}, "headers": {}, "body": {"string": kind(text)}}
        return clean_response(response)["body"]["string"]

    said = (
        '{"choices": [{"message": {"content": "\u00e9 timings"}}], "timings": {"prompt_ms": 1.5}}'
    )
    assert stored(said) == kind('{"choices":[{"message":{"content":"\u00e9 timings"}}]}')
    for kept in ('{"choices": [ ]}', '["timings"]', 'data: {"timings": 1}', "not JSON"):
        assert stored(kept) == kind(kept)


def test_failures_are_not_stored():
    assert clean_response({"status": {"code": 429}, "headers": {}, "body": {"string": b""}}) is None


@pytest.mark.parametrize(
    "harmless",
    [
        "task-aaaaaaaaaaaaaaaaaaaaaaaa",
        "sk-short",
        "a bearer of news",
        "risk-averse",
        "me@h.example",
    ],
)
def test_ordinary_words_are_kept(harmless):
    assert redact_secrets(harmless) == harmless


def test_a_digest_ignores_key_order_and_spacing_only():
    assert body_digest('{"a": 1, "b": 2}') == body_digest(b'{"b":2,"a":1}')
    assert body_digest('{"a": 1}') != body_digest('{"a": 2}')
    assert body_digest(None) == body_digest("") != body_digest("x")
