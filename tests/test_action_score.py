"""Agreement of proposals, minus the agreement of the model with itself."""

import json
from types import SimpleNamespace

from compaction.history import History, View
from compaction.llm import ModelReply
from compaction.messages import messages_from_openai
from evals.prepare import prepare
from evals.probing.action_score import ActionScorer, Actor
from evals.probing.boundaries import boundary_of
from evals.probing.next_action import SECOND_SEED, action_call, sampled_requests
from evals.transcripts import Transcript, single_segment
from tests.probe_cases import TOOL, conversation


def proposal(path):
    return ModelReply(json.dumps({"tool": "read", "arguments": {"path": path}}))


class Book:
    """Recorded proposals by view and seed."""

    name = "small-model"

    def __init__(self):
        self.replies = {}

    def record(self, view, seed, text):
        key = action_call(view, (TOOL,), seed=seed).messages, seed
        self.replies[key] = ModelReply(text) if text.startswith("I") else proposal(text)

    def failure_of(self, call):
        return None

    def find(self, call):
        return self.replies.get((call.messages, call.seed))


def scored(tell):
    """Score views that begin with the second message, after `tell` recorded proposals."""
    chat = messages_from_openai(conversation())
    prepared = prepare(Transcript("relay", single_segment(chat), tools=(TOOL,)))
    boundary = boundary_of(prepared, "50%")
    requests = sampled_requests(boundary)
    book = Book()
    histories = [chat[: request.recorded.position] for request in requests]
    tell(book, histories)
    scorer = ActionScorer(Actor(book, boundary.segment, requests, (TOOL,)))
    for request, history in zip(requests, histories, strict=True):
        view = View(History(history).entries()[1:])
        scorer.see(SimpleNamespace(request=request, view=view, history=History(history)), None)
    return scorer


def test_what_the_model_does_not_repeat_itself_is_not_put_down_to_the_view():
    def tell(book, histories):
        for history, again, compacted in zip(
            histories, ("a.txt", "b.txt"), ("a.txt", "c.txt"), strict=True
        ):
            book.record(history, 1, "a.txt")
            book.record(history, SECOND_SEED, again)
            book.record(history[1:], 1, compacted)

    columns = scored(tell).columns()

    # Of two requests: the same call at one from the compacted view, and at one when asked twice.
    assert (columns["actions_asked"], columns["actions_unrecorded"]) == (2, 0)
    assert columns["action_tool_fraction"] == 1.0
    assert columns["action_call_fraction"] == 0.5
    assert (columns["action_call_aa_fraction"], columns["action_tool_aa_fraction"]) == (0.5, 1.0)
    assert columns["action_call_beyond_aa"] == 0.0


def test_unrecorded_requests_are_left_out_and_prose_is_no_score():
    def tell(book, histories):
        first, second = histories
        for history in (first, second):
            book.record(history, 1, "a.txt")
            book.record(history, SECOND_SEED, "a.txt")
        book.record(first[1:], 1, "I would read a.txt.")

    scorer = scored(tell)
    columns = scorer.columns()

    counts = ("actions_asked", "actions_unrecorded", "actions_unreadable")
    assert [columns[name] for name in counts] == [0, 1, 1]
    assert columns["action_tool_fraction"] is None
    assert columns["action_tool_beyond_aa"] is None
    assert columns["action_fault"] == "request 2 over the view: no tool call as JSON"
    first, second = scorer.sections()["next_actions"]
    assert (first["repeated"], first["compacted"]) == ("same call", "no proposal")
    assert second["compacted"] == "unrecorded"


def test_a_view_that_is_the_whole_history_is_no_result_and_nothing_is_missing():
    chat = messages_from_openai(conversation())
    prepared = prepare(Transcript("relay", single_segment(chat), tools=(TOOL,)))
    requests = sampled_requests(boundary_of(prepared, "50%"))
    scorer = ActionScorer(Actor(Book(), prepared.segments[0], requests, (TOOL,)))
    for request in requests:
        whole = History(chat[: request.recorded.position])
        step = SimpleNamespace(request=request, view=View(whole.entries()), history=whole)
        scorer.see(step, None)

    columns = scorer.columns()

    assert (columns["actions_asked"], columns["actions_unrecorded"]) == (0, 0)
    assert {row["compacted"] for row in scorer.sections()["next_actions"]} == {"whole history"}


def test_without_recordings_there_is_no_number():
    columns = scored(lambda book, histories: None).columns()

    assert (columns["actions_asked"], columns["actions_unrecorded"]) == (0, 2)
    assert columns["action_call_fraction"] is None
