"""Settings: a strategy with the parameters a user gave it, as text, until a transcript is known.

`50%` in a size parameter means half of the transcript's own peak, since absolute defaults never
fire on most logs. It becomes a number when the setting is bound to a transcript.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import product
from math import prod
from typing import Any, Final

from compaction.errors import StrategyError
from compaction.registry import STRATEGIES, load_strategy_class, make_strategy, parameter_types
from compaction.strategy import Strategy, parameters_of
from evals.controls import CONTROLS
from evals.fidelity.oracle_control import USES_THE_FUTURE
from evals.foreign import ForeignStrategy, is_foreign, load_foreign
from evals.prepare import Prepared
from evals.probing.boundaries import BOUNDARY, ONCE

KNOWN: Final[Mapping[str, str]] = {**STRATEGIES, **CONTROLS, **USES_THE_FUTURE, **ONCE}
"""Every short name; whatever has a colon is somebody's own code."""
MAX_SETTINGS: Final = 10_000
"""Combinations of a grid; a day and more on one long transcript."""
UNITS: Final = ("tokens", "counted_tokens", "chars")
"""Units of sizes: as a provider counts, as the measuring counter does, JSON characters."""
PROMPTS: Final = ("headings", "plain", "xun", "my_pi_agent", "three_layer")
"""Of `summary_once`: what summaries are recorded with."""
SHARES: Final = ("25%", "50%", "75%")
"""Of the peak; the default contestants run there beside their literal defaults."""
TRUNCATE_POINTS: Final = 16
"""Settings of `truncate` on each transcript, from which its reach at equal savings is read."""

_SHARE: Final = re.compile(r"(\d+(?:\.\d+)?)%")
_FRACTION: Final = re.compile(r"0?\.[0-9]+")
_PEAK_FOR_CHECKS: Final = 1_000_000
"""Stands for the peak of a transcript not known yet; large, so that no limit refuses its shares."""
_THRESHOLDS: Final = {
    "xun": "token_threshold",
    "my_pi_agent": "context_budget",
    "three_layer": "context_limit_chars",
}
"""The parameter of each system that says when it starts."""


@dataclass(frozen=True)
class Setting:
    """One contestant."""

    strategy: str
    """A short name or the spec of somebody's code."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    timeout_seconds: float = 30.0
    """For one call of somebody's code."""
    only_where_recorded: bool = False
    """Leave out transcripts about which no model was ever asked anything."""

    @property
    def is_control(self) -> bool:
        return self.strategy in CONTROLS or self.strategy in USES_THE_FUTURE

    @property
    def label(self) -> str:
        inside = ", ".join(f"{key}={value}" for key, value in self.parameters.items())
        return f"{self.strategy}({inside})" if inside else self.strategy


def expand(
    strategy: str,
    fixed: Mapping[str, str],
    grid: Mapping[str, Sequence[str]],
    *,
    timeout_seconds: float = 30.0,
) -> list[Setting]:
    """Return a setting for each combination of grid values, the last parameter varying fastest.

    Raises:
        StrategyError: more combinations than anybody waits for.
    """
    if (count := prod(map(len, grid.values()))) > MAX_SETTINGS:
        raise StrategyError(
            f"{' x '.join(grid)} has {count:,} combinations, more than {MAX_SETTINGS:,}; "
            "give fewer values"
        )
    combinations = product(*grid.values())
    return [
        Setting(strategy, {**fixed, **dict(zip(grid, values, strict=True))}, timeout_seconds)
        for values in combinations
    ]


def default_settings(*, with_recorded: bool = False) -> list[Setting]:
    """Return the contestants of a run that names none: systems at four thresholds, and controls.

    Args:
        with_recorded: Those with recorded summaries as well; passed over where nothing is recorded.
    """
    recorded = boundary_settings() if with_recorded else []
    return [*_default_systems(), *recorded, *control_settings()]


def boundary_settings() -> list[Setting]:
    """Return the contestants with recorded summaries, and what stands beside them.

    All compact once, at the same place: a summary by each prompt, the extractive one, clearing.
    """
    at = {"at_tokens": BOUNDARY}
    return [
        *(
            Setting("summary_once", {"prompt": prompt, **at}, only_where_recorded=True)
            for prompt in PROMPTS
        ),
        Setting("summary_once", {"by": "extractive", **at}),
        Setting("clear_once", at),
    ]


def flags_of(setting: Setting) -> list[str]:
    """Return the flags that name a setting; none for those that recording takes by itself."""
    if setting.label in {known.label for known in boundary_settings()}:
        return []
    sets = [f"--set={key}={value}" for key, value in setting.parameters.items()]
    return [f"--strategy={setting.strategy}", *sets]


def control_settings() -> list[Setting]:
    """Return the controls that stand in every run."""
    shares = [f"{100 * step / TRUNCATE_POINTS:g}%" for step in range(1, TRUNCATE_POINTS + 1)]
    return [
        Setting("identity"),
        Setting("drop_all"),
        Setting("random_drop"),
        Setting("salad"),
        *expand("truncate", {}, {"keep_tokens": shares}),
    ]


def _default_systems() -> Iterator[Setting]:
    for name, threshold in _THRESHOLDS.items():
        yield Setting(name)
        yield from expand(name, {}, {threshold: SHARES})


def bind(setting: Setting, prepared: Prepared) -> Strategy:
    """Make the strategy for one transcript; shares become numbers.

    Raises:
        StrategyError: unknown strategy or parameter, or a value it does not take.
    """
    if is_foreign(setting.strategy):
        return _bind_foreign(setting)
    peaks = (prepared.peak_tokens, prepared.peak_counted_tokens, prepared.peak_chars)
    return _make(setting, dict(zip(UNITS, peaks, strict=True)))


def check(settings: Iterable[Setting]) -> None:
    """Refuse unknown strategies, parameters and values before anything is run.

    Raises:
        StrategyError: as `bind`.
    """
    for setting in settings:
        if is_foreign(setting.strategy):
            _bind_foreign(setting)
            continue
        _make(setting, dict.fromkeys(UNITS, _PEAK_FOR_CHECKS))


def resolved_parameters(strategy: Strategy) -> dict[str, Any]:
    """Return every parameter with its value, as JSON can hold it."""
    if isinstance(strategy, ForeignStrategy):
        return dict(strategy.parameters)
    return {key: _plain(value) for key, value in parameters_of(strategy).items()}


def _bind_foreign(setting: Setting) -> ForeignStrategy:
    return load_foreign(
        setting.strategy,
        {key: _json_or_text(value) for key, value in setting.parameters.items()},
        timeout_seconds=setting.timeout_seconds,
    )


def _make(setting: Setting, peaks: Mapping[str, float]) -> Strategy:
    """Make a strategy of ours for a transcript with these peaks, by unit."""
    if setting.strategy.endswith(".py"):
        raise StrategyError(f"{setting.strategy} is a file: write {setting.strategy}:NAME")
    strategy_class = load_strategy_class(setting.strategy, table=KNOWN)
    units, known = _units_of(strategy_class), parameter_types(strategy_class)
    values = {
        key: _resolve(setting, key, value, units, peaks) if key in known else value
        for key, value in setting.parameters.items()
    }
    return make_strategy(setting.strategy, values, table=KNOWN)


def _resolve(
    setting: Setting, key: str, value: str, units: Mapping[str, str], peaks: Mapping[str, float]
) -> str:
    share = _SHARE.fullmatch(value)
    if share is None:
        if key in units and _FRACTION.fullmatch(value):
            raise StrategyError(
                f"{setting.strategy}: {key} is a size in {units[key]}, not {value}; a share of the "
                f"peak is written {100 * float(value):g}%"
            )
        return value
    if key not in units:
        raise StrategyError(
            f"{setting.strategy}: {key} is no size, so {value!r} of the peak means nothing; "
            f"sizes are: {', '.join(units) or 'none'}"
        )
    return str(max(1, round(peaks[units[key]] * float(share[1]) / 100)))


def _units_of(strategy_class: Any) -> dict[str, str]:
    """Return size parameter -> unit, from the metadata of the dataclass fields."""
    if not is_dataclass(strategy_class):
        return {}
    return {
        item.name: item.metadata["unit"]
        for item in fields(strategy_class)
        if "unit" in item.metadata
    }


def _json_or_text(value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _plain(value: Any) -> Any:
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    return (
        value
        if isinstance(value, (str, int, float, bool, list, tuple, type(None)))
        else repr(value)
    )
