"""Strategies made to compact at one given point, to no more than a given number of tokens.

A recorded compaction left so many tokens; what another strategy would have kept is only comparable
if it may leave as many. A strategy is asked once, with all that was said before the boundary, and:

- a parameter that says when it starts, or how much it leaves, is set to the budget (`TARGETS`), or
  so far above it that the strategy starts there, if what it then leaves fits;
- another parameter that says when it starts is set so that it does (`FORCED`);
- a parameter that says how much is kept is set to the largest value whose view fits (`FITTED`).

A parameter that the user fixed stays. What was set is told with each result; a strategy without any
such parameter is asked as it is.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from compaction.errors import CompactionError, StrategyError
from compaction.history import History, View
from compaction.llm import ChatModel, Usage, drive
from compaction.messages import INSTRUCTION_ROLES
from compaction.registry import load_strategy_class, parameter_types
from compaction.store import MemoryStore
from compaction.strategy import Compactor, Context, Promises, Request
from compaction.tokens import JsonCharCounter
from evals.controls import TRUNCATE_SLACK_FRACTION
from evals.foreign import ForeignStrategy, is_foreign
from evals.prepare import Prepared
from evals.settings import KNOWN, Setting, bind

TARGETS: Final[Mapping[str, str]] = {
    "token_threshold": "tokens",
    "context_budget": "tokens",
    "context_limit_chars": "chars",
}
"""Parameter -> its unit: set to the budget."""
FORCED: Final[Mapping[str, str]] = {
    "trigger_tokens": "0",
    "trigger_messages": "1",
    "at_tokens": "1",
}
"""Parameter -> a value at which it starts at once."""
FITTED: Final = (
    *("keep_last_results", "keep_tokens", "keep_tail_tokens"),
    *("keep_tail_messages", "max_messages", "max_chars"),
)
"""Parameters of which a larger value keeps more; the first that a strategy has is fitted."""
_SIZES: Final = ("_tokens", "_chars")
NEEDS_USAGE: Final = frozenset({"xun"})
"""Strategies that decide by what the reply before was reported to have used."""
SIZE_STEPS: Final = 64
"""A parameter in tokens or characters is fitted to this part of its range, a count exactly."""
CLEARING: Final = "clear_tool_results"


def default_contestants() -> list[Setting]:
    """Return who stands beside a recorded compaction: the systems, clearing, and controls."""
    names = (CLEARING, "xun", "my_pi_agent", "three_layer")
    return [*map(Setting, names), *audit_controls()]


def audit_controls() -> list[Setting]:
    """Return the controls: plain truncation at the budget, everything, and nothing."""
    return [Setting("truncate"), Setting("identity"), Setting("drop_all")]


@dataclass(frozen=True)
class Place:
    """Where strategies are asked to compact, and to what size."""

    prepared: Prepared
    """One segment; what was said before the boundary comes first."""
    history: History
    request: Request
    budget_tokens: int
    """By the measuring counter, without what every request has beside its messages."""
    n_new: int
    """The last so many messages of the history came after the boundary."""

    @property
    def fixed_tokens(self) -> int:
        """Tokens of the instructions and of what is new, which are always sent."""
        messages = self.history.messages()
        fixed = [message for message in messages if message.role in INSTRUCTION_ROLES]
        fixed += messages[len(messages) - self.n_new :]
        return sum(map(self.prepared.counter.count, fixed))

    @property
    def free_tokens(self) -> int:
        """What the budget leaves beside the fixed tokens."""
        return max(0, self.budget_tokens - self.fixed_tokens)

    def tokens_of(self, view: View) -> int:
        return sum(map(self.prepared.counter.count, view.messages))


@dataclass(frozen=True)
class Placed:
    """What a strategy would have sent at the boundary."""

    setting: Setting
    """With what was set."""
    was_set: Mapping[str, str]
    """Parameters that were set for the budget."""
    view: View
    tokens: int
    compactor: Compactor
    promises: Promises
    is_declared: bool
    """Whether the strategy says if originals can be read back."""


def placed(setting: Setting, place: Place, model: ChatModel) -> Placed:
    """Return a strategy's view at a boundary, as large as fits into the budget.

    If nothing fits, the smallest that was tried; its tokens are then above the budget.

    Raises:
        CompactionError: the strategy failed, or there is no such strategy or parameter.
    """
    values = dict(_targets(setting, place))
    for name, fraction in _started_below(setting, values).items():
        # It starts at a part of the parameter: only so may it use all of the size.
        above = {**values, name: str(round(int(values[name]) / fraction))}
        found = _fitted(setting, above, place, model)
        if found.tokens <= place.budget_tokens:
            return found
    return _fitted(setting, values, place, model)


def _fitted(setting: Setting, values: Mapping[str, str], place: Place, model: ChatModel) -> Placed:
    fitted = _fitted_parameter(setting)
    if fitted is None:
        return _asked(setting, values, place, model)
    return _largest_fitting(
        lambda value: _asked(setting, {**values, fitted: str(value)}, place, model),
        highest := _highest(fitted, place),
        place.budget_tokens,
        fineness=max(1, highest // SIZE_STEPS) if fitted.endswith(_SIZES) else 1,
    )


def _started_below(setting: Setting, values: Mapping[str, str]) -> dict[str, float]:
    """Return the parameters that were set and below which a strategy starts, with the fraction."""
    if "context_budget" not in values:
        return {}
    given = setting.parameters.get("trigger_fraction")
    default = _defaults(setting.strategy).get("trigger_fraction")
    return {"context_budget": float(given or str(default))} if given or default else {}


def _targets(setting: Setting, place: Place) -> Mapping[str, str]:
    """Return the parameters that say when or how far, unless the user fixed them."""
    known = {} if is_foreign(setting.strategy) else _defaults(setting.strategy)
    values: dict[str, str] = {}
    for name, unit in TARGETS.items():
        if name in known and name not in setting.parameters:
            values[name] = str(max(1, _in_unit(unit, place)))
    for name, value in FORCED.items():
        if known.get(name) is not None and name not in setting.parameters:
            values[name] = value
    return values


def _in_unit(unit: str, place: Place) -> int:
    if unit == "tokens":
        return place.budget_tokens
    tokens = place.history.total(place.prepared.counter)
    chars = place.history.total(JsonCharCounter())
    return round(place.budget_tokens * chars / tokens) if tokens else place.budget_tokens


def _defaults(strategy: str) -> Mapping[str, object]:
    """Return parameter -> default of one of our strategies.

    Raises:
        StrategyError: unknown strategy.
    """
    strategy_class = load_strategy_class(strategy, table=KNOWN)
    return {name: getattr(strategy_class(), name) for name in parameter_types(strategy_class)}


def _fitted_parameter(setting: Setting) -> str | None:
    if is_foreign(setting.strategy):
        return None
    known = _defaults(setting.strategy)
    if setting.strategy == "my_pi_agent":
        return None if "keep_recent_tokens" in setting.parameters else "keep_recent_tokens"
    present = [name for name in FITTED if name in known]
    if any(name in setting.parameters for name in present):
        return None
    # The rule that a strategy has by default is the one to move.
    return next((name for name in present if known[name] is not None), None)


def _highest(parameter: str, place: Place) -> int:
    if parameter == "keep_last_results":
        return len(place.history.result_positions())
    if parameter == "keep_tokens":
        return round(place.budget_tokens / (1 - TRUNCATE_SLACK_FRACTION))
    if parameter.endswith("_tokens"):
        return place.history.total(place.prepared.counter)
    if parameter == "max_chars":
        return max((len(message.text) for message in place.history.messages()), default=0)
    return len(place.history)


def _largest_fitting(
    ask: Callable[[int], Placed], highest: int, budget_tokens: int, *, fineness: int
) -> Placed:
    """Return the view of the largest value that fits, by halving; else the smallest view seen.

    Raises:
        StrategyError: the parameter takes no value that was tried.
    """
    seen: list[Placed] = []
    refused: StrategyError | None = None
    low, high = 0, highest
    while low <= high:
        # The last step of a coarse search is the lowest value left: it is likeliest to fit.
        middle = (low + high) // 2 if high - low >= fineness else low
        try:
            found = ask(middle)
        except StrategyError as error:
            refused, low = error, middle + 1  # too small for the parameter
            continue
        seen.append(found)
        if high - low < fineness:
            break
        if found.tokens <= budget_tokens:
            low = middle + 1
        else:
            high = middle - 1
    fitting = [each for each in seen if each.tokens <= budget_tokens]
    if fitting:
        return max(fitting, key=lambda each: each.tokens)
    if not seen:
        raise refused or StrategyError("no value of the parameter could be tried")
    return min(seen, key=lambda each: each.tokens)


def _asked(setting: Setting, values: Mapping[str, str], place: Place, model: ChatModel) -> Placed:
    full = replace(setting, parameters={**setting.parameters, **values})
    strategy = bind(full, place.prepared)
    compactor = strategy.start(Context(place.prepared.counter, MemoryStore()))
    if setting.strategy in NEEDS_USAGE:
        compactor.record_usage(Usage(place.history.total(place.prepared.counter), 0))
    try:
        view = drive(compactor.steps(place.history, place.request), model)
    except CompactionError:
        raise
    except Exception as error:
        text = (str(error).splitlines() or [""])[0]
        raise StrategyError(f"{full.label}: {type(error).__name__}: {text}") from error
    is_foreign_code = isinstance(strategy, ForeignStrategy)
    return Placed(
        setting=full,
        was_set=values,
        view=view,
        tokens=place.tokens_of(view),
        compactor=compactor,
        promises=strategy.promises,
        is_declared=strategy.promises.recoverable or not is_foreign_code,
    )
