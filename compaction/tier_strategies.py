"""The bare tiers as strategies: every field of a tier is a parameter, and `trigger_tokens` is one.

Nothing of a tier is repeated here: its fields are read from its class, so that a new field is a
parameter at once. The unit of a size is the end of its name: `_tokens` or `_chars`. What such a
strategy promises is beside each.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, make_dataclass
from typing import Any, Final, get_type_hints

from compaction.control import Pipeline, PipelineCompactor
from compaction.messages import INSTRUCTION_ROLES
from compaction.prompts import PlainPrompt
from compaction.strategy import Context, Promises
from compaction.tiers import (
    ClearToolResults,
    DropOldest,
    OffloadLargeResults,
    SnipMiddle,
    Summarize,
)
from compaction.triggers import Always, Tokens

UNIT_OF_SUFFIX: Final[Mapping[str, str]] = {"_tokens": "counted_tokens", "_chars": "chars"}
"""End of a parameter's name -> unit, in which a share of the peak is meant."""
KEEP_LAST_RESULTS: Final = 3
"""If no rule protects a result. The default of Anthropic's context editing, LangChain, Inspect."""
KEEP_TAIL_MESSAGES: Final = 20
"""If nothing says what stays beside a summary. The default of LangChain's middleware."""
KEEP_NEWEST_MESSAGES: Final = 40
"""If nothing says what stays without one. The default of pydantic-ai-harness' sliding window."""


@dataclass(frozen=True, slots=True)
class _Recipe:
    """What a tier does not say of itself."""

    tier: Any
    doc: str
    promises: Callable[[Any, Any], Promises]
    """Of the tier and the strategy around it."""
    default: tuple[tuple[str, ...], str, int] | None = None
    """Parameters of which one has to be set, and the one that is if none is, with its value."""
    types: Mapping[str, Any] = field(default_factory=dict)
    """Instead of the tier's own, where that is no type that a text can become."""


def _clearing(tier: ClearToolResults, strategy: Any) -> Promises:
    decides_alone = not tier.gains_matter and strategy.trigger_tokens is None
    return Promises(
        keeps_system=True,
        keeps_last_user=True,
        keep_last_results=tier.keep_last_results,
        recoverable=tier.recoverable and not tier.literal_handles,
        keeps_open_calls=True,
        accounts_for_all=tier.recoverable and not tier.clear_arguments,
        min_reclaim_tokens=tier.min_reclaim_tokens or None,
        monotone_parameters=("keep_last_results",) if decides_alone else (),
    )


def _snipping(tier: SnipMiddle, strategy: Any) -> Promises:
    return Promises(grows=True, keeps_open_calls=True)


def _offloading(tier: OffloadLargeResults, strategy: Any) -> Promises:
    is_always = strategy.trigger_tokens is None
    return Promises(
        keeps_system=True,
        keeps_last_user=True,
        recoverable=not tier.literal_handles,
        keeps_open_calls=True,
        accounts_for_all=not tier.literal_handles,
        monotone_parameters=("max_chars",) if is_always else (),
    )


def _dropping(tier: DropOldest, strategy: Any) -> Promises:
    return Promises(
        keeps_system=True,
        keeps_open_calls=True,
        idempotent=tier.keep_tail_fraction is None,
    )


def _summarizing(tier: Summarize, strategy: Any) -> Promises:
    return Promises(
        keeps_system=tier.place == "after_head",
        keeps_last_user=tier.hoist_last_user,
        grows=not tier.guard.reject_grown,
        keeps_open_calls=True,
        accounts_for_all=tier.max_input_chars is None,
        raises_roles=tier.place == "system" or tier.role in INSTRUCTION_ROLES,
        max_model_input_chars=tier.max_input_chars,
    )


_RECIPES: Final[Mapping[str, _Recipe]] = {
    "clear_tool_results": _Recipe(
        ClearToolResults,
        f"The tier ClearToolResults; without a rule it keeps the last {KEEP_LAST_RESULTS} results.",
        _clearing,
        default=(
            ("keep_last_results", "protect_tokens", "protect_last_turns"),
            "keep_last_results",
            KEEP_LAST_RESULTS,
        ),
    ),
    "snip_middle": _Recipe(SnipMiddle, "The tier SnipMiddle.", _snipping),
    "offload_large_results": _Recipe(
        OffloadLargeResults, "The tier OffloadLargeResults.", _offloading
    ),
    "drop_oldest": _Recipe(
        DropOldest,
        f"The tier DropOldest; without a tail it keeps the last {KEEP_NEWEST_MESSAGES} messages.",
        _dropping,
        default=(
            ("keep_tail_messages", "keep_tail_tokens", "keep_tail_fraction"),
            "keep_tail_messages",
            KEEP_NEWEST_MESSAGES,
        ),
    ),
    "summarize": _Recipe(
        Summarize,
        f"The tier Summarize; without a tail it keeps the last {KEEP_TAIL_MESSAGES} messages.",
        _summarizing,
        default=(
            ("keep_tail_messages", "keep_tail_chars", "keep_tail_tokens", "keep_tail_turns"),
            "keep_tail_messages",
            KEEP_TAIL_MESSAGES,
        ),
        types={"prompt": PlainPrompt},
    ),
}


def _strategy_class(name: str, recipe: _Recipe) -> Any:
    """Make the frozen dataclass that is the strategy: the tier's fields and `trigger_tokens`."""
    hints = get_type_hints(recipe.tier)
    own = [item for item in dataclasses.fields(recipe.tier) if item.init]

    def tier(self: Any) -> Any:
        return recipe.tier(**{item.name: getattr(self, item.name) for item in own})

    def check(self: Any) -> None:
        if recipe.default is not None:
            choices, parameter, value = recipe.default
            if all(getattr(self, choice) is None for choice in choices):
                object.__setattr__(self, parameter, value)
        self.tier()
        if self.trigger_tokens is not None and self.trigger_tokens < 0:
            raise ValueError(f"trigger_tokens must be >= 0, got {self.trigger_tokens}")

    def start(self: Any, context: Context) -> PipelineCompactor:
        trigger = Always() if self.trigger_tokens is None else Tokens(self.trigger_tokens)
        pipeline = Pipeline(
            name=name, tiers=(self.tier(),), trigger=trigger, declared=self.promises
        )
        return pipeline.start(context)

    def promises(self: Any) -> Promises:
        return recipe.promises(self.tier(), self)

    return make_dataclass(
        f"{recipe.tier.__name__}Alone",
        [
            (
                "trigger_tokens",
                int | None,
                field(default=None, metadata=_unit_of("trigger_tokens")),
            ),
            *(
                (item.name, recipe.types.get(item.name, hints[item.name]), _field(item))
                for item in own
            ),
        ],
        namespace={
            "__doc__": f"{recipe.doc}\n\nIt runs when more than `trigger_tokens` would be sent; "
            "None means before every request.",
            "__module__": __name__,
            "__post_init__": check,
            "name": name,
            "version": "2",
            "tier": tier,
            "start": start,
            "promises": property(promises),
        },
        frozen=True,
        kw_only=True,
    )


def _field(item: "dataclasses.Field[Any]") -> Any:
    metadata = _unit_of(item.name)
    if item.default_factory is not dataclasses.MISSING:
        return field(default_factory=item.default_factory, metadata=metadata)
    return field(default=item.default, metadata=metadata)


def _unit_of(parameter: str) -> dict[str, str]:
    units = UNIT_OF_SUFFIX.items()
    return next(({"unit": unit} for suffix, unit in units if parameter.endswith(suffix)), {})


ClearToolResultsAlone: Final = _strategy_class("clear_tool_results", _RECIPES["clear_tool_results"])
SnipMiddleAlone: Final = _strategy_class("snip_middle", _RECIPES["snip_middle"])
OffloadLargeResultsAlone: Final = _strategy_class(
    "offload_large_results", _RECIPES["offload_large_results"]
)
DropOldestAlone: Final = _strategy_class("drop_oldest", _RECIPES["drop_oldest"])
SummarizeAlone: Final = _strategy_class("summarize", _RECIPES["summarize"])
