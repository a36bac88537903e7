"""A setting as configuration to copy, for the framework it belongs to and for those that have it.

Made from the strategy's name and its parameters alone, as a row has them. What a framework cannot
express is said in `notes`, never left out silently. The forms themselves are in
`reports.configuration_forms` and `reports.configuration_systems`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from reports import configuration_forms as forms
from reports import configuration_systems as systems
from reports.configuration_text import Form, Language, Resolved
from reports.shares import MedianSize, Share, with_sizes
from reports.units import ConvertedSize, Scale, Unit, UnknownScaleError, in_units
from reports.wording import plural

PROVIDER_SIZES: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(
        (
            "inspect_edit",
            "inspect_trim",
            "inspect_summary",
            "pydantic_ai_clear_tool_results",
            "pydantic_ai_sliding_window",
            "pydantic_ai_summarization",
        ),
        frozenset({"trigger_tokens"}),
    ),
    "xun": frozenset({"token_threshold"}),
    "my_pi_agent": frozenset({"context_budget", "keep_recent_tokens", "max_summary_tokens"}),
}
"""Strategy -> its sizes that are as a provider counts; all others in tokens are counted tokens of
messages. As the metadata of their fields has it, which rows do not hold."""


@dataclass(frozen=True, slots=True)
class Configuration:
    framework: str
    language: Language
    text: str
    """Empty where the setting cannot be written there: `notes` say why."""
    notes: tuple[str, ...]
    """What is not the same there, a line each."""
    unmeasured: tuple[str, ...] = ()
    """Where the language has no comments: what has to be said of the sizes in the text."""
    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Of each parameter that was a share: the fixed size that is as the text has it, or, where none
    is, both ends of what that comes to by transcript; as this tool counts."""


class _Target(NamedTuple):
    write: Callable[[Resolved], Form | None]
    """None where the framework cannot express the setting at all."""
    handled: frozenset[str]
    """Parameters that are in the text."""
    units: Mapping[str, Unit]
    """Of those that are in counted tokens here: how the framework counts."""


def _target(write: Callable[[Resolved], Form | None], *handled: str, **units: Unit) -> _Target:
    return _Target(write, frozenset(handled), units)


_CLEAR: Final = ("trigger_tokens", "keep_last_results", "exempt_tools", "clear_arguments")
_ANTHROPIC: Final = _target(
    forms.anthropic,
    *_CLEAR,
    "min_reclaim_tokens",
    trigger_tokens="prompt",
    min_reclaim_tokens="part",
)
# Sources of the units below: the versions that `reports.configuration_forms` names. LangChain's
# edit counts `count_tokens_approximately` of the messages; its summary fires when the tokens that
# the provider reported reach the trigger, and keeps by the approximate count. pydantic-ai-harness
# anchors its trigger and its tail on reported usage, but estimates what clearing gains. Inspect
# anchors on reported usage.
_LANGCHAIN_CLEAR: Final = _target(
    forms.langchain_clear,
    *_CLEAR,
    "stop_after_tokens",
    "placeholder",
    trigger_tokens="quarters",
    stop_after_tokens="quarters",
)
_PYDANTIC_CLEAR: Final = _target(
    forms.pydantic_ai_clear,
    *_CLEAR,
    "min_reclaim_tokens",
    "placeholder",
    trigger_tokens="prompt",
    min_reclaim_tokens="quarters",
)
_INSPECT_EDIT: Final = _target(
    forms.inspect_edit, "trigger_tokens", "keep_last_results", trigger_tokens="prompt"
)
_LANGCHAIN_SUMMARY: Final = _target(
    forms.langchain_summary,
    "trigger_tokens",
    "keep_tail_messages",
    "keep_tail_tokens",
    "max_input_tokens",  # characters / 4 in the preset too
    trigger_tokens="prompt",
    keep_tail_tokens="quarters",
)
_INSPECT_TRIM: Final = _target(
    forms.inspect_trim, "trigger_tokens", "keep_tail_fraction", trigger_tokens="prompt"
)
_INSPECT_SUMMARY: Final = _target(forms.inspect_summary, "trigger_tokens", trigger_tokens="prompt")
_TAIL: Final = (
    "border",
    "trigger_tokens",
    "trigger_messages",
    "keep_tail_messages",
    "keep_tail_tokens",
    "keep_first_user",
)
_PYDANTIC_WINDOW: Final = _target(
    forms.pydantic_ai_window, *_TAIL, trigger_tokens="prompt", keep_tail_tokens="part"
)
_PYDANTIC_SUMMARY: Final = _target(
    forms.pydantic_ai_summary, *_TAIL, trigger_tokens="prompt", keep_tail_tokens="part"
)
_XUN: Final = _target(
    systems.xun,
    "token_threshold",
    "enabled",
    "toolcall_keep_max",
    "summary_keep_max",
    "escalation_rounds",
    "max_retries",
)
_MY_PI_AGENT: Final = _target(systems.my_pi_agent, *systems.PI_PARAMETERS)
_THREE_LAYER: Final = _target(systems.three_layer, *systems.THREE_LAYER_CONSTANTS)

_TARGETS: Final[Mapping[str, tuple[_Target, ...]]] = {
    "anthropic_clear_tool_uses": (_ANTHROPIC,),
    "langchain_clear_tool_uses": (_LANGCHAIN_CLEAR,),
    "langchain_summarization": (_LANGCHAIN_SUMMARY,),
    "inspect_edit": (_INSPECT_EDIT,),
    "inspect_trim": (_INSPECT_TRIM,),
    "inspect_summary": (_INSPECT_SUMMARY,),
    "pydantic_ai_clear_tool_results": (_PYDANTIC_CLEAR,),
    "pydantic_ai_sliding_window": (_PYDANTIC_WINDOW,),
    "pydantic_ai_summarization": (_PYDANTIC_SUMMARY,),
    "xun": (_XUN,),
    "my_pi_agent": (_MY_PI_AGENT,),
    "three_layer": (_THREE_LAYER,),
    "clear_tool_results": (_ANTHROPIC, _LANGCHAIN_CLEAR, _PYDANTIC_CLEAR, _INSPECT_EDIT),
    "drop_oldest": (_PYDANTIC_WINDOW, _INSPECT_TRIM),
    "summarize": (_LANGCHAIN_SUMMARY, _PYDANTIC_SUMMARY),
    "snip_middle": (),
    "offload_large_results": (),
}
"""A system or preset has one; a bare tier has those of every framework that does the same."""


def configurations(
    strategy: str,
    resolved: Resolved,
    *,
    given: Resolved | None = None,
    shares: Mapping[str, Share] | None = None,
    scales: Sequence[Scale] = (),
    measured: Mapping[str, Sequence[int]] | None = None,
) -> tuple[Configuration, ...]:
    """Return a setting as configuration, of its own framework first, for this library last.

    Args:
        strategy: A short name, or the spec of somebody's code.
        resolved: Every parameter with its value.
        given: Those that were set; each that a framework lacks is noted. None: all of them.
        shares: Parameters that were shares of each transcript's peak, with what they came to.
        scales: How others count, of each transcript, in the order of `Share.each`.
        measured: Fixed sizes that were measured beside this setting, of each parameter.
    """
    set_by_user = frozenset(resolved if given is None else given)
    resolved = with_sizes(resolved, shares or {})
    provider = PROVIDER_SIZES.get(strategy, frozenset())
    found = []
    for target in _TARGETS.get(strategy, ()):
        form = target.write(resolved)
        if form is None:
            continue
        units = {name: unit for name, unit in target.units.items() if name not in provider}
        try:
            there = in_units(resolved, units, scales, measured or {})
        except UnknownScaleError as error:
            found.append(Configuration(form.framework, form.language, "", (str(error),)))
            continue
        form = target.write(there) or form
        notes = (
            *form.notes,
            *_lacking(resolved, set_by_user - target.handled),
            *_unrecorded(resolved, provider & target.handled, scales),
        )
        without_comments = form.language == "json"
        beside = _unmeasured(there, target.handled) if without_comments else ()
        sizes = _sizes(resolved, there)
        found.append(
            Configuration(form.framework, form.language, form.text, notes, (*beside,), sizes)
        )
    write = systems.this_library if strategy in _TARGETS else systems.command_line
    form = write(strategy, resolved, set_by_user)
    none = () if found or ":" in strategy else ("No framework known here has it.",)
    sizes = _sizes(resolved, resolved)
    found.append(Configuration(form.framework, form.language, form.text, none, (), sizes))
    return tuple(found)


def _sizes(resolved: Resolved, there: Resolved) -> dict[str, tuple[int, ...]]:
    return {
        name: found.ends if isinstance(found := there[name], ConvertedSize) else (int(value),)
        for name, value in resolved.items()
        if isinstance(value, MedianSize)
    }


def _lacking(resolved: Resolved, names: frozenset[str]) -> Iterator[str]:
    for name, value in resolved.items():
        if name in names:
            text = value.share.given if isinstance(value, MedianSize) else repr(value)
            yield f"No equivalent of {name}={text} there."


def _unrecorded(
    resolved: Resolved, names: frozenset[str], scales: Sequence[Scale]
) -> Iterator[str]:
    """Say where a size is meant as the provider counts and no usage tells how that is."""
    lacking = sum(scale.slope is None for scale in scales)
    if lacking and any(resolved.get(name) for name in names):
        yield (
            f"{lacking:,} of {plural(len(scales), 'transcript')} without recorded usage: "
            "sizes are there of what the log holds, without what else a request has."
        )


def _unmeasured(resolved: Resolved, names: frozenset[str]) -> Iterator[str]:
    for name, value in resolved.items():
        if name in names and isinstance(value, MedianSize | ConvertedSize):
            yield f"{name}. {' '.join(value.comment())}"
