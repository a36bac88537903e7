"""Whether a model would act the same on a compacted view: recorded proposals, as columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from compaction.messages import Json, Messages
from compaction.model_wire import FIRST_SEED
from evals.answers import RecordedChat
from evals.fates import FateTracker
from evals.next_action import (
    SECOND_SEED,
    Action,
    action_call,
    agreement,
    read_action,
)
from evals.prepare import PreparedRequest, PreparedSegment
from evals.replay import Step


@dataclass
class Actor:
    """The recorded proposals of one model for one transcript."""

    book: RecordedChat
    segment: PreparedSegment
    requests: tuple[PreparedRequest, ...]
    tools: tuple[Json, ...]

    def propose(self, view: Messages, seed: int) -> tuple[bool, Action | None]:
        """Return whether something was recorded, and the proposal if it is one."""
        reply = self.book.find(action_call(view, self.tools, seed=seed))
        return reply is not None, None if reply is None else read_action(reply.text)

    @cached_property
    def uncompacted(self) -> dict[int, tuple[tuple[bool, Action | None], ...]]:
        """Return request index -> first and second proposal from the full history."""
        return {
            request.index: tuple(
                self.propose(
                    self.segment.history.prefix(request.recorded.position).messages(), seed
                )
                for seed in (FIRST_SEED, SECOND_SEED)
            )
            for request in self.requests
        }


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
        """Return agreements over the requests for which all three proposals were recorded.

        Requests at which the whole history is sent are left out: that would be the same request.
        """
        rows = [row for row in self._rows() if all(was_recorded for was_recorded, _ in row)]
        first, second, compacted = ([row[at][1] for row in rows] for at in range(3))
        same = agreement(first, second)
        kept = agreement(first, compacted)
        n = len(rows)
        return {
            "action_model": self._actor.book.name,
            "actions_asked": n,
            "actions_unrecorded": len(self._views) - n,
            "action_tool_fraction": kept.same_tool / n if n else None,
            "action_call_fraction": kept.same_call / n if n else None,
            "action_tool_beyond_aa": (kept.same_tool - same.same_tool) / n if n else None,
            "action_call_beyond_aa": (kept.same_call - same.same_call) / n if n else None,
        }

    def sections(self) -> Mapping[str, Any]:
        """Return, for each sampled request, which proposals agree with the first one."""
        indices = [request.index for request in self._actor.requests]
        names = ("request", "repeated", "compacted")
        return {
            "next_actions": [
                dict(zip(names, (index, _same(row[0], row[1]), _same(row[0], row[2])), strict=True))
                for index, row in zip(indices, self._rows(), strict=True)
            ]
        }

    def _rows(self) -> list[tuple[tuple[bool, Action | None], ...]]:
        actor = self._actor
        return [
            (
                *actor.uncompacted[request.index],
                actor.propose(view, FIRST_SEED)
                if (view := self._views.get(request.index)) is not None
                else (False, None),
            )
            for request in actor.requests
        ]


def _same(first: tuple[bool, Action | None], second: tuple[bool, Action | None]) -> str:
    if not first[0] or not second[0]:
        return "unrecorded"
    if first[1] is None or second[1] is None:
        return "no proposal"
    if first[1] == second[1]:
        return "same call"
    return "same tool" if first[1].tool == second[1].tool else "other tool"
