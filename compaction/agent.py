"""The smallest agent loop that uses a compaction strategy: view, model, usage, tools, again.

`Agent.run` and `Agent.arun` drive one generator of steps, which does no I/O itself except to write
its journal. With a journal in a file, a killed process goes on where it was: views that were made
before are made again from recorded replies, so no summary is paid for twice.
"""

import time
from collections import deque
from collections.abc import Generator
from typing import Final

from compaction.agent_events import (
    AgentEvent,
    ContextCompacted,
    ReplyReceived,
    RequestSent,
    RunFinished,
    SessionResumed,
    ToolFinished,
)
from compaction.agent_journal import (
    Journal,
    MemoryJournal,
    Recording,
    Step,
    header,
    message_record,
    read_recording,
    reply_record,
    view_record,
)
from compaction.agent_settings import AgentSettings
from compaction.agent_tools import (
    CompactsOnRequest,
    Toolbox,
    ToolOutcome,
    result_message,
    tools_of,
)
from compaction.errors import ModelError, SessionError, StrategyError
from compaction.history import History, View
from compaction.llm import ChatModel, ModelCall, ModelReply, Usage, arun_steps, run_steps
from compaction.messages import Message, ToolCall
from compaction.pairing import pair
from compaction.strategy import Context, Request, Strategy

AGENT_PURPOSE: Final = "agent"
"""Marks the agent's own calls; a compactor's have other purposes."""
INTERRUPTED: Final = (
    "error: the process was stopped before this tool finished; whether it took effect is unknown"
)
"""Answers a call whose result was not recorded before the process was killed."""


Action = ModelCall | ToolCall
Answer = ModelReply | ToolOutcome
Actions = Generator[Action, Answer, str]


class Agent:
    """One conversation with a model that has tools, under one strategy.

    Raises:
        SessionError: the journal is damaged, foreign, or of another strategy.
    """

    def __init__(
        self,
        model: ChatModel,
        strategy: Strategy,
        *,
        settings: AgentSettings | None = None,
        journal: Journal | None = None,
    ) -> None:
        self.settings = settings or AgentSettings()
        self.history = History()
        self._model = model
        self._summarizer = self.settings.summarizer or model
        self._journal = journal or MemoryJournal()
        self._context = Context(counter=self.settings.counter, store=self.settings.store)
        self._strategy = strategy
        self._compactor = strategy.start(self._context)
        own_tools = tools_of(strategy, lambda handle: self._compactor.recover(handle), self.compact)
        self._toolbox = Toolbox((*self.settings.tools, *own_tools))
        self._requests = 0
        self._recorded: deque[Step] = deque()
        self._requested: list[str | None] = []
        self._is_whole = True
        """False while the compactor may know something that the journal does not."""
        self._open()

    def run(self, prompt: str | None = None) -> str:
        """Work until the model answers without calling a tool, and return that answer.

        Args:
            prompt: None goes on with a turn that was interrupted.

        Raises:
            ModelError: the model failed; the conversation is kept, `run()` tries again.
            SessionError: the journal could not be written; `run()` goes on from what it holds.
        """
        return run_steps(self.steps(prompt), self._perform)

    async def arun(self, prompt: str | None = None) -> str:
        """Do what `run` does, awaiting the model and the tools."""
        return await arun_steps(self.steps(prompt), self._aperform)

    def compact(self, focus: str | None = None) -> None:
        """Have the next request compacted, as a user's `/compact` does.

        Raises:
            StrategyError: the strategy compacts by its own rules only.
        """
        if not isinstance(self._compactor, CompactsOnRequest):
            raise StrategyError("this strategy cannot be told to compact; it follows its own rules")
        self._journal.append({"type": "compact", "focus": focus})
        self._requested.append(focus)

    def steps(self, prompt: str | None = None) -> Actions:
        """Yield model calls and tool calls, and return the final answer; the drivers answer."""
        if not self._is_whole:
            self._restart()
        self._close_interrupted_calls()
        if prompt is not None:
            self._append(Message("user", prompt))
        elif (answer := self._final_answer()) is not None:
            return answer
        for _ in range(self.settings.max_requests):
            reply = yield from self._request()
            message = reply.as_message()
            self._append(message, reply.usage)
            if reply.usage is not None:
                self._compactor.record_usage(reply.usage)
            self._requests += 1
            self._tell(ReplyReceived(message, reply.usage, self._requests - 1))
            if not message.tool_calls:
                self._tell(RunFinished(reply.text, self._requests))
                return reply.text
            for call in message.tool_calls:
                yield from self._use(call)
        raise ModelError(
            f"no final answer after {self.settings.max_requests} requests; raise `max_requests` "
            "or call `run()` to go on"
        )

    def _request(self) -> Generator[Action, Answer, ModelReply]:
        self._is_whole = False
        view = yield from self._view()
        self._is_whole = True
        self._tell(RequestSent(self._requests, len(view)))
        call = ModelCall(view.messages, purpose=AGENT_PURPOSE, tools=self._toolbox.schemas())
        return (yield from _ask(call))

    def _use(self, call: ToolCall) -> Generator[Action, Answer, None]:
        started = time.perf_counter()
        outcome = yield call
        if not isinstance(outcome, ToolOutcome):
            raise TypeError(f"a tool call was answered by {type(outcome).__name__}")
        self._append(result_message(call, outcome.text))
        self._tell(ToolFinished(call, outcome, time.perf_counter() - started))

    def _view(self) -> Generator[Action, Answer, View]:
        """Make the view of the history as it is now, after the recorded ones.

        A view that was recorded for just this history is made from its replies and not recorded
        again: the process was killed between it and the answer to its request.
        """
        while self._recorded:
            step = self._recorded.popleft()
            view = yield from self._relayed(step, is_recorded=True)
            if step.usage is not None:
                self._compactor.record_usage(step.usage)
            if not self._recorded and step.length == len(self.history):
                return view
        step = Step(len(self.history), self._requests, time.time(), self._requested)
        self._requested = []
        self._journal.append(view_record(step))
        return (yield from self._relayed(step, is_recorded=False))

    def _relayed(self, step: Step, *, is_recorded: bool) -> Generator[Action, Answer, View]:
        """Run the compactor for one view: recorded replies first, then the model's."""
        if isinstance(self._compactor, CompactsOnRequest):
            for focus in step.compactions:
                self._compactor.request_compaction(focus)
        recorded, asked_model = deque(step.replies), False
        request = Request(
            index=step.request,
            time=step.time,
            model=self._model.name,
            window_tokens=self.settings.window_tokens,
            tools=self._toolbox.schemas(),
        )
        steps = self._compactor.steps(self.history.prefix(step.length), request)
        try:
            call = next(steps)
            while True:
                asked_model = not recorded
                try:
                    reply = yield from self._answered(call, recorded)
                except ModelError as error:
                    call = steps.throw(error)
                else:
                    call = steps.send(reply)
        except StopIteration as stop:
            view: View = stop.value
        if not is_recorded or asked_model:
            for event in view.events:
                self._tell(ContextCompacted(event, step.request))
        return view

    def _answered(
        self, call: ModelCall, recorded: deque[ModelReply | str]
    ) -> Generator[Action, Answer, ModelReply]:
        if recorded:
            reply = recorded.popleft()
            if isinstance(reply, str):
                raise ModelError(reply)
            return reply
        if self._recorded:
            raise SessionError(
                f"{self._journal.place}: the strategy asks for a {call.purpose} that was not "
                "recorded; it is not deterministic, so this session cannot go on"
            )
        try:
            reply = yield from _ask(call)
        except ModelError as error:
            self._journal.append({"type": "reply_error", "error": str(error)})
            raise
        self._journal.append(reply_record(reply))
        return reply

    def _open(self) -> None:
        """Begin a session or go on with the one in the journal."""
        recording = read_recording(self._journal, self._strategy)
        if recording is None:
            self._journal.append(header(self._strategy))
        else:
            calls = self._take_up(recording)
            self._tell(SessionResumed(len(self.history), self._requests, calls))
        if not len(self.history) and self.settings.system_prompt is not None:
            self._append(Message("system", self.settings.system_prompt))

    def _restart(self) -> None:
        """Become what a new process would make of the journal: something failed half-way."""
        self._compactor = self._strategy.start(self._context)
        self._take_up(read_recording(self._journal, self._strategy) or Recording())
        self._is_whole = True

    def _take_up(self, recording: Recording) -> int:
        """Go on with a session; return how many model calls of the compactor it holds."""
        self.history = History(recording.messages)
        self._recorded = deque(recording.steps)
        self._requested = recording.compactions
        self._requests = sum(message.role == "assistant" for message in recording.messages)
        return sum(len(step.replies) for step in recording.steps)

    def _close_interrupted_calls(self) -> None:
        for _, call in pair(self.history.messages()).open_calls:
            self._append(result_message(call, INTERRUPTED))

    def _final_answer(self) -> str | None:
        """Return the answer that a finished turn ended with, None if there is a turn to go on with.

        Raises:
            ValueError: nothing was said yet.
        """
        if self.history.last_user_position() is None:
            raise ValueError("nothing to go on with; give a prompt")
        last = self.history[-1]
        return last.text if last.role == "assistant" and not last.tool_calls else None

    def _append(self, message: Message, usage: Usage | None = None) -> None:
        self._is_whole = False
        self._journal.append(message_record(message, usage))
        self.history = self.history.extended((message,))
        self._is_whole = True

    def _tell(self, event: AgentEvent) -> None:
        self.settings.listen(event)

    def _perform(self, action: Action) -> Answer:
        if isinstance(action, ToolCall):
            return self._toolbox.call(action)
        return self._model_for(action).complete(action)

    async def _aperform(self, action: Action) -> Answer:
        if isinstance(action, ToolCall):
            return await self._toolbox.acall(action)
        return await self._model_for(action).acomplete(action)

    def _model_for(self, call: ModelCall) -> ChatModel:
        return self._model if call.purpose == AGENT_PURPOSE else self._summarizer


def _ask(call: ModelCall) -> Generator[Action, Answer, ModelReply]:
    reply = yield call
    if not isinstance(reply, ModelReply):
        raise TypeError(f"a model call was answered by {type(reply).__name__}")
    return reply
