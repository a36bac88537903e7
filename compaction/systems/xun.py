"""The system xun: the one place to import it from."""

from compaction.conversation import Conversation
from compaction.conversation_messages import (
    ConversationMessage,
    RawOpenAIMessage,
    SystemPrompt,
    UserMessage,
    message_from_json,
)
from compaction.systems.xun_compact import (
    Agent,
    AutoCompactConfig,
    AutoCompactor,
    CompactorAbstract,
    compact_conversation,
    run_command,
)
from compaction.systems.xun_levels import (
    COMPACTED,
    NOTHING_TO_CONDENSE,
    SUMMARIZE_FAILED,
    CompactionCounter,
    SummaryCompactResult,
    ToolCallCompactResult,
)
from compaction.systems.xun_prompts import COMPACTED_SYSTEM_PROMPT
from compaction.systems.xun_strategy import ESCALATION_RATIO, Xun, XunCompactor

__all__ = [
    "COMPACTED",
    "COMPACTED_SYSTEM_PROMPT",
    "ESCALATION_RATIO",
    "NOTHING_TO_CONDENSE",
    "SUMMARIZE_FAILED",
    "Agent",
    "AutoCompactConfig",
    "AutoCompactor",
    "CompactionCounter",
    "CompactorAbstract",
    "Conversation",
    "ConversationMessage",
    "RawOpenAIMessage",
    "SummaryCompactResult",
    "SystemPrompt",
    "ToolCallCompactResult",
    "UserMessage",
    "Xun",
    "XunCompactor",
    "compact_conversation",
    "message_from_json",
    "run_command",
]
