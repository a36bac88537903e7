"""What an agent may be told besides its model and its strategy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from compaction.agent_events import AgentEvent, ignore
from compaction.agent_tools import Tool
from compaction.history import Measure
from compaction.llm import ChatModel
from compaction.store import MemoryStore, Store
from compaction.tokens import TiktokenCounter


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    tools: Sequence[Tool] = ()
    system_prompt: str | None = None
    """Opens a new session; a resumed one keeps its own."""
    summarizer: ChatModel | None = None
    """Answers the compactor's calls; None means the agent's own model."""
    store: Store = field(default_factory=MemoryStore)
    counter: Measure = field(default_factory=TiktokenCounter)
    window_tokens: int | None = None
    max_requests: int = 100
    """Model calls of one run; more is an error, so that a confused model comes to an end."""
    listen: Callable[[AgentEvent], None] = ignore
