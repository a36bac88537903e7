"""What somebody asks to have checked: a short name, `module:name` or `path.py:name`.

The code runs in this process; `evals.foreign` runs it in one of its own. Systems with a threshold
get it as a share of each conversation, because generated conversations never reach a real one, and
a compactor that does nothing passes everything.
"""

import importlib
import importlib.util
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Protocol

from compaction.contract.alarm import TimeIsUp
from compaction.contract.callables import CallableStrategy, as_strategy, checked_promises
from compaction.contract.trial import CHARS_PER_TOKEN, RequestChars
from compaction.errors import StrategyError
from compaction.history import History
from compaction.messages import Messages
from compaction.registry import STRATEGIES, load_strategy_class, make_strategy
from compaction.strategy import Promises, Strategy, parameters_of
from compaction.tokens import JsonCharCounter

TRIALS: Final[Mapping[str, tuple[Mapping[str, str], ...]]] = {
    "xun": (
        {"token_threshold": "50%"},
        {"token_threshold": "25%", "toolcall_keep_max": "2", "summary_keep_max": "4"},
        {"token_threshold": "75%", "toolcall_keep_max": "0", "summary_keep_max": "1"},
    ),
    "my_pi_agent": (
        {"context_budget": "50%"},
        {
            "context_budget": "25%",
            "max_messages": "8",
            "micro_keep_recent": "2",
            "micro_min_chars": "50",
            "offload_max_chars": "300",
            "preview_chars": "60",
        },
        {"context_budget": "75%", "max_messages": "12", "keep_head": "1", "micro_keep_recent": "0"},
    ),
    "three_layer": (
        {"context_limit_chars": "50%"},
        {
            "context_limit_chars": "25%",
            "persist_threshold_chars": "300",
            "preview_chars": "60",
            "keep_recent_tool_results": "2",
            "micro_min_chars": "50",
        },
        {"context_limit_chars": "75%", "keep_recent_tool_results": "0"},
    ),
    "truncate": ({"keep_tokens": "50%"}, {"keep_tokens": "10%"}),
    "clear_tool_results": ({}, {"trigger_tokens": "50%", "keep_last_results": "1"}),
    "snip_middle": ({"max_messages": "8"}, {"max_messages": "6", "trigger_tokens": "50%"}),
    "offload_large_results": (
        {"max_chars": "300", "preview_chars": "60"},
        {"max_chars": "300", "preview_chars": "60", "trigger_tokens": "50%"},
    ),
    "drop_oldest": (
        {"keep_tail_messages": "4"},
        {"keep_tail_tokens": "25%", "trigger_tokens": "50%"},
        {"keep_tail_fraction": "0.5", "trigger_tokens": "50%"},
    ),
    "summarize": (
        {"keep_tail_messages": "4"},
        {"keep_tail_tokens": "25%", "trigger_tokens": "50%"},
    ),
    "anthropic_clear_tool_uses": ({"trigger_tokens": "25%"}, {"trigger_tokens": "50%"}),
    "langchain_clear_tool_uses": ({"trigger_tokens": "25%"}, {"trigger_tokens": "50%"}),
    "langchain_summarization": (
        {"trigger_tokens": "50%", "keep_tail_messages": "4"},
        {"trigger_tokens": "75%", "keep_tail_tokens": "25%"},
    ),
    "inspect_edit": ({"trigger_tokens": "25%"}, {"trigger_tokens": "50%"}),
    "inspect_trim": ({"trigger_tokens": "25%"}, {"trigger_tokens": "50%"}),
    "inspect_summary": ({"trigger_tokens": "50%"},),
    "pydantic_ai_clear_tool_results": ({"trigger_tokens": "25%"}, {"trigger_tokens": "50%"}),
    "pydantic_ai_sliding_window": ({"trigger_messages": "8", "keep_tail_messages": "4"},),
    "pydantic_ai_summarization": ({"trigger_messages": "8", "keep_tail_messages": "4"},),
}
"""Short name -> parameters that make the strategy act on conversations of any size.

Conversations take them in turn; what the caller sets wins.
"""
_SHARE: Final = re.compile(r"(\d+(?:\.\d+)?)%")


class Candidate(Protocol):
    """What can be checked: makes a strategy for each conversation.

    Raises:
        StrategyError: from either method, if there is no such strategy.
    """

    def strategy_for(self, messages: Messages, *, turn: int = 0) -> Strategy: ...

    def parameters_for(self, messages: Messages, *, turn: int = 0) -> dict[str, str]: ...


@dataclass(frozen=True)
class Given:
    """A strategy that is already made."""

    strategy: Strategy

    def strategy_for(self, messages: Messages, *, turn: int = 0) -> Strategy:
        return self.strategy

    def parameters_for(self, messages: Messages, *, turn: int = 0) -> dict[str, str]:
        if isinstance(self.strategy, CallableStrategy):
            return {}
        return {key: repr(value) for key, value in parameters_of(self.strategy).items()}


@dataclass(frozen=True)
class Target:
    """A strategy whose parameters wait for a conversation."""

    spec: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    """As text; JSON for the code of others. A size may be a share of the conversation: `50%`."""
    promises: Promises | None = None
    """Instead of what a callable declares; a strategy's own are never replaced."""
    folder: Path = field(default_factory=Path.cwd)
    """Where modules and relative paths are looked for."""
    table: Mapping[str, str] = field(default_factory=lambda: STRATEGIES)
    """Short name -> `module:Class`."""

    def strategy_for(self, messages: Messages, *, turn: int = 0) -> Strategy:
        """Make the strategy for one conversation; `turn` counts conversations, for `TRIALS`.

        Raises:
            StrategyError: nothing of that name, nothing that can compact, or wrong parameters.
        """
        return self.with_parameters(self.parameters_for(messages, turn=turn))

    def parameters_for(self, messages: Messages, *, turn: int = 0) -> dict[str, str]:
        """Return all parameters that are set, shares of `messages` as numbers."""
        trials = TRIALS.get(self.spec, ({},))
        given = {**trials[turn % len(trials)], **self.parameters}
        if not any(_SHARE.fullmatch(value) for value in given.values()):
            return given
        units, history = self._units(), History(messages)
        return {key: self._resolved(key, value, units, history) for key, value in given.items()}

    def with_parameters(self, parameters: Mapping[str, str]) -> Strategy:
        """Make the strategy with exactly these parameters."""
        if ":" not in self.spec:
            return make_strategy(self.spec, parameters, table=self.table)
        found = load_object(self.spec, self.folder)
        if parameters:
            found = _made(self.spec, found, parameters)
        return as_strategy(found, self.spec, promises=self.promises)

    def _resolved(self, key: str, value: str, units: Mapping[str, str], history: History) -> str:
        share = _SHARE.fullmatch(value)
        if share is None:
            return value
        if key not in units:
            raise StrategyError(
                f"{self.spec}: {key} is no size, so {value!r} of a conversation means nothing; "
                f"sizes are: {', '.join(units) or 'none'}"
            )
        return str(max(1, round(_size(history, units[key]) * float(share[1]) / 100)))

    def found(self) -> Any:
        """Import and return what the spec names."""
        if ":" in self.spec:
            return load_object(self.spec, self.folder)
        return load_strategy_class(self.spec, table=self.table)

    def _units(self) -> dict[str, str]:
        """Return size parameter -> unit, from the metadata of the dataclass fields."""
        found = self.found()
        if not is_dataclass(found):
            return {}
        return {
            item.name: item.metadata["unit"] for item in fields(found) if "unit" in item.metadata
        }


def _size(history: History, unit: str) -> float:
    """Return the size of a whole conversation as the suite reports and counts it."""
    if unit == "chars":
        return history.total(JsonCharCounter())
    size = history.total(RequestChars())
    return size / CHARS_PER_TOKEN if unit == "tokens" else size


def promises_of(given: Mapping[str, Any]) -> Promises:
    """Return promises from a mapping of the fields of `Promises`.

    Raises:
        StrategyError: a name that is no promise.
    """
    known = [item.name for item in fields(Promises)]
    if unknown := sorted(set(given) - set(known)):
        raise StrategyError(f"nobody can promise {unknown[0]!r}; known: {', '.join(known)}")
    return Promises(**checked_promises("--promise:", given))


def load_object(spec: str, folder: Path) -> Any:
    """Import what `module:name` or `path.py:name` names; `folder` becomes importable.

    Raises:
        StrategyError: it cannot be imported, or has nothing of that name.
    """
    module_name, _, name = spec.rpartition(":")
    try:
        found: Any = _module(module_name, folder)
    except (KeyboardInterrupt, TimeIsUp):
        raise
    except BaseException as error:
        text = (str(error).splitlines() or [""])[0]
        raise StrategyError(f"{spec} cannot be imported: {type(error).__name__}: {text}") from error
    for part in name.split("."):
        if not hasattr(found, part):
            offered = (key for key, value in vars(found).items() if callable(value))
            names = ", ".join(key for key in offered if not key.startswith("_")) or "nothing"
            raise StrategyError(f"{spec}: there is no {part!r}; to be called there: {names}")
        found = getattr(found, part)
    return found


def _module(name: str, folder: Path) -> ModuleType:
    _make_importable(folder)
    if not name.endswith(".py"):
        return importlib.import_module(name)
    path = (folder / name).resolve()
    if not path.is_file():
        raise StrategyError(f"there is no file {path}")
    module_name = f"checked_{path.stem}"
    known = sys.modules.get(module_name)
    if known is not None and known.__file__ == str(path):
        return known
    _make_importable(path.parent)
    found = importlib.util.spec_from_file_location(module_name, path)
    if found is None or found.loader is None:
        raise StrategyError(f"{path} is not Python")
    module = sys.modules[module_name] = importlib.util.module_from_spec(found)
    try:
        found.loader.exec_module(module)
    except BaseException:
        del sys.modules[module_name]
        raise
    return module


def _make_importable(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _made(spec: str, target: Any, parameters: Mapping[str, str]) -> Any:
    """Return a strategy, or a factory: each conversation gets an object of its own."""
    if not callable(target):
        raise StrategyError(f"{spec} takes no parameters: it is neither a class nor a factory")
    values = {key: json_or_text(value) for key, value in parameters.items()}
    if not hasattr(target, "start"):
        return lambda: target(**values)
    try:
        return target(**values)
    except (TypeError, ValueError) as error:
        raise StrategyError(f"{spec}: {error}") from error


def json_or_text(value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
