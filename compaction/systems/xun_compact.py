"""Who compacts a `Conversation`, and when: the automatic compactor and the manual commands.

An agent author holds an `Agent`, calls `before_call()` ahead of each model call, and passes what
the user typed to `run_command`.
"""

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol

from compaction.conversation import CHANGED_MEANWHILE, Conversation
from compaction.conversation_messages import ConversationMessage
from compaction.llm import ChatModel, Steps, adrive, drive
from compaction.strategy import CompactionEvent
from compaction.systems.xun_levels import SummaryCompactResult, ToolCallCompactResult
from compaction.systems.xun_strategy import Xun

PROJECT_INSTRUCTIONS: Final = "AGENTS.md"
"""File of a project's rules, and the persistent section that holds them."""

Events = tuple[CompactionEvent, ...]
CommandResult = SummaryCompactResult | ToolCallCompactResult | list[ConversationMessage]


@dataclass(frozen=True, slots=True)
class AutoCompactConfig:
    """What a user sets; the rest are fields of the compactor, for programmers."""

    enabled: bool = True
    token_threshold: int = 192_000


class CompactorAbstract(Protocol):
    """Base of automatic compactors: inherit and implement `auto_compact`."""

    @abstractmethod
    def auto_compact(self, agent: "Agent") -> Events:
        """Compact the agent's conversation if it is time to, and tell what was done."""
        ...


@dataclass(frozen=True, slots=True)
class AutoCompactor(CompactorAbstract):
    """Tool results first, then the summary: `Xun` on a typed conversation."""

    toolcall_keep_max: int = 12
    summary_keep_max: int = 16
    escalation_rounds: int = 2
    max_retries: int = 2
    readings: Xun = field(default_factory=Xun)
    """The further parameters of `Xun`, literal readings included; the four above win."""

    def auto_compact(self, agent: "Agent") -> Events:
        return drive(self.steps(agent), agent.model)

    async def aauto_compact(self, agent: "Agent") -> Events:
        return await adrive(self.steps(agent), agent.model)

    def steps(self, agent: "Agent") -> Steps[Events]:
        """Do what `auto_compact` does, asking for summaries by model calls."""
        conversation = agent.conversation
        before = tuple(conversation.messages)
        checked = yield from self.settings(agent.auto_compact).check_steps(
            conversation.view(),
            conversation.state,
            conversation.context(),
            fixed_chars=conversation.fixed_chars,
        )
        if not conversation.commit(checked.view, before):
            return (CompactionEvent("xun", "failed", reason=CHANGED_MEANWHILE),)
        conversation.state = checked.state
        return checked.view.events

    def settings(self, config: AutoCompactConfig) -> Xun:
        return replace(
            self.readings,
            enabled=config.enabled,
            token_threshold=config.token_threshold,
            toolcall_keep_max=self.toolcall_keep_max,
            summary_keep_max=self.summary_keep_max,
            escalation_rounds=self.escalation_rounds,
            max_retries=self.max_retries,
        )


@dataclass(slots=True)
class Agent:
    """The part of an agent that compaction needs: a model, a conversation, and the settings."""

    model: ChatModel
    """Also writes the summaries, in one call without tools and without compaction of its own."""
    conversation: Conversation = field(default_factory=Conversation)
    compactor: CompactorAbstract = field(default_factory=AutoCompactor)
    auto_compact: AutoCompactConfig = field(default_factory=AutoCompactConfig)

    def system(self, content: str) -> None:
        """Set the system message."""
        self.conversation.set_system_message_content(content)

    def sync_project_instructions(self, folder: Path) -> None:
        """Make the folder's `AGENTS.md` a section that survives compaction; none if no file."""
        path = folder / PROJECT_INSTRUCTIONS
        text = path.read_text("utf-8") if path.is_file() else ""
        self.conversation.set_persistent_section(PROJECT_INSTRUCTIONS, text)

    def before_call(self) -> Events:
        return self.compactor.auto_compact(self)


def compact_conversation(agent: Agent, keep_recent: int = 16) -> SummaryCompactResult:
    """Summarise all but the last messages now, whatever the size of the conversation."""
    return drive(agent.conversation.compact_steps(keep_recent), agent.model)


def run_command(agent: Agent, line: str) -> CommandResult | None:
    """Do what a user typed; None if it is not one of the commands here.

    `/compact` summarises, `/compact toolcall` collects tool results; `/retry` takes back all after
    the last user message, `/revise` that message too, and both return what they took.
    """
    conversation = agent.conversation
    match line.split():
        case ["/compact"]:
            return compact_conversation(agent)
        case ["/compact", "toolcall"]:
            return conversation.compact_toolcall()
        case ["/retry"]:
            return conversation.pop_from_last_user_message(inclusive=False)
        case ["/revise"]:
            return conversation.pop_from_last_user_message(inclusive=True)
    return None
