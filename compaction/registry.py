"""The one table from short names to strategies, and strategies made from text parameters.

A strategy is imported when it is first asked for. Foreign callables (`module:name`) are not
strategies and are not looked up here.
"""

import importlib
import json
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from compaction.errors import StrategyError
from compaction.strategy import Strategy

SYSTEMS: Final[Mapping[str, str]] = {
    "xun": "compaction.systems.xun:Xun",
    "my_pi_agent": "compaction.systems.my_pi_agent:MyPiAgent",
    "three_layer": "compaction.systems.three_layer:ThreeLayer",
}
"""Short name -> `module:Class`; the class is a frozen dataclass whose fields are the parameters."""
TIERS: Final[Mapping[str, str]] = {
    "clear_tool_results": "compaction.tier_strategies:ClearToolResultsAlone",
    "snip_middle": "compaction.tier_strategies:SnipMiddleAlone",
    "offload_large_results": "compaction.tier_strategies:OffloadLargeResultsAlone",
    "drop_oldest": "compaction.tier_strategies:DropOldestAlone",
    "summarize": "compaction.tier_strategies:SummarizeAlone",
}
"""The tiers, each alone."""
PRESETS: Final[Mapping[str, str]] = {
    "anthropic_clear_tool_uses": "compaction.presets.anthropic:AnthropicClearToolUses",
    "langchain_clear_tool_uses": "compaction.presets.langchain:LangChainClearToolUses",
    "langchain_summarization": "compaction.presets.langchain:LangChainSummarization",
    "inspect_edit": "compaction.presets.inspect_ai:InspectEdit",
    "inspect_trim": "compaction.presets.inspect_ai:InspectTrim",
    "inspect_summary": "compaction.presets.inspect_ai:InspectSummary",
    "pydantic_ai_clear_tool_results": "compaction.presets.pydantic_ai:PydanticAiClearToolResults",
    "pydantic_ai_sliding_window": "compaction.presets.pydantic_ai:PydanticAiSlidingWindow",
    "pydantic_ai_summarization": "compaction.presets.pydantic_ai:PydanticAiSummarization",
}
"""What frameworks ship, as compositions of our tiers with their defaults."""
STRATEGIES: Final[Mapping[str, str]] = {**SYSTEMS, **TIERS, **PRESETS}
"""Every short name of this package."""


def strategy_names() -> tuple[str, ...]:
    return tuple(STRATEGIES)


def load_strategy_class(name: str, *, table: Mapping[str, str] = STRATEGIES) -> Any:
    """Import and return the class behind a short name of `table`.

    Raises:
        StrategyError: no such name; the message lists the known ones.
    """
    if name not in table:
        raise StrategyError(_unknown(f"unknown strategy {name!r}", name, table))
    module, _, class_name = table[name].partition(":")
    try:
        return getattr(importlib.import_module(module), class_name)
    except (ImportError, AttributeError) as error:
        raise StrategyError(f"strategy {name!r} cannot be loaded: {error}") from error


def make_strategy(
    name: str,
    parameters: Mapping[str, object] | None = None,
    *,
    table: Mapping[str, str] = STRATEGIES,
) -> Strategy:
    """Build a strategy; text values are converted to the types of its fields.

    `none` means None where the field allows it; lists are JSON or separated by commas.

    Raises:
        StrategyError: unknown name or parameter, or a value that the parameter does not take.
    """
    strategy_class = load_strategy_class(name, table=table)
    known = parameter_types(strategy_class)
    converted: dict[str, object] = {}
    for parameter, value in (parameters or {}).items():
        if parameter not in known:
            raise StrategyError(
                _unknown(f"{name} has no parameter {parameter!r}", parameter, known)
            )
        converted[parameter] = _convert(name, parameter, value, known[parameter])
    try:
        strategy: Strategy = strategy_class(**converted)
    except (ValueError, TypeError) as error:
        raise StrategyError(f"{name}: {error}") from error
    return strategy


def parameter_types(strategy_class: Any) -> dict[str, Any]:
    """Return parameter name -> type, in the order of the fields that a caller may set."""
    if not is_dataclass(strategy_class):
        return {}
    hints = get_type_hints(strategy_class)
    return {item.name: hints[item.name] for item in fields(strategy_class) if item.init}


def _convert(name: str, parameter: str, value: object, hint: Any) -> object:
    from pydantic import TypeAdapter, ValidationError

    adapter: TypeAdapter[object] = TypeAdapter(hint)
    for candidate in _readings(value, hint):
        try:
            return adapter.validate_python(candidate)
        except ValidationError:
            continue
    raise StrategyError(f"{name}: {parameter} must be {_shown(hint)}, got {value!r}")


def _readings(value: object, hint: Any) -> Iterator[object]:
    """Yield what a text may stand for, the most likely first; other values stand for themselves."""
    optional = type(None) in get_args(hint)
    if isinstance(value, str) and optional and value.strip().lower() in ("none", "null"):
        yield None
    yield value
    if isinstance(value, str):
        try:
            yield json.loads(value)
        except (ValueError, RecursionError):
            yield [item.strip() for item in value.split(",") if item.strip()]


def _shown(hint: Any) -> str:
    if isinstance(hint, types.UnionType) or get_origin(hint) is Union:
        return " or ".join(_shown(option) for option in get_args(hint))
    if hint is type(None):
        return "none"
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint)


def _unknown(problem: str, given: str, known: Iterable[str]) -> str:
    names = sorted(known)
    close = get_close_matches(given, names, n=1)
    meant = f" (did you mean {close[0]!r}?)" if close else ""
    return f"{problem}{meant}; known: {', '.join(names) or 'none'}"
