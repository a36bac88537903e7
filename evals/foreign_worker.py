"""Runs somebody's compaction function in a process of its own. Started by `evals.foreign`.

Speaks JSON lines: one request on standard input, one answer on the original standard output; what
the function prints goes to standard error. Imports nothing of this project, so that it starts fast
and nothing of ours shadows a module of the user's.
"""

import importlib
import importlib.util
import inspect
import json
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TextIO

Reply = dict[str, Any]
STANDARD_LIBRARY: Final = sysconfig.get_path("stdlib")


class UserError(Exception):
    """What the user has to mend, in one line."""


def main() -> None:
    asked = os.fdopen(os.dup(0), encoding="ascii")
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    # A fork of the user's code that comes back here must not answer a second time, nor keep the
    # pipe open when this process has died.
    for pipe in (asked.fileno(), answers.fileno()):
        os.register_at_fork(after_in_child=partial(os.dup2, nothing, pipe))
    spec, parameters = sys.argv[1], json.loads(sys.argv[2])
    try:
        found = _load(spec)
        target = _instance(found, spec, parameters)
        declared = {
            "recoverable": _has(target, "recover"),
            "mode": _mode(target),
            "promises": _promises(target),
            "sources": _sources(spec, found),
        }
    except BaseException as error:  # noqa: BLE001 - the user's module may raise anything
        _send(answers, {"error": _describe(error)})
        return
    _send(answers, declared)
    for line in asked:
        try:
            reply = _answer(target, json.loads(line))
        except BaseException as error:  # noqa: BLE001 - so may the user's function
            reply = {"error": _describe(error)}
        _send(answers, reply)


def _answer(target: Any, asked: Reply) -> Reply:
    if "recover" in asked:
        return {"text": _awaited(target.recover(asked["recover"]))}
    call = getattr(target, "view", target)
    arguments = (asked["messages"], asked["context"])[: _accepted(call)]
    return {"messages": _checked(_awaited(call(*arguments)))}


def _awaited(value: Any) -> Any:
    return _event_loop().run_until_complete(value) if inspect.isawaitable(value) else value


@cache
def _event_loop() -> Any:
    """Return the one loop of this process; importing asyncio takes longer than all the rest."""
    import asyncio

    return asyncio.new_event_loop()


def _checked(returned: Any) -> Any:
    if not isinstance(returned, (list, tuple)):
        kind = "None" if returned is None else f"a {type(returned).__name__}"
        raise UserError(f"returned {kind}; it must return a list of message dicts")
    for index, message in enumerate(returned):
        try:
            json.dumps(message, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise UserError(f"returned a message {index} that is not JSON: {error}") from error
    return list(returned)


def _load(spec: str) -> Any:
    module_name, _, name = spec.rpartition(":")
    sys.path.insert(0, str(Path.cwd()))
    if module_name.endswith(".py"):
        module = _module_of(Path(module_name).resolve())
    else:
        module = importlib.import_module(module_name)
    target = module
    for part in name.split("."):
        if not hasattr(target, part):
            known = ", ".join(_offered(target)) or "nothing that can be called"
            raise UserError(f"has no {part!r}; it has: {known}")
        target = getattr(target, part)
    return target


def _offered(owner: Any) -> list[str]:
    """Return the names of what can be called in a module or class."""
    return [
        name for name, value in vars(owner).items() if callable(value) and not name.startswith("_")
    ]


def _sources(spec: str, found: Any) -> list[str]:
    """Return the files that the code stands in: the module of the spec, and of the function."""
    module_name = spec.rpartition(":")[0]
    name = Path(module_name).stem if module_name.endswith(".py") else module_name
    files = {getattr(sys.modules.get(name), "__file__", None)}
    try:
        kind = found if inspect.isclass(found) or inspect.isroutine(found) else type(found)
        files.add(inspect.getsourcefile(inspect.unwrap(kind)))
    except TypeError:
        pass  # built in, or made where there is no file
    return sorted(str(Path(file).resolve()) for file in files if file)


def _module_of(path: Path) -> ModuleType:
    if not path.is_file():
        raise UserError(f"cannot be loaded: there is no file {path}")
    sys.path.insert(0, str(path.parent))
    found = importlib.util.spec_from_file_location(path.stem, path)
    if found is None or found.loader is None:
        raise UserError("is not Python")
    module = importlib.util.module_from_spec(found)
    sys.modules[path.stem] = module
    found.loader.exec_module(module)
    return module


def _instance(target: Any, spec: str, parameters: Reply) -> Any:
    """Call a class or factory; leave a function or object as it is."""
    if inspect.isclass(target) or _is_factory(target, parameters):
        target = target(**parameters)
    elif parameters:
        raise UserError("takes no such parameters: it is neither a class nor a factory for them")
    if not callable(getattr(target, "view", target)):
        raise UserError("is neither a function nor an object with view(messages)")
    return target


def _is_factory(target: Any, parameters: Reply) -> bool:
    """Whether a function needs nothing but the parameters, so that messages are not for it."""
    if _has(target, "view") or not callable(target):
        return False
    needed = [item.name for item in _positional(target) if item.default is item.empty]
    return set(needed) <= set(parameters)


def _positional(call: Callable[..., Any]) -> list[inspect.Parameter]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [item for item in inspect.signature(call).parameters.values() if item.kind in kinds]


def _accepted(call: Callable[..., Any]) -> int:
    """Return how many of (messages, context) the function takes."""
    second = _positional(call)[1:2]
    takes_context = any(item.default is item.empty or item.name == "context" for item in second)
    return 2 if takes_context else 1


def _has(target: Any, name: str) -> bool:
    return callable(getattr(target, name, None))


def _promises(target: Any) -> Reply:
    """Return the promises that the code makes, as a mapping of names to plain values.

    Raises:
        UserError: they are no mapping, and no object whose fields are read as one.
    """
    given = getattr(target, "promises", None)
    if given is None:
        return {}
    named = getattr(given, "__dataclass_fields__", None) or getattr(given, "__dict__", {})
    is_object = named and not inspect.isclass(given) and not inspect.isroutine(given)
    found = {name: getattr(given, name) for name in named} if is_object else given
    if not isinstance(found, Mapping):
        kind = type(given).__name__
        raise UserError(f'has promises that are a {kind}; write a dict: {{"keeps_system": True}}')
    try:
        return dict(json.loads(json.dumps(dict(found), allow_nan=False)))
    except (TypeError, ValueError, RecursionError) as error:
        raise UserError(f"has promises that are not JSON: {error}") from error


def _mode(target: Any) -> Any:
    """Return what the code says of how it is called; whether it is a mode is judged by us."""
    mode = getattr(target, "mode", None)
    return mode if mode is None or isinstance(mode, str) else repr(mode)


def _describe(error: BaseException) -> str:
    """Return one line with the place in the user's own file."""
    if isinstance(error, UserError):
        return str(error)
    text = (str(error).splitlines() or [""])[0]
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename != __file__ and "<frozen" not in frame.filename and not _is_library(frame)
    ]
    place = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""
    return f"raised {type(error).__name__}" + (f": {text}" if text else "") + place


def _is_library(frame: traceback.FrameSummary) -> bool:
    return frame.filename.startswith(STANDARD_LIBRARY) or "site-packages" in frame.filename


def _send(answers: TextIO, reply: Reply) -> None:
    answers.write(json.dumps(reply) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
