"""What an agent tells its listener while it works."""

from dataclasses import dataclass

from compaction.agent_tools import ToolOutcome
from compaction.llm import Usage
from compaction.messages import Message, ToolCall
from compaction.strategy import CompactionEvent


@dataclass(frozen=True, slots=True)
class SessionResumed:
    """A journal was read back."""

    messages: int
    requests: int
    model_calls_saved: int
    """Calls of the compactor that were answered from the journal."""


@dataclass(frozen=True, slots=True)
class ContextCompacted:
    """A compactor did something, or failed to; `event` says what."""

    event: CompactionEvent
    request: int


@dataclass(frozen=True, slots=True)
class RequestSent:
    request: int
    messages: int


@dataclass(frozen=True, slots=True)
class ReplyReceived:
    message: Message
    usage: Usage | None
    request: int


@dataclass(frozen=True, slots=True)
class ToolFinished:
    call: ToolCall
    outcome: ToolOutcome
    seconds: float


@dataclass(frozen=True, slots=True)
class RunFinished:
    text: str
    requests: int


AgentEvent = (
    SessionResumed | ContextCompacted | RequestSent | ReplyReceived | ToolFinished | RunFinished
)


def ignore(event: AgentEvent) -> None:
    """Listen to nothing."""
