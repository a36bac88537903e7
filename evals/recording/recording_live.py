"""A model behind an endpoint as the agent of a recording: whom it asks, when the user goes on."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from compaction.errors import CompactionError, ModelError
from compaction.llm import ChatModel, ModelCall, ModelReply, OpenAIChat
from evals.recording.recorder import KeptRecording
from evals.recording.scenario_agent import Ask, ScenarioAgent
from evals.recording.scenario_scratch import user_message
from evals.recording.scenarios import Scenario

RETRIES: Final = 5
"""Of one request: the client waits as long as `retry-after` says, up to its own limit."""
MAX_REQUESTS: Final = 50
"""Of one user turn."""

Say = Callable[[str], None]
"""Is told, in single lines, how it goes."""


class RecordingError(CompactionError):
    """A recording that could not go on; says what is kept and how to continue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveModel:
    """A model behind an OpenAI-compatible endpoint; its key comes from the environment."""

    name: str
    base_url: str | None = None
    temperature: float | None = None
    """None sends none."""
    max_output_tokens: int | None = None
    timeout_seconds: float = 600.0
    """For one answer."""

    def chat(self) -> OpenAIChat:
        return OpenAIChat(
            self.name,
            base_url=self.base_url,
            timeout_seconds=self.timeout_seconds,
            max_retries=RETRIES,
            temperature=self.temperature,
        )


def asking(chat: ChatModel, recording: KeptRecording, say: Say) -> Ask:
    """Return what asks the endpoint and keeps the answer; any failure ends the recording.

    A strategy would go on without a summary, but then the cassette could not be replayed.
    """

    def ask(call: ModelCall) -> ModelReply:
        try:
            reply = chat.complete(call)
        except ModelError as error:
            raise _broken_off(str(error), recording) from error
        was_sent = recording.keep()
        if recording.difference:
            say(f"not sent as before, so it is sent again: {recording.difference}")
        if was_sent:
            tokens = f"{reply.usage.input_tokens:,} tokens in" if reply.usage else "no usage"
            say(f"answer {recording.answers}: {call.purpose}, {tokens}, {_gist(reply)}")
        return reply

    return ask


def _broken_off(problem: str, recording: KeptRecording) -> RecordingError:
    kept = f"{recording.answers} answers are kept, the same command continues"
    return RecordingError(f"{problem}; {kept if recording.answers else 'nothing was recorded'}")


def _gist(reply: ModelReply) -> str:
    return f"{len(reply.tool_calls)} calls" if reply.tool_calls else f"{len(reply.text)} characters"


def follow_model(
    agent: ScenarioAgent, scenario: Scenario, root: Path, max_requests: int, say: Say
) -> None:
    """Send the user's turns in order, each when the one before is answered or takes too long."""
    turns = [step.user for step in scenario.steps if step.user is not None]
    for number, turn in enumerate(turns, 1):
        agent.hear(user_message(turn, root))
        # A recording has no pauses, so strategies that wait for one are given no time.
        if not any(not agent.answer().tool_calls for _ in range(max_requests)):
            say(f"user turn {number} of {len(turns)}: no answer after {max_requests} requests")
