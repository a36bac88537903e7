"""Strategies that compact once, at a fixed boundary, so that a model's summary can be recorded.

Where they compact depends on the conversation alone (`evals.probing.boundaries`); with that and the
prompt a recorded summary is found again. The layout around it is that of the system whose prompt it
is.
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, Literal

from compaction.errors import ModelError
from compaction.extractive import ExtractiveModel
from compaction.history import Entries, History, View
from compaction.llm import ModelCall, ModelReply, Steps, Usage, drive
from compaction.messages import Message, Messages
from compaction.model_wire import FIRST_SEED
from compaction.prompts import PlainPrompt, escape, render_conversation
from compaction.strategy import Compactor, Context, Promises, Request
from compaction.systems.my_pi_agent_strategy import MyPiAgent
from compaction.systems.three_layer_strategy import ThreeLayer
from compaction.systems.xun_prompts import COMPACTED_SYSTEM_PROMPT, XunSummaryPrompt
from compaction.tiers.clear_tool_results import ClearToolResults
from compaction.tiers.summarize import Summarize
from evals.pair import Answered
from evals.probing.boundaries import is_reached

PromptName = Literal["xun", "my_pi_agent", "three_layer", "plain", "headings"]
PROMPT_NAMES: Final[tuple[PromptName, ...]] = (
    "headings",
    "plain",
    "three_layer",
    "xun",
    "my_pi_agent",
)
MAX_SUMMARY_TOKENS: Final = 512
"""About a third of what stands before the boundary in the bundled short conversations."""
BARE_REQUEST: Final = "Summarize the conversation above."


@dataclass(frozen=True, slots=True)
class BarePrompt:
    """What somebody writes who gives no thought to it: no headings, no rules but the tags'."""

    def build(
        self,
        subject: Messages,
        *,
        previous_summary: str | None = None,
        focus: str | None = None,
        left_out: int = 0,
    ) -> ModelCall:
        blocks = [render_conversation(subject, left_out=left_out)]
        if previous_summary is not None:
            blocks.insert(0, f"<previous-summary>\n{escape(previous_summary)}\n</previous-summary>")
        blocks.append(BARE_REQUEST)
        return ModelCall(
            (Message("user", "\n\n".join(blocks)),),
            subject=subject,
            previous_summary=previous_summary,
            focus=focus,
        )

    def parse(self, text: str) -> str:
        return text.strip()


@dataclass(frozen=True, slots=True)
class SummaryOnce:
    """Replaces all that was said before the boundary by one summary, and appends from then on.

    Layout and guard are those of the system whose prompt is used; `plain` and `headings` put the
    summary after the instructions, as a user message.
    """

    prompt: PromptName = "headings"
    by: Literal["model", "extractive"] = "model"
    """`extractive`: made of the conversation's own lines for the same headings, without a model."""
    at_tokens: int = field(default=32_000, metadata={"unit": "counted_tokens"})
    max_summary_tokens: int = MAX_SUMMARY_TOKENS
    replicate: int = 0
    """Asked for under a seed of its own, so that summaries of the same messages can differ; the
    others are replicates of this one and not contestants."""
    name: ClassVar[str] = "summary_once"
    version: ClassVar[str] = "1"
    promises: ClassVar[Promises] = Promises(mode="rewriting", raises_roles=True)

    def __post_init__(self) -> None:
        for parameter in ("at_tokens", "max_summary_tokens"):
            if getattr(self, parameter) < 1:
                raise ValueError(f"{parameter} must be >= 1, got {getattr(self, parameter)}")
        if self.replicate < 0:
            raise ValueError(f"replicate must be >= 0, got {self.replicate}")

    @property
    def is_recorded(self) -> bool:
        """Whether its calls are answered from recordings where no model is named."""
        return self.by == "model"

    def start(self, context: Context) -> Compactor:
        return _Once(self, context)

    def compact(self, view: View, context: Context, writer: "_Writer") -> Steps[View]:
        """Return the view with the summary; unchanged if there was none to be had."""
        steps = self.tier().steps(view, context)
        if self.replicate:
            steps = _under_seed(steps, FIRST_SEED + self.replicate)
        if self.by == "extractive":
            return drive(steps, writer)
        return (yield from steps)

    def tier(self) -> Summarize:
        """Return what the system whose prompt it is summarises with."""
        limit = self.max_summary_tokens
        if self.prompt == "my_pi_agent":
            return MyPiAgent(max_summary_tokens=limit).summarize_tier()
        if self.prompt == "three_layer":
            return ThreeLayer(max_summary_tokens=limit).full(focus=None, recent_files=())
        if self.prompt == "xun":
            return Summarize(
                hoist_last_user=True,
                place="system",
                role="system",
                template=COMPACTED_SYSTEM_PROMPT,
                merge="reread",
                prompt=XunSummaryPrompt(),
                max_summary_tokens=limit,
            )
        prompt = PlainPrompt() if self.prompt == "headings" else BarePrompt()
        return Summarize(prompt=prompt, max_summary_tokens=limit)


def _under_seed(steps: Steps[View], seed: int) -> Steps[View]:
    """Pass calls and replies through, each call with a seed."""
    try:
        call = next(steps)
        while True:
            try:
                reply = yield replace(call, seed=seed)
            except ModelError as error:
                call = steps.throw(error)
            else:
                call = steps.send(reply)
    except StopIteration as stop:
        view: View = stop.value
        return view


@dataclass(frozen=True, slots=True)
class ClearOnce:
    """Clears all but the last tool results when the boundary is reached, and none after it."""

    keep_last_results: int = 1
    at_tokens: int = field(default=32_000, metadata={"unit": "counted_tokens"})
    name: ClassVar[str] = "clear_once"
    version: ClassVar[str] = "1"
    promises: ClassVar[Promises] = Promises(
        mode="rewriting", keeps_system=True, keeps_last_user=True
    )

    def __post_init__(self) -> None:
        if self.keep_last_results < 0 or self.at_tokens < 1:
            raise ValueError("keep_last_results must be >= 0 and at_tokens >= 1")

    def start(self, context: Context) -> Compactor:
        return _Once(self, context)

    def compact(self, view: View, context: Context, writer: "_Writer") -> Steps[View]:
        yield from ()
        return ClearToolResults(keep_last_results=self.keep_last_results).apply(view, context)


class _Writer:
    """The extractive summariser, and what it was asked: a strategy pays for it as for a model."""

    def __init__(self) -> None:
        self._model = ExtractiveModel()
        self._answered: list[Answered] = []
        self.name = self._model.name

    def complete(self, call: ModelCall) -> ModelReply:
        reply = self._model.complete(call)
        self._answered.append((call, reply))
        return reply

    async def acomplete(self, call: ModelCall) -> ModelReply:
        return self.complete(call)

    def take_answered(self) -> tuple[Answered, ...]:
        answered = tuple(self._answered)
        self._answered.clear()
        return answered


@dataclass(slots=True)
class _Once:
    """Compacts at the first request that reaches the boundary, then only appends."""

    strategy: SummaryOnce | ClearOnce
    context: Context
    _kept: Entries = ()
    _seen: int = 0
    _is_done: bool = False
    _writer: _Writer = field(default_factory=_Writer)

    def steps(self, history: History, request: Request) -> Steps[View]:
        view = View(self._kept + history.entries(self._seen))
        reached = is_reached(history, self.context.counter, self.strategy.at_tokens)
        if reached and not self._is_done:
            view = yield from self.strategy.compact(view, self.context, self._writer)
            self._is_done = True
        self._kept, self._seen = view.entries, len(history)
        return view

    def record_usage(self, usage: Usage) -> None:
        return

    def recover(self, handle: str) -> str | None:
        return None

    def take_answered(self) -> tuple[Answered, ...]:
        return self._writer.take_answered()
