"""The my_pi_agent system: three free layers, a summary when they are not enough, a session tree.

`MyPiAgent` is the recipe for the evaluation, `ContextManager` the library that the seed describes,
the functions are its layers one by one. Sessions are in `compaction.session`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from compaction.history import History, View
from compaction.messages import Message
from compaction.session_bridge import ContextSessionBridge
from compaction.store import FolderStore
from compaction.strategy import Context, Tier
from compaction.systems.my_pi_agent_layers import RecordChars
from compaction.systems.my_pi_agent_manager import ContextManager, chars_of
from compaction.systems.my_pi_agent_pipeline import (
    CHARS_PER_TOKEN,
    CompactionInfo,
    ContextCompacted,
    PiCompactor,
    tokens_of,
)
from compaction.systems.my_pi_agent_prompts import (
    SUMMARIZATION_PROMPT_TEMPLATE,
    SUMMARIZATION_SYSTEM_PROMPT,
    extract_summary,
)
from compaction.systems.my_pi_agent_strategy import OFFLOAD_MAX_CHARS, MyPiAgent

__all__ = [
    "CHARS_PER_TOKEN",
    "SUMMARIZATION_PROMPT_TEMPLATE",
    "SUMMARIZATION_SYSTEM_PROMPT",
    "CompactionInfo",
    "ContextCompacted",
    "ContextManager",
    "ContextSessionBridge",
    "MyPiAgent",
    "PiCompactor",
    "budget_tool_results",
    "estimate_tokens",
    "extract_summary",
    "micro_compact",
    "snip_messages",
]

_DEFAULTS: Final = MyPiAgent()


def estimate_tokens(messages: Sequence[Message], ratio: float | None = None) -> int:
    """Estimate tokens as JSON characters x `ratio`, or a quarter of them; at least 1."""
    return tokens_of(chars_of(messages), ratio)


def budget_tool_results(
    messages: Sequence[Message],
    max_chars: int = OFFLOAD_MAX_CHARS,
    results_dir: Path | None = None,
) -> list[Message]:
    """Write longer results to files and leave a preview (L3); without a folder, change nothing."""
    tier = MyPiAgent(offload_max_chars=max_chars).offload_tier()
    if results_dir is None or tier is None:
        return list(messages)
    return _applied(tier, messages, Context(counter=RecordChars(), store=FolderStore(results_dir)))


def snip_messages(
    messages: Sequence[Message], max_messages: int = _DEFAULTS.max_messages
) -> list[Message]:
    """Cut whole groups out of the middle of more than `max_messages` (L1)."""
    return _applied(MyPiAgent(max_messages=max_messages).snip_tier(), messages)


def micro_compact(
    messages: Sequence[Message],
    keep_recent: int = _DEFAULTS.micro_keep_recent,
    min_chars: int = _DEFAULTS.micro_min_chars,
) -> list[Message]:
    """Exchange older and longer results for a placeholder (L2)."""
    settings = MyPiAgent(micro_keep_recent=keep_recent, micro_min_chars=min_chars)
    return _applied(settings.micro_tier(), messages)


def _applied(
    tier: Tier, messages: Sequence[Message], context: Context | None = None
) -> list[Message]:
    view = View.of(History(messages))
    return list(tier.apply(view, context or Context(counter=RecordChars())).messages)
