"""Tools of a scenario's own: the public functions of one Python file.

    def get_order(root: Path, order_id: str, limit: int = 10) -> str:
        \"\"\"Return an order and its latest events.\"\"\"

is offered as `get_order` with `order_id` required. `root` is the scratch folder; state lives in
files below it. The file is code that is run, like any Python that one imports.
"""

import inspect
import sys
import types
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

from compaction.agent_tools import Tool
from compaction.errors import one_line
from evals.recording.scenarios import ScenarioError

Json = dict[str, Any]
_TYPES: dict[Any, Json] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    list[str]: {"type": "array", "items": {"type": "string"}},
}


def own_tools(path: Path, root: Path) -> list[Tool]:
    """Return the tools that a file defines, in its order, at work in `root`.

    Raises:
        ScenarioError: the file cannot be run, or defines no tool, or one without a schema.
    """
    module = _run(path)
    found = [
        item
        for name, item in vars(module).items()
        if inspect.isfunction(item)
        and item.__module__ == module.__name__
        and item.__doc__
        and not name.startswith("_")
    ]
    if not found:
        raise ScenarioError(f"{path}: no public function with a docstring, so no tool; write one")
    return [_tool(path, function, root) for function in found]


def _run(path: Path) -> types.ModuleType:
    module = types.ModuleType(f"scenario_tools_{path.resolve().parent.name}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses look their module up
    try:
        exec(compile(path.read_text("utf-8"), path.name, "exec"), module.__dict__)
    except Exception as error:  # whatever code of the scenario's author raises
        raise ScenarioError(f"{path}: {type(error).__name__}: {one_line(str(error))}") from error
    return module


def _tool(path: Path, function: Callable[..., str], root: Path) -> Tool:
    found = _parameters(path, function)
    if found[:1] != [("root", Path, True)]:
        raise ScenarioError(f"{path}: {function.__name__} must take `root: Path` first")
    rest = found[1:]
    wrong = [name for name, kind, _ in rest if kind not in _TYPES]
    if wrong:
        raise ScenarioError(
            f"{path}: {function.__name__}: annotate {', '.join(wrong)} as "
            "str, int, float, bool or list[str]"
        )
    paragraph = (inspect.getdoc(function) or "").split("\n\n")[0]
    return Tool(
        name=function.__name__,
        description=" ".join(paragraph.split()),
        run=partial(function, root),
        parameters={
            "type": "object",
            "properties": {name: _TYPES[kind] for name, kind, _ in rest},
            "required": [name for name, _, required in rest if required],
            "additionalProperties": False,
        },
    )


class _Parameter(NamedTuple):
    name: str
    kind: object
    is_required: bool


def _parameters(path: Path, function: Callable[..., str]) -> list[_Parameter]:
    """Return the parameters with their types; `x: int | None = None` counts as an int."""
    try:
        hints = get_type_hints(function)
    except Exception as error:
        raise ScenarioError(f"{path}: {function.__name__}: {one_line(str(error))}") from error
    found = []
    for name, item in inspect.signature(function).parameters.items():
        kinds = [kind for kind in get_args(hints.get(name)) if kind is not types.NoneType]
        kind = hints.get(name)
        if isinstance(kind, types.UnionType) and len(kinds) == 1:
            kind = kinds[0]
        found.append(_Parameter(name, kind, item.default is inspect.Parameter.empty))
    return found
