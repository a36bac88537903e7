"""Whether a model would act the same on a compacted view: recorded proposals, as columns."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from compaction.messages import Json, Messages
from compaction.model_wire import FIRST_SEED
from evals.fidelity.fates import FateTracker
from evals.prepare import PreparedRequest, PreparedSegment
from evals.probing.answers import RecordedChat
from evals.probing.grading import fault_of
from evals.probing.next_action import (
    SECOND_SEED,
    Action,
    action_call,
    agreement,
    read_action,
)
from evals.replay import Step

WHOLE: Final = "whole history"
"""What a strategy sends that has done nothing by then: nobody is asked the same again."""
_NAMES: Final = ("uncompacted", "uncompacted again", "over the view")


@dataclass(frozen=True, slots=True)
class Proposal:
    """What was recorded for one view: a tool call, or why there is none."""

    action: Action | None = None
    fault: str | None = None
    is_recorded: bool = True


Proposals = tuple[Proposal, Proposal, Proposal]
"""From the full history, from it again, from the compacted view."""


@dataclass
class Actor:
    """The recorded proposals of one model for one transcript."""

    book: RecordedChat
    segment: PreparedSegment
    requests: tuple[PreparedRequest, ...]
    tools: tuple[Json, ...]

    def propose(self, view: Messages, seed: int) -> Proposal:
        """Return the recorded proposal, or why there is none."""
        call = action_call(view, self.tools, seed=seed)
        reply = self.book.find(call)
        if reply is None:
            return Proposal(fault=self.book.failure_of(call), is_recorded=False)
        action = None if reply.tool_names else read_action(reply.text)
        fault = fault_of(reply) or "no tool call as JSON"
        return Proposal(action, None if action is not None else fault)

    @cached_property
    def uncompacted(self) -> dict[int, tuple[Proposal, Proposal]]:
        """Return request index -> first and second proposal from the full history."""
        return {request.index: self._twice(request) for request in self.requests}

    def _twice(self, request: PreparedRequest) -> tuple[Proposal, Proposal]:
        full = self.segment.history.prefix(request.recorded.position).messages()
        return self.propose(full, FIRST_SEED), self.propose(full, SECOND_SEED)


class ActionScorer:
    """Compares proposals at the sampled requests."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._views: dict[int, Messages] = {}
        self._sampled = {request.index for request in actor.requests}

    def see(self, step: Step, fates: FateTracker) -> None:
        if step.request.index in self._sampled and step.view.messages != step.history.messages():
            self._views[step.request.index] = step.view.messages

    def columns(self) -> Mapping[str, Any]:
        """Return agreements over the requests for which all three proposals can be read.

        Requests at which the whole history is sent are left out: that would be the same request.
        """
        recorded = [row for row in self._rows().values() if all(one.is_recorded for one in row)]
        rows = [[one.action for one in row if one.action] for row in recorded]
        readable = [row for row in rows if len(row) == len(_NAMES)]
        same = agreement([row[0] for row in readable], [row[1] for row in readable])
        kept = agreement([row[0] for row in readable], [row[2] for row in readable])
        n = len(readable)
        return {
            "action_model": self._actor.book.name,
            "actions_asked": n,
            "actions_unrecorded": len(self._views) - len(recorded),
            "actions_unreadable": len(recorded) - n,
            "action_fault": next(self._faults(), None),
            "action_tool_fraction": kept.same_tool / n if n else None,
            "action_call_fraction": kept.same_call / n if n else None,
            "action_tool_aa_fraction": same.same_tool / n if n else None,
            "action_call_aa_fraction": same.same_call / n if n else None,
            "action_tool_beyond_aa": (kept.same_tool - same.same_tool) / n if n else None,
            "action_call_beyond_aa": (kept.same_call - same.same_call) / n if n else None,
        }

    def sections(self) -> Mapping[str, Any]:
        """Return, for each sampled request, which proposals agree with the first one."""
        return {
            "next_actions": [
                {
                    "request": index,
                    "repeated": _same(*row[:2]),
                    "compacted": _same(*row[::2]) if index in self._views else WHOLE,
                }
                for index, row in self._rows().items()
            ],
            "action_faults": list(self._faults()),
        }

    def _rows(self) -> dict[int, Proposals]:
        actor = self._actor
        return {
            request.index: (*actor.uncompacted[request.index], self._compacted(request))
            for request in actor.requests
        }

    def _compacted(self, request: PreparedRequest) -> Proposal:
        view = self._views.get(request.index)
        if view is None:
            return Proposal(is_recorded=False)
        return self._actor.propose(view, FIRST_SEED)

    def _faults(self) -> Iterator[str]:
        """Yield which replies are no proposals, and why."""
        for index, row in self._rows().items():
            for where, one in zip(_NAMES, row, strict=True):
                if one.fault is not None:
                    yield f"request {index} {where}: {one.fault}"


def _same(first: Proposal, second: Proposal) -> str:
    if not first.is_recorded or not second.is_recorded:
        return "unrecorded"
    if first.action is None or second.action is None:
        return "no proposal"
    if first.action == second.action:
        return "same call"
    return "same tool" if first.action.tool == second.action.tool else "other tool"
