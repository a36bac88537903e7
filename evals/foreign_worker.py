"""Runs somebody's compaction function in a process of its own. Started by `evals.foreign`.

Speaks JSON lines: one request on standard input, one answer on the original standard output; what
the function prints goes to standard error. Imports nothing of this project, so that it starts fast
and nothing of ours shadows a module of the user's.
"""

import asyncio
import importlib
import importlib.util
import inspect
import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

Reply = dict[str, Any]


class UserError(Exception):
    """What the user has to mend, in one line."""


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="surrogatepass")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    spec, parameters = sys.argv[1], json.loads(sys.argv[2])
    try:
        target = _instance(_load(spec), spec, parameters)
    except Exception as error:  # noqa: BLE001 - the user's module may raise anything
        _send(answers, {"error": _describe(error, spec)})
        return
    _send(answers, {"recoverable": _has(target, "recover"), "mode": _mode(target)})
    loop = asyncio.new_event_loop()
    for line in sys.stdin:
        try:
            _send(answers, _answer(target, json.loads(line), loop))
        except Exception as error:  # noqa: BLE001 - the user's function may raise anything
            _send(answers, {"error": _describe(error, spec)})


def _answer(target: Any, asked: Reply, loop: asyncio.AbstractEventLoop) -> Reply:
    if "recover" in asked:
        return {"text": _awaited(target.recover(asked["recover"]), loop)}
    call = getattr(target, "view", target)
    arguments = (asked["messages"], asked["context"])[: _accepted(call)]
    return {"messages": _checked(_awaited(call(*arguments), loop))}


def _awaited(value: Any, loop: asyncio.AbstractEventLoop) -> Any:
    return loop.run_until_complete(value) if inspect.isawaitable(value) else value


def _checked(returned: Any) -> Any:
    if not isinstance(returned, (list, tuple)):
        kind = "None" if returned is None else f"a {type(returned).__name__}"
        raise UserError(f"returned {kind}; it must return a list of message dicts")
    for index, message in enumerate(returned):
        try:
            json.dumps(message)
        except (TypeError, ValueError, RecursionError) as error:
            raise UserError(f"returned a message {index} that is not JSON: {error}") from error
    return list(returned)


def _load(spec: str) -> Any:
    module_name, _, name = spec.rpartition(":")
    sys.path.append(str(Path.cwd()))
    if module_name.endswith(".py"):
        module = _module_of(Path(module_name).resolve())
    else:
        module = importlib.import_module(module_name)
    target = module
    for part in name.split("."):
        if not hasattr(target, part):
            known = ", ".join(item for item in vars(module) if not item.startswith("_"))
            raise UserError(f"{module_name} has no {name!r}; it has: {known}")
        target = getattr(target, part)
    return target


def _module_of(path: Path) -> ModuleType:
    if not path.is_file():
        raise UserError(f"there is no file {path}")
    sys.path.append(str(path.parent))
    found = importlib.util.spec_from_file_location(path.stem, path)
    if found is None or found.loader is None:
        raise UserError(f"{path} is not Python")
    module = importlib.util.module_from_spec(found)
    sys.modules[path.stem] = module
    found.loader.exec_module(module)
    return module


def _instance(target: Any, spec: str, parameters: Reply) -> Any:
    """Call a class or factory; leave a function or object as it is."""
    is_object = _has(target, "view") and not inspect.isclass(target)
    if inspect.isclass(target) or (not is_object and callable(target) and _required(target) == 0):
        target = target(**parameters)
    elif parameters:
        raise UserError(f"{spec} takes no parameters: it is neither a class nor a factory")
    if not callable(getattr(target, "view", target)):
        raise UserError(f"{spec} is neither a function nor an object with view(messages)")
    return target


def _required(call: Callable[..., Any]) -> int:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(call).parameters.values()
    return sum(1 for item in parameters if item.kind in kinds and item.default is item.empty)


def _accepted(call: Callable[..., Any]) -> int:
    """Return how many of (messages, context) the function takes."""
    return 2 if _required(call) >= 2 else 1


def _has(target: Any, name: str) -> bool:
    return callable(getattr(target, name, None))


def _mode(target: Any) -> str:
    return "viewing" if getattr(target, "mode", None) == "viewing" else "rewriting"


def _describe(error: Exception, spec: str) -> str:
    """Return one line with the place in the user's own file."""
    if isinstance(error, UserError):
        return str(error)
    text = (str(error).splitlines() or [""])[0]
    frames = traceback.extract_tb(error.__traceback__)
    own = [
        frame for frame in frames if frame.filename != __file__ and "<frozen" not in frame.filename
    ]
    place = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""
    return f"raised {type(error).__name__}: {text}{place}"


def _send(answers: TextIO, reply: Reply) -> None:
    answers.write(json.dumps(reply) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
