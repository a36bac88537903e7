"""What the probes and the next actions of a transcript are asked from: views, questions, answers.

The same for replaying, for recording and for saying what a recording would cost.
"""

from compaction.llm import ChatModel
from evals.facts import FactSet
from evals.prepare import Prepared
from evals.probes import MAX_QUESTIONS, probes_of
from evals.probing.action_score import Actor
from evals.probing.boundaries import boundary_of
from evals.probing.next_action import ACTION_TEMPERATURE, sampled_requests
from evals.probing.probe_score import Reader
from evals.probing.recordings import ACTIONS, PROBES, Recordings


def reader_of(
    prepared: Prepared,
    facts: FactSet,
    recordings: Recordings,
    *,
    live: ChatModel | None = None,
    max_questions: int | None = MAX_QUESTIONS,
) -> Reader | None:
    """Return who answers the probes of a transcript; None if nothing can be asked about it."""
    boundary = boundary_of(prepared)
    if boundary is None:
        return None
    probes = probes_of(prepared, boundary, max_questions=max_questions)
    if not probes:
        return None
    return Reader(recordings.chat(PROBES, live=live), boundary, probes, facts)


def actor_of(
    prepared: Prepared, recordings: Recordings, *, live: ChatModel | None = None
) -> Actor | None:
    """Return who proposes next actions; None without a boundary, tools or calls after it."""
    boundary = boundary_of(prepared)
    tools = prepared.transcript.tools
    requests = sampled_requests(boundary) if boundary and tools else ()
    if boundary is None or not requests:
        return None
    book = recordings.chat(ACTIONS, temperature=ACTION_TEMPERATURE, live=live)
    return Actor(book, boundary.segment, requests, tools)
