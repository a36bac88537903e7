"""A callable, class or object of the running program as a strategy.

The same forms as code in a process of its own: `f(messages)`, `f(messages, context)`, async, a
class or factory that makes one, an object with `view(messages)` and perhaps `recover(handle)`.
Messages are OpenAI dicts, copied for each call.
"""

import inspect
from collections.abc import Callable, Coroutine, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, fields
from typing import Any, Final, get_args

from compaction.align import align
from compaction.contract.alarm import TimeIsUp
from compaction.errors import CompactionError, MessageError, StrategyError
from compaction.history import Entries, History, View
from compaction.llm import Steps, Usage
from compaction.messages import Json, canonical_json, messages_from_openai
from compaction.strategy import CompactionEvent, Context, Mode, Promises, Request, Strategy

MODES: Final = get_args(Mode)
_PROMISES: Final = frozenset(item.name for item in fields(Promises))


def as_strategy(target: Any, name: str = "", *, promises: Promises | None = None) -> Strategy:
    """Return a strategy that calls `target`; one that is a strategy already is returned as it is.

    What a callable promises is said by `promises`, else by its own attribute `promises` (a
    `Promises` or a mapping of its fields), and by `mode` and `recover` alone if it has none.

    Raises:
        StrategyError: it is nothing that can be called, or promises what nobody knows.
    """
    named = name or getattr(target, "__qualname__", type(target).__name__)
    if _is_strategy(target):
        return _instance(target)  # type: ignore[no-any-return]  # told by its attributes
    make = _maker(target, named)
    return CallableStrategy(named, make, promises or _declared(make(), named))


def _is_strategy(target: Any) -> bool:
    wanted = ("name", "version", "promises", "start")
    return all(hasattr(target, attribute) for attribute in wanted) and callable(target.start)


def _instance(target: Any) -> Any:
    return target() if inspect.isclass(target) else target


def _maker(target: Any, name: str) -> Callable[[], Any]:
    """Return what makes one compactor: the class or factory itself, else the object each time."""
    make: Callable[[], Any] = target
    if not (inspect.isclass(target) or _is_factory(target)):

        def make() -> Any:
            return target

    made = _guarded(name, make)
    if not callable(getattr(made, "view", made)):
        raise StrategyError(f"{name} is neither a function nor an object with view(messages)")
    return make


def _is_factory(target: Any) -> bool:
    """Whether a function needs no argument, so that messages are not for it."""
    if hasattr(target, "view") or not callable(target):
        return False
    return not [item for item in _positional(target) if item.default is item.empty]


def _positional(call: Callable[..., Any]) -> list[inspect.Parameter]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [item for item in inspect.signature(call).parameters.values() if item.kind in kinds]


def _takes_context(call: Callable[..., Any]) -> bool:
    second = _positional(call)[1:2]
    return any(item.default is item.empty or item.name == "context" for item in second)


def _declared(made: Any, name: str) -> Promises:
    given = getattr(made, "promises", None)
    if isinstance(given, Promises):
        return given
    if not isinstance(given, Mapping | None):
        kind = type(given).__name__
        text = f'{name} has promises that are a {kind}; write a dict: {{"keeps_system": True}}'
        raise StrategyError(text)
    return promises_of(
        name,
        mode=getattr(made, "mode", None),
        recoverable=callable(getattr(made, "recover", None)),
        given=given or {},
    )


def promises_of(
    name: str, *, mode: object, recoverable: bool, given: Mapping[str, Any]
) -> Promises:
    """Return what somebody's code declares: `promises` if it has them, beside mode and `recover`.

    Raises:
        StrategyError: it promises something that is no field of `Promises`, or in no such words.
    """
    if unknown := sorted(map(str, set(given) - _PROMISES)):
        known_names = ", ".join(sorted(_PROMISES))
        raise StrategyError(f"{name} promises {unknown[0]!r}; known: {known_names}")
    if mode is not None and mode not in MODES:
        raise StrategyError(
            f"{name} has the mode {mode!r}; known: {', '.join(MODES)}; "
            "an attribute of this name says how it is called, so rename another one"
        )
    declared = {"mode": mode or "rewriting", "recoverable": recoverable}
    return Promises(**{**declared, **checked_promises(name, given)})


def checked_promises(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of fields of `Promises` that are of their kind.

    Raises:
        StrategyError: one is not; names it and what it has to be.
    """
    for key, value in given.items():
        wanted, is_kind = _KINDS[key]
        if not is_kind(value):
            raise StrategyError(f"{name} promises {key} = {value!r}; it must be {wanted}")
    return {key: tuple(v) if isinstance(v, list) else v for key, v in given.items()}


def _is_count(value: object) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)


def _is_share(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value is None or (is_number and float(str(value)) >= 0)


def _are_names(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


_KIND_OF_TYPE: Final[Mapping[Any, tuple[str, Callable[[Any], bool]]]] = {
    bool: ("true or false", lambda value: isinstance(value, bool)),
    int | None: ("a whole number from 0 on", _is_count),
    float | None: ("a number from 0 on", _is_share),
    tuple[str, ...]: ("a list of names of parameters", _are_names),
    Mode: (f"one of {', '.join(MODES)}", lambda value: value in MODES),
}
_KINDS: Final = {item.name: _KIND_OF_TYPE[item.type] for item in fields(Promises)}


@dataclass(frozen=True)
class CallableStrategy:
    """Made by `as_strategy`. Each conversation gets a compactor of its own."""

    name: str
    make: Callable[[], Any]
    promises: Promises
    version: str = "0"

    def start(self, context: Context) -> "CallableCompactor":
        return CallableCompactor(self, _guarded(self.name, self.make), context.seed)


@dataclass
class CallableCompactor:
    """One conversation with the callable: called with its last output and what is new."""

    strategy: CallableStrategy
    target: Any
    seed: int
    changed_input: int | None = None
    """Index, in the list given then, of the first message that a call changed; None if none."""
    _entries: Entries = ()
    _seen: int = field(default=0)

    def steps(self, history: History, request: Request) -> Steps[View]:
        yield from ()
        before = self._entries + history.entries(self._seen)
        given = history.entries() if self.strategy.promises.mode == "viewing" else before
        returned = self._called([entry.message.to_openai() for entry in given], request)
        try:
            messages = messages_from_openai(returned)
        except MessageError as error:
            raise StrategyError(f"{self.strategy.name} returned a bad list: {error}") from error
        is_recoverable = self.strategy.promises.recoverable
        self._entries = align(given, messages, self.strategy.name, is_recoverable=is_recoverable)
        self._seen = len(history)
        return View(self._entries, _events(self.strategy.name, before, self._entries))

    def record_usage(self, usage: Usage) -> None:
        return

    def recover(self, handle: str) -> str | None:
        if not self.strategy.promises.recoverable:
            return None
        text = _guarded(self.strategy.name, self.target.recover, handle)
        return text if isinstance(text, str) else None

    def _called(self, raw: list[Json], request: Request) -> list[object]:
        call, given = getattr(self.target, "view", self.target), deepcopy(raw)
        asked = [given]
        if _takes_context(call):
            context: Any = {
                "seed": self.seed,
                "request": request.index,
                "model": request.model,
                "time": request.time,
            }
            asked.append(context)
        returned = _guarded(self.strategy.name, call, *asked)
        if not isinstance(returned, list | tuple):
            kind = "None" if returned is None else f"a {type(returned).__name__}"
            raise StrategyError(
                f"{self.strategy.name} returned {kind}; it must return a list of message dicts"
            )
        # A list that is returned changed in place was changed all the same.
        if self.changed_input is None:
            self.changed_input = _first_change(raw, given)
        return [_plain(self.strategy.name, at, message) for at, message in enumerate(returned)]


def _first_change(before: list[Json], after: list[Json]) -> int | None:
    if before == after:
        return None
    pairs = zip(before, after, strict=False)
    return next(
        (at for at, (one, two) in enumerate(pairs) if one != two), min(map(len, (before, after)))
    )


def _plain(name: str, index: int, message: object) -> object:
    """Return a copy that the callable cannot change later."""
    try:
        canonical_json(message)
    except (TypeError, ValueError, RecursionError) as error:
        raise StrategyError(
            f"{name} returned a message {index} that is no JSON: {error}"
        ) from error
    return deepcopy(message)


def _guarded(name: str, call: Callable[..., Any], *arguments: Any) -> Any:
    """Call, await what has to be awaited, and name the callable in whatever it raises."""
    try:
        value = call(*arguments)
        return _awaited(value) if inspect.iscoroutine(value) else value
    except (CompactionError, KeyboardInterrupt, TimeIsUp):
        raise
    except BaseException as error:
        text = (str(error).splitlines() or [""])[0]
        kind = type(error).__name__
        raise StrategyError(f"{name} raised {kind}" + (f": {text}" if text else "")) from error


def _awaited(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run in a thread if a loop is running here, as it is in an asynchronous test."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def _events(name: str, before: Entries, after: Entries) -> tuple[CompactionEvent, ...]:
    """Report what differs as one event: a callable tells nothing about itself."""
    old = set(before)
    edited = sum(1 for entry in after if entry not in old)
    kept = {entry.origin.first for entry in after if entry.origin.kind != "generated"}
    written = {entry for entry in after if entry.origin.kind == "generated"}
    removed = sum(
        entry not in written if entry.origin.kind == "generated" else entry.origin.first not in kept
        for entry in before
    )
    if not edited and not removed:
        return ()
    event = CompactionEvent(name, "applied", messages_edited=edited, messages_removed=removed)
    return (event,)
