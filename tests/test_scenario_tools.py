from pathlib import Path

import pytest

from compaction.agent_tools import Toolbox
from compaction.messages import ToolCall
from evals.recording.scenario_tools import own_tools
from evals.recording.scenarios import ScenarioError

SHOP = '''
from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Order:
    total: float


def get_order(root: Path, order_id: str, limit: int = 10) -> str:
    """Return an order
    with its events.

    Second paragraph, for readers of the code.
    """
    orders = json.loads((root / "orders.json").read_text())
    return f"{orders[order_id]} {limit}"


def tag(
    root: Path, tags: list[str], price: float, force: bool = False, note: str | None = None
) -> str:
    """Tag."""
    (root / "tags.txt").write_text(",".join(tags))
    return "tagged"


def undescribed(root: Path) -> str:
    return ""


def _private(root: Path) -> str:
    """No tool."""
'''


def file_of(tmp_path, text):
    path = tmp_path / "tools.py"
    path.write_text(text, encoding="utf-8")
    return path


def call(tools, name, arguments):
    return Toolbox(tools).call(ToolCall("c", name, arguments)).text


def test_public_functions_with_a_docstring_become_tools_with_schemas(tmp_path):
    get_order, tag = own_tools(file_of(tmp_path, SHOP), tmp_path)

    assert get_order.schema() == {
        "type": "function",
        "function": {
            "name": "get_order",
            "description": "Return an order with its events.",
            "parameters": {
                "type": "object",
                "properties": {"order_id": {"type": "string"}, "limit": {"type": "integer"}},
                "required": ["order_id"],
                "additionalProperties": False,
            },
        },
    }
    assert tag.parameters["properties"] == {
        "tags": {"type": "array", "items": {"type": "string"}},
        "price": {"type": "number"},
        "force": {"type": "boolean"},
        "note": {"type": "string"},
    }
    assert tag.parameters["required"] == ["tags", "price"]


def test_tools_work_on_files_below_the_root_and_failures_are_texts(tmp_path):
    tools = own_tools(file_of(tmp_path, SHOP), tmp_path)
    (tmp_path / "orders.json").write_text('{"o-1": "paid"}')

    assert call(tools, "get_order", '{"order_id": "o-1"}') == "paid 10"
    assert call(tools, "get_order", '{"order_id": "o-2"}') == "error: 'o-2'"
    assert call(tools, "get_order", "{}").startswith("error: get_order() missing 1 required")
    assert call(tools, "tag", '{"tags": ["a", "b"], "price": 1}') == "tagged"
    assert (tmp_path / "tags.txt").read_text() == "a,b"


def test_nothing_is_written_beside_the_file(tmp_path):
    own_tools(file_of(tmp_path, SHOP), tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["tools.py"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x = 1", "no public function with a docstring"),
        ("from os.path import join", "no public function with a docstring"),
        ("1 / 0", "ZeroDivisionError"),
        ("def f(:", "SyntaxError"),
        ('def f():\n    "d"', "must take `root: Path` first"),
        ('def f(path: str):\n    "d"', "must take `root: Path` first"),
        ('from pathlib import Path\ndef f(root: Path, x):\n    "d"', "f: annotate x as"),
        ('from pathlib import Path\ndef f(root: Path, x: dict):\n    "d"', "f: annotate x as"),
        ('def f(root: "Paht"):\n    "d"', "name 'Paht' is not defined"),
    ],
)
def test_a_file_without_usable_tools_is_one_line_that_names_it(tmp_path, text, problem):
    with pytest.raises(ScenarioError, match=problem) as caught:
        own_tools(file_of(tmp_path, text), Path("/nowhere"))

    assert "tools.py" in str(caught.value)
    assert "\n" not in str(caught.value)
