"""A setting as configuration to copy, for the framework it belongs to and for those that have it.

Made from the strategy's name and its parameters alone, as a row has them. What a framework cannot
express is said in `notes`, never left out silently. The forms themselves are in
`reports.configuration_forms` and `reports.configuration_systems`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from reports import configuration_forms as forms
from reports import configuration_systems as systems
from reports.configuration_text import Form, Language, Resolved
from reports.shares import MedianSize, Share, with_sizes


@dataclass(frozen=True, slots=True)
class Configuration:
    framework: str
    language: Language
    text: str
    notes: tuple[str, ...]
    """What is not the same there, a line each."""
    unmeasured: tuple[str, ...] = ()
    """Where the language has no comments: what has to be said of the sizes in the text."""


class _Target(NamedTuple):
    write: Callable[[Resolved], Form | None]
    """None where the framework cannot express the setting at all."""
    handled: frozenset[str]
    """Parameters that are in the text."""


def _target(write: Callable[[Resolved], Form | None], *handled: str) -> _Target:
    return _Target(write, frozenset(handled))


_CLEAR: Final = ("trigger_tokens", "keep_last_results", "exempt_tools", "clear_arguments")
_ANTHROPIC: Final = _target(forms.anthropic, *_CLEAR, "min_reclaim_tokens")
_LANGCHAIN_CLEAR: Final = _target(
    forms.langchain_clear, *_CLEAR, "stop_after_tokens", "placeholder"
)
_PYDANTIC_CLEAR: Final = _target(
    forms.pydantic_ai_clear, *_CLEAR, "min_reclaim_tokens", "placeholder"
)
_INSPECT_EDIT: Final = _target(forms.inspect_edit, "trigger_tokens", "keep_last_results")
_LANGCHAIN_SUMMARY: Final = _target(
    forms.langchain_summary,
    "trigger_tokens",
    "keep_tail_messages",
    "keep_tail_tokens",
    "max_input_tokens",
)
_INSPECT_TRIM: Final = _target(forms.inspect_trim, "trigger_tokens", "keep_tail_fraction")
_INSPECT_SUMMARY: Final = _target(forms.inspect_summary, "trigger_tokens")
_TAIL: Final = (
    "border",
    "trigger_tokens",
    "trigger_messages",
    "keep_tail_messages",
    "keep_tail_tokens",
    "keep_first_user",
)
_PYDANTIC_WINDOW: Final = _target(forms.pydantic_ai_window, *_TAIL)
_PYDANTIC_SUMMARY: Final = _target(forms.pydantic_ai_summary, *_TAIL)
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
) -> tuple[Configuration, ...]:
    """Return a setting as configuration, of its own framework first, for this library last.

    Args:
        strategy: A short name, or the spec of somebody's code.
        resolved: Every parameter with its value.
        given: Those that were set; each that a framework lacks is noted. None: all of them.
        shares: Parameters that were shares of each transcript's peak, with what they came to.
    """
    set_by_user = frozenset(resolved if given is None else given)
    resolved = with_sizes(resolved, shares or {})
    found = []
    for target in _TARGETS.get(strategy, ()):
        form = target.write(resolved)
        if form is None:
            continue
        notes = (*form.notes, *_lacking(resolved, set_by_user - target.handled))
        without_comments = form.language == "json"
        beside = _unmeasured(resolved, target.handled) if without_comments else ()
        found.append(Configuration(form.framework, form.language, form.text, notes, (*beside,)))
    write = systems.this_library if strategy in _TARGETS else systems.command_line
    form = write(strategy, resolved, set_by_user)
    none = () if found or ":" in strategy else ("No framework known here has it.",)
    found.append(Configuration(form.framework, form.language, form.text, none))
    return tuple(found)


def _lacking(resolved: Resolved, names: frozenset[str]) -> Iterator[str]:
    for name, value in resolved.items():
        if name in names:
            text = value.share.given if isinstance(value, MedianSize) else repr(value)
            yield f"No equivalent of {name}={text} there."


def _unmeasured(resolved: Resolved, names: frozenset[str]) -> Iterator[str]:
    for name, value in resolved.items():
        if name in names and isinstance(value, MedianSize):
            yield f"{name}. {' '.join(value.comment())}"
