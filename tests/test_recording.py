"""Authored scenarios: what is sent, what the tools answer, what is written."""

import base64
import struct

import pytest

from compaction.errors import StrategyError
from evals.cassettes import load_cassette
from evals.recording.recorder import UnrecordedRequestError
from evals.recording.recording_live import RecordingError
from evals.recording.scenario_recording import RecordRequest, record, replay
from evals.recording.scenarios import ScenarioError

HEAD = """
name: small
model: scripted
created: 1000
project: project
system: You help.
"""
TOOLS = '''
from pathlib import Path


def stock(root: Path, item: str) -> str:
    """Say how many there are."""
    return (root / "stock" / item).read_text()
'''
PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 600, 400) + b"\xff\xfe"


@pytest.fixture
def folder(tmp_path):
    shop = tmp_path / "shop"
    (shop / "project" / "stock").mkdir(parents=True)
    (shop / "project" / "stock" / "apples").write_text("17")
    (shop / "project" / "screen.png").write_bytes(PNG)
    (shop / "tools.py").write_text(TOOLS)
    return shop


def recorded(folder, text):
    path = folder / "scenario.yaml"
    path.write_text(HEAD + text)
    cassette = folder / "cassette.json"
    record(RecordRequest(scenario=path, cassette=cassette), say=print)
    return load_cassette(cassette)


def test_own_tools_are_offered_after_the_scratch_tools_and_answer(folder):
    last = recorded(
        folder,
        "tools: tools.py\nbuiltin_tools: [read_file]\nsteps:\n- user: How many?\n"
        "- calls: [{stock: {item: apples}}, {stock: {item: pears}}, {grep: {pattern: x}}]\n"
        "- say: Seventeen.\n",
    )[-1].request_body

    assert [tool["function"]["name"] for tool in last["tools"]] == ["read_file", "stock"]
    found, missing, unknown = (m["content"] for m in last["messages"] if m["role"] == "tool")
    assert found == "17"
    assert missing == "error: [Errno 2] No such file or directory: 'shop/stock/pears'"
    assert unknown == "error: no tool named 'grep'; there are read_file, stock"


def test_no_scratch_tool_is_offered_if_the_scenario_wants_none(folder):
    only = recorded(folder, "tools: tools.py\nbuiltin_tools: []\nsteps: [{user: hi}, {say: ho}]")[0]

    assert [tool["function"]["name"] for tool in only.request_body["tools"]] == ["stock"]


def test_images_of_a_user_turn_are_sent_as_data_uris_and_counted_as_tiles(folder):
    text, seen = recorded(
        folder,
        "builtin_tools: []\nsteps: [{user: hi}, {say: ok},"
        " {user: {text: and this, images: [screen.png]}}, {say: ok}]",
    )

    content = seen.request_body["messages"][-1]["content"]
    assert content[0] == {"type": "text", "text": "and this"}
    url = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    assert content[1] == {"type": "image_url", "image_url": {"url": url, "detail": "auto"}}
    # 4 a message; "You| help|.", "hi", "ok", "and| this"; a picture of 600 x 400 px is two tiles
    assert text.response_json()["usage"]["prompt_tokens"] == (4 + 3) + (4 + 1)
    assert seen.response_json()["usage"]["prompt_tokens"] == 12 + (4 + 1) + (4 + 2 + 85 + 2 * 170)


def test_a_binary_file_does_not_disturb_a_search(folder):
    last = recorded(
        folder,
        "steps:\n- user: Find it.\n- calls: [{grep: {pattern: '1'}}]\n- say: There.\n",
    )[-1].request_body

    assert last["messages"][-1]["content"] == "stock/apples:1:17"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("builtin_tools: [gerp]\nsteps: [{user: a}, {say: b}]", "no gerp; there are list_files"),
        ("tools: none.py\nsteps: [{user: a}, {say: b}]", r"none\.py: FileNotFoundError"),
        ("steps: [{user: {text: a, images: [b.png]}}, {say: b}]", r"b\.png: no such image"),
        (
            "steps: [{user: {text: a, images: [stock/apples]}}, {say: b}]",
            "not the name of an image",
        ),
        ("generator: none.py\nsteps: [{user: a}, {say: b}]", r"none\.py: failed"),
    ],
)
def test_a_scenario_that_cannot_be_run_writes_nothing(folder, text, problem):
    with pytest.raises(ScenarioError, match=problem):
        recorded(folder, text)

    assert not (folder / "cassette.json").exists()


def test_a_tool_that_hides_a_scratch_tool_is_refused(folder):
    (folder / "tools.py").write_text(TOOLS.replace("def stock", "def grep"))

    with pytest.raises(ScenarioError, match="grep is a scratch tool too"):
        recorded(folder, "tools: tools.py\nsteps: [{user: a}, {say: b}]")


TALK = "steps:\n- user: Go.\n" + "- calls: [{read_file: {path: long.txt}}]\n" * 6 + "- say: Done.\n"
SMALL = {"context_budget": "3000", "micro_keep_recent": "2", "keep_recent_tokens": "600"}


def asked_for(folder, text=TALK, name="cassette.json", **more):
    path = folder / "scenario.yaml"
    path.write_text(HEAD + text)
    return RecordRequest(scenario=path, cassette=folder / name, **more)


def long_file(folder):
    lines = (f"line {n}: the port of service {n} is {8000 + n}\n" for n in range(60))
    (folder / "project" / "long.txt").write_text("".join(lines))


def test_a_strategy_sends_compacted_views_and_its_own_calls_are_recorded(folder):
    long_file(folder)
    asked = asked_for(folder, strategy="my_pi_agent", parameters=SMALL)

    done = record(asked, say=print)

    interactions = load_cassette(asked.cassette)
    assert done.requests == 7
    assert done.answers == len(interactions) > 7
    assert done.compactions > 0
    summaries = [i for i in interactions if "tools" not in i.request_body]
    assert len(summaries) == done.answers - 7
    text = summaries[0].response_json()["choices"][0]["message"]["content"]
    assert text.startswith("## Goal")
    sizes = [len(i.request_body["messages"]) for i in interactions if "tools" in i.request_body]
    assert sizes[-1] < 2 + 2 * 6


@pytest.mark.slow
def test_recording_with_a_strategy_twice_gives_the_same_bytes_and_replays(folder):
    long_file(folder)
    first, second = (
        asked_for(folder, name=f"{n}.json", strategy="my_pi_agent", parameters=SMALL)
        for n in range(2)
    )

    assert record(first, say=print).sha256 == record(second, say=print).sha256
    assert replay(first).answers == load_count(first)


def load_count(asked):
    return len(load_cassette(asked.cassette))


def test_a_share_of_a_peak_is_refused_before_anything_is_recorded(folder):
    asked = asked_for(folder, strategy="my_pi_agent", parameters={"context_budget": "50%"})

    with pytest.raises(StrategyError, match="context_budget=50%: nothing is recorded yet"):
        record(asked, say=print)


def test_somebodys_own_code_compacts_too(folder):
    long_file(folder)
    code = folder / "cut.py"
    code.write_text("def cut(messages):\n    return [m for m in messages if m['role'] != 'tool']\n")
    text = "steps: [{user: Go.}, {say: A.}, {user: On.}, {say: B.}]"

    done = record(asked_for(folder, text, strategy=f"{code}:cut"), say=print)

    assert done.requests == 2


def test_replay_shows_what_a_changed_scenario_sends_instead(folder):
    text = "steps: [{user: Count the apples.}, {say: 17}]".replace("17", "'17'")
    record(asked_for(folder, text), say=print)

    assert replay(asked_for(folder, text)).answers == 1
    with pytest.raises(UnrecordedRequestError) as caught:
        replay(asked_for(folder, text.replace("apples", "pears")))

    assert "message 1 of 2 (user) differs: 'Count the apples.' became" in str(caught.value)
    assert caught.value.diff.splitlines()[-2:] == ["-Count the apples.", "+Count the pears."]


def test_replay_shows_a_changed_tool(folder):
    record(asked_for(folder, "steps: [{user: a}, {say: b}]"), say=print)

    with pytest.raises(UnrecordedRequestError, match=r"the same 2 messages, but tools differ"):
        replay(asked_for(folder, "builtin_tools: [grep]\nsteps: [{user: a}, {say: b}]"))


def test_replay_fails_if_less_is_sent_than_was_recorded(folder):
    text = "steps: [{user: a}, {say: b}, {user: c}, {say: d}]"
    record(asked_for(folder, text), say=print)

    with pytest.raises(RecordingError, match="2 answers recorded, 1 asked for"):
        replay(asked_for(folder, "steps: [{user: a}, {say: b}]"))


def test_a_recording_that_fails_leaves_the_cassette_before_it(folder):
    recorded(folder, "steps: [{user: a}, {say: b}]")
    before = (folder / "cassette.json").read_bytes()

    with pytest.raises(ScenarioError, match="no such image"):
        recorded(
            folder, "steps: [{user: a}, {say: b}, {user: {text: c, images: [d.png]}}, {say: e}]"
        )

    assert (folder / "cassette.json").read_bytes() == before
