"""The agent of a recording: a view of the conversation, a request, the tools, and again.

`compaction.agent.Agent` decides itself when a turn ends; here the scenario does, request by
request. What answers a model call is up to the caller: an endpoint, or an author.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from compaction.agent import AGENT_PURPOSE
from compaction.agent_tools import CompactsOnRequest, Tool, Toolbox, result_message, tools_of
from compaction.history import History
from compaction.llm import ModelCall, ModelReply, run_steps
from compaction.messages import Message
from compaction.strategy import Context, Request, Strategy
from compaction.tokens import TiktokenCounter

Ask = Callable[[ModelCall], ModelReply]


class ScenarioAgent:
    """One conversation with tools in a scratch folder, under one strategy."""

    def __init__(
        self,
        ask: Ask,
        strategy: Strategy,
        tools: Sequence[Tool],
        *,
        model: str,
        system: str,
        root: Path,
        max_output_tokens: int | None = None,
    ) -> None:
        self.requests = 0
        self.compactions = 0
        """Views that a strategy had shortened in some way."""
        self._ask = ask
        self._model = model
        self._place = f"{root.parent}{os.sep}"
        self._max_output_tokens = max_output_tokens
        self._compactor = strategy.start(Context(TiktokenCounter()))
        own = tools_of(strategy, lambda handle: self._compactor.recover(handle), self._compact)
        self._toolbox = Toolbox((*tools, *own))
        self._history = History((Message("system", system),))

    def hear(self, message: Message) -> None:
        """Append what the user says."""
        self._history = self._history.extended((message,))

    def answer(self, *, time: float | None = None) -> ModelReply:
        """Make one request, run the tools that it calls, and return the reply.

        Args:
            time: Unix seconds, for strategies that compact after a pause.
        """
        schemas = self._toolbox.schemas()
        request = Request(index=self.requests, time=time, model=self._model, tools=schemas)
        view = run_steps(self._compactor.steps(self._history, request), self._ask)
        self.compactions += any(event.outcome == "applied" for event in view.events)
        call = ModelCall(
            view.messages,
            purpose=AGENT_PURPOSE,
            tools=schemas,
            max_output_tokens=self._max_output_tokens,
        )
        reply = self._ask(call)
        self.requests += 1
        if reply.usage is not None:
            self._compactor.record_usage(reply.usage)
        results = (
            result_message(call, self._toolbox.call(call).text.replace(self._place, ""))
            for call in reply.tool_calls
        )
        self._history = self._history.extended((reply.as_message(), *results))
        return reply

    def _compact(self, focus: str | None) -> None:
        if isinstance(self._compactor, CompactsOnRequest):
            self._compactor.request_compaction(focus)
