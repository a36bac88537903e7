"""How the three reference systems, this library and somebody's own code write a setting down."""

import json
from collections.abc import Mapping
from typing import Final

from evals.shell_words import shell_line
from reports.configuration_text import Form, Resolved, call, comments, indented, python
from reports.shares import MedianSize

THREE_LAYER_CONSTANTS: Final[Mapping[str, str]] = {
    "persist_threshold_chars": "PERSIST_THRESHOLD",
    "preview_chars": "PREVIEW_CHARS",
    "keep_recent_tool_results": "KEEP_RECENT_TOOL_RESULTS",
    "micro_min_chars": "MICRO_MIN_CHARS",
    "context_limit_chars": "CONTEXT_LIMIT",
    "max_recent_files": "MAX_RECENT_FILES",
}
"""Parameter -> constant, as the seed and `compaction.systems.three_layer` name them."""
PI_PARAMETERS: Final = (
    "context_budget",
    "keep_recent_tokens",
    "trigger_fraction",
    "max_messages",
    "keep_head",
    "micro_keep_recent",
    "micro_min_chars",
    "offload_max_chars",
    "preview_chars",
    "max_summary_tokens",
    "keep_last_user",
    "bounded_footprint",
    "cut",
    "summary_input",
    "retained_tail",
    "on_failure",
    "anchor",
    "extraction",
    "literal_handles",
)
"""What `ContextManager` takes, the rest of it as `settings`."""


def xun(resolved: Resolved) -> Form | None:
    """Write xun's two settings and its compactor. Source: the seed's configuration table."""
    compactor = {
        name: resolved[name]
        for name in ("toolcall_keep_max", "summary_keep_max", "escalation_rounds", "max_retries")
    }
    config = {name: resolved[name] for name in ("enabled", "token_threshold")}
    text = python(
        "from compaction.systems.xun import AutoCompactConfig, AutoCompactor",
        "# In xun's own settings: auto_compact.enabled, auto_compact.token_threshold",
        before=call("auto_compact", "AutoCompactConfig", config)
        + "\n"
        + call("compactor", "AutoCompactor", compactor),
    )
    return Form("xun", "python", text)


def my_pi_agent(resolved: Resolved) -> Form | None:
    """Write `ContextManager`. Source: the seed's constructor."""
    budget = resolved["context_budget"]
    if budget is None:
        return Form("my_pi_agent", "python", "context_budget = None  # nothing is compacted")
    rest = {
        name: resolved[name]
        for name in PI_PARAMETERS
        if name in resolved and name not in ("context_budget", "keep_recent_tokens")
    }
    arguments = {"budget": budget, "keep_recent_tokens": resolved.get("keep_recent_tokens")}
    text = python(
        "from compaction.systems.my_pi_agent import ContextManager, MyPiAgent",
        "",
        before=call("settings", "MyPiAgent", rest)
        + "\n"
        + call(
            "manager",
            "ContextManager",
            arguments,
            "llm=llm",
            "results_dir=results_dir",
            "settings=settings",
        ),
    )
    notes = (
        "`llm` writes summaries, `results_dir` is where large results go (None: nowhere).",
        "Where instructions or tool schemas are in none of its messages, give `record_usage` a "
        "Usage with their unlogged_tokens, as here; without, it keeps less than was measured.",
    )
    return Form("my_pi_agent", "python", text, notes)


def three_layer(resolved: Resolved) -> Form | None:
    """Write three_layer's constants. Source: the seed."""
    lines = [
        line
        for key, name in THREE_LAYER_CONSTANTS.items()
        for line in (*comments(resolved[key]), f"{name} = {resolved[key]!r}")
    ]
    return Form("three_layer", "python", "\n".join(lines))


def this_library(strategy: str, resolved: Resolved, given: frozenset[str]) -> Form:
    """Write what makes the strategy here: the parameters that were set."""
    values = [
        line
        for name, value in resolved.items()
        if name in given
        for line in (*comments(value), f"{name!r}: {value!r},")
    ]
    inside = f"\n    {strategy!r},\n    {{\n{indented(values, 2)}\n    }},\n"
    made = f"strategy = make_strategy({inside if values else repr(strategy)})"
    text = python("from compaction.registry import make_strategy", made, before="")
    return Form("compaction (this library)", "python", text)


def command_line(strategy: str, resolved: Resolved, given: frozenset[str]) -> Form:
    """Write the flags that run the setting again: all there is of somebody's own code."""
    words = ["compaction-evals", "run", "--strategy", strategy]
    for name in resolved:
        if name in given:
            value = resolved[name]
            if isinstance(value, MedianSize):
                value = value.share.given
            text = value if isinstance(value, str) else json.dumps(value)
            words += ["--set", f"{name}={text}"]
    return Form("command line", "shell", shell_line(words))
