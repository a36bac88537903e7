import base64
import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.errors import TranscriptError
from evals.cassettes import load_cassette
from evals.recording.cassette_files import CassetteError, dump_yaml
from evals.recording.cassette_layout import GrowingLayout, deserialize, dumps, serialize
from evals.recording.recorder import recorder

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


def extend(path):
    return recorder(path, mode="extend").__enter__()


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


@pytest.mark.parametrize("name", ["evil.yaml", "evil.json"])
@pytest.mark.parametrize(
    "read", [load_cassette, lambda path: recorder(path).__enter__(), lambda path: extend(path)]
)
def test_no_code_runs_when_a_cassette_asks_for_it(tmp_path, name, read):
    ran = tmp_path / "ran"
    path = written(
        tmp_path / name, f"interactions:\n- !!python/object/apply:os.mkdir ['{ran}']\nversion: 1\n"
    )

    with pytest.raises(CassetteError, match=r"refused, the file asks for a Python object"):
        read(path)

    assert not ran.exists()


def test_plain_yaml_comes_back_as_it_was(tmp_path):
    before = cassette_of(entry('{"messages": ["Grüße 🙂"]}', dumps(ANSWER)), entry("x: [", b"\xff"))
    path = written(tmp_path / "a.yaml", dump_yaml(before))

    text = path.read_text("ascii")

    assert text.startswith("interactions:")
    assert load_cassette(path)[0].request_body == {"messages": ["Grüße 🙂"]}
    assert load_cassette(path)[1].response_body == b"\xff"


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


@given(st.lists(st.tuples(bodies, bodies), max_size=5))
def test_rows_that_were_written_one_by_one_give_back_every_body_to_the_letter(pairs):
    entries = [entry(*pair) for pair in pairs]
    writer, reader = GrowingLayout(), GrowingLayout()
    rows = [json.loads(json.dumps(writer.pack(item))) for item in entries]

    assert [reader.unpack(row) for row in rows] == entries
    assert writer.pack(entries[0]) == reader.pack(entries[0]) if entries else True


def test_a_row_holds_no_message_that_an_earlier_row_holds():
    said = [{"role": "user", "content": f"{n} " + "x" * 1000} for n in range(3)]
    layout = GrowingLayout()

    rows = [layout.pack(entry(dumps({"messages": said[: n + 1]}), "{}")) for n in range(3)]

    assert [row["messages"] for row in rows] == [[said[0]], [said[1]], [said[2]]]


def test_a_history_is_stored_once():
    said = [{"role": "user", "content": f"{n} " + "x" * 1000} for n in range(40)]
    requests = [dumps({"messages": said[: n + 1]}) for n in range(40)]

    text = serialize(cassette_of(*(entry(body, dumps(ANSWER)) for body in requests)))

    assert sum(len(body) for body in requests) > 800_000
    assert len(text) < 60_000
    assert text.isascii()


headers = st.none() | st.dictionaries(
    st.sampled_from(["accept", "x-body-digest", "$rest", "own_headers"]),
    st.lists(st.text(), max_size=2),
)


@given(st.lists(st.tuples(headers, headers), max_size=4))
def test_what_surrounds_a_body_comes_back_too(pairs):
    entries = [entry("{}", "{}") for _ in pairs]
    for item, (sent, answered) in zip(entries, pairs, strict=True):
        item["request"]["headers"], item["response"]["headers"] = sent, answered
    before = cassette_of(*entries, {"request": "?", "response": {"status": 200, "$rest": 1}})

    assert deserialize(serialize(before)) == before


def test_what_surrounds_the_bodies_is_stored_once():
    entries = [entry("{}", "{}") for _ in range(40)]
    for number, item in enumerate(entries):
        item["request"]["headers"] = {"accept": ["a" * 500], "x-body-digest": [f"{number:064}"]}

    text = serialize(cassette_of(*entries))

    assert len(text) < 40 * 250 + 1_000
    assert deserialize(text)["interactions"] == entries


def test_a_cassette_that_shares_only_what_bodies_hold_is_still_read(tmp_path):
    row = entry("", "")
    row["request"]["body"] = {"$json": {"messages": {"$messages": [[0, 1]]}}, "indent": None}
    content = {
        "format": "compaction-evals/cassette",
        "others": {"version": 1},
        "shared": [],
        "messages": [{"role": "user", "content": "a"}],
        "interactions": [row],
    }

    (read,) = load_cassette(written(tmp_path / "c.json", json.dumps(content)))

    assert read.request_body == {"messages": [{"role": "user", "content": "a"}]}
    assert deserialize(json.dumps(content))["interactions"][0]["request"]["uri"] == read.uri


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


def test_importing_the_reader_imports_no_heavy_library():
    source = Path(load_cassette.__code__.co_filename).read_text("utf-8")

    top = [line for line in source.splitlines() if line.startswith(("import ", "from "))]
    assert not [line for line in top if "vcr" in line or "yaml" in line]
