"""Authored scenarios: what is sent, what the tools answer, what is written."""

import base64
import struct

import pytest

from evals.cassettes import load_cassette
from evals.recording import record_scenario
from evals.scenarios import ScenarioError, load_scenario

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
    record_scenario(load_scenario(path), cassette)
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
        "builtin_tools: []\nsteps: [{user: 8 chars.}, {say: ok},"
        " {user: {text: and this, images: [screen.png]}}, {say: ho}]".replace(
            "12345678", "'12345678'"
        ),
    )

    content = seen.request_body["messages"][-1]["content"]
    assert content[0] == {"type": "text", "text": "and this"}
    url = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    assert content[1] == {"type": "image_url", "image_url": {"url": url, "detail": "auto"}}
    # 4 a message, 9, 8, 2 and 8 characters in quarters; then the image: 600 x 400 px are two tiles
    assert text.response_json()["usage"]["prompt_tokens"] == (4 + 3) + (4 + 2)
    assert seen.response_json()["usage"]["prompt_tokens"] == 13 + (4 + 1) + (4 + 2 + 85 + 2 * 170)


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
