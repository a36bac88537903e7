import random
import time
from dataclasses import dataclass, field

import pytest

from compaction.errors import ModelError, StrategyError
from compaction.history import View, generated
from compaction.llm import ModelCall, ModelReply, Usage
from compaction.messages import Message
from compaction.strategy import Promises
from evals.controls import Identity
from evals.prepare import prepare
from evals.replay import replay
from evals.transcripts import RecordedRequest, Segment, Transcript, single_segment

TOOL = {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}


def turns(n, word="word"):
    messages = [Message("system", "Be brief.")]
    for number in range(n):
        messages += [
            Message("user", f"{word} " * 20 + str(number)),
            Message("assistant", f"answer {number}"),
        ]
    return tuple(messages)


def transcript(*segments, **fields):
    return Transcript("example", tuple(segments), **fields)


@dataclass
class Recorder:
    """A strategy and compactor that keeps the last message and notes what it is told."""

    view: object = lambda history, request: View(history.entries(len(history) - 1))
    name: str = "recorder"
    version: str = "1"
    promises: Promises = field(default_factory=Promises)
    started: list = field(default_factory=list)

    def start(self, context):
        self.started.append(Started(self, context))
        return self.started[-1]


class Started:
    def __init__(self, strategy, context):
        self.strategy, self.context = strategy, context
        self.requests, self.histories, self.usages = [], [], []

    def steps(self, history, request):
        self.requests.append(request)
        self.histories.append(history.messages())
        made = self.strategy.view(history, request)
        if isinstance(made, View):
            yield from ()
            return made
        return (yield from made)

    def record_usage(self, usage):
        self.usages.append(usage)

    def recover(self, handle):
        return None


class Flaky:
    """A model whose outcomes are those of a list, one after the other."""

    name = "flaky"

    def __init__(self, *outcomes):
        self._outcomes, self.calls = list(outcomes), 0

    def complete(self, call):
        self.calls += 1
        outcome = self._outcomes.pop(0)
        if isinstance(outcome, ModelError):
            raise outcome
        return ModelReply(outcome)

    async def acomplete(self, call):
        return self.complete(call)


def run(prepared, strategy, model=None, **options):
    return list(replay(prepared, strategy, model or Flaky(), **options))


def test_a_compactor_is_told_the_calibrated_size_of_the_view_it_returned():
    messages = turns(8)
    plain = prepare(transcript(*single_segment(messages), tools=(TOOL,)))
    reported = [2 * request.counted_tokens + 1_000 for request in plain.requests]
    requests = tuple(
        RecordedRequest(2 + 2 * n, usage=Usage(tokens, 50 + n, cached_input_tokens=9))
        for n, tokens in enumerate(reported)
    )
    prepared = prepare(transcript(Segment(messages, requests), tools=(TOOL,)))
    strategy = Recorder()

    steps = run(prepared, strategy)

    # The view is one user message; each request is also the tools and the framing.
    sizes = [
        1_000 + 2 * (prepared.counter.count(messages[1 + 2 * n]) + prepared.fixed_tokens)
        for n in range(8)
    ]
    assert [step.tokens for step in steps] == pytest.approx(sizes)
    for started in strategy.started:
        assert started.usages == [
            Usage(size, 50 + n, unlogged_tokens=1_000) for n, size in enumerate(sizes)
        ]
        assert not {usage.input_tokens for usage in started.usages} & set(reported)


def test_identity_has_the_size_of_the_recorded_requests():
    prepared = prepare(transcript(*single_segment(turns(5))))

    steps = run(prepared, Identity())

    assert [step.tokens for step in steps] == [request.tokens for request in prepared.requests]
    assert [step.unchanged for step in steps] == [0, 2, 4, 6, 8]
    assert all(step.view == step.twin == View.of(step.history) for step in steps)


def test_unchanged_counts_the_leading_entries_that_are_as_before():
    def view(history, request):
        entries = history.entries()
        return View(
            (*entries[:2], generated("user", f"note {request.index}", [], "x"), entries[-1])
        )

    steps = run(prepare(transcript(*single_segment(turns(3)))), Recorder(view))

    assert [step.unchanged for step in steps] == [0, 2, 2]


def test_each_segment_starts_anew_and_shows_only_itself():
    first, second = single_segment(turns(2, "one"))[0], single_segment(turns(3, "two"))[0]
    strategy = Recorder()

    steps = run(prepare(transcript(first, second)), strategy)

    assert len(strategy.started) == 4
    assert [len(started.requests) for started in strategy.started] == [2, 2, 3, 3]
    assert [[r.index for r in s.requests] for s in strategy.started[1:3]] == [[0, 1], [0, 1, 2]]
    assert strategy.started[2].histories[-1] == second.messages[:6]
    assert [step.request.index for step in steps] == [0, 1, 2, 3, 4]
    assert [step.unchanged for step in steps] == [0, 0, 0, 0, 0]
    stores = {id(started.context.store) for started in strategy.started}
    assert len(stores) == 4


def test_a_compactor_is_told_what_was_recorded_of_the_request():
    segment = Segment(turns(1), (RecordedRequest(2, time=12.5, model="some-model"),))
    strategy = Recorder()

    run(
        prepare(transcript(segment, tools=(TOOL,))),
        strategy,
        seed=7,
        deadline=time.monotonic() + 99,
    )

    request, context = strategy.started[0].requests[0], strategy.started[0].context
    assert (request.index, request.time, request.model) == (0, 12.5, "some-model")
    assert request.tools == (TOOL,)
    assert context.seed == 7
    assert context.deadline is not None


def test_a_deterministic_strategy_has_an_equal_twin_and_another_has_not():
    prepared = prepare(transcript(*single_segment(turns(4))))

    def random_note(history, request):
        return View((generated("user", f"{random.random()}", [], "x"),))

    assert all(step.view == step.twin for step in run(prepared, Recorder()))
    assert all(step.view != step.twin for step in run(prepared, Recorder(random_note)))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (StrategyError("bad list"), "request 3: bad list"),
        (KeyError("content"), "request 3: KeyError: 'content'"),
        (ValueError("two\nlines"), "request 3: ValueError: two"),
        (AssertionError(), "request 3: AssertionError: "),
    ],
)
def test_a_strategy_that_raises_names_the_request_counted_over_all_segments(error, said):
    def view(history, request):
        if history[1].text.startswith("two") and request.index == 1:
            raise error
        return View.of(history)

    segments = [single_segment(turns(2, word))[0] for word in ("one", "two")]
    with pytest.raises(StrategyError) as caught:
        run(prepare(transcript(*segments)), Recorder(view))

    assert str(caught.value) == said


def test_a_strategy_that_fails_when_told_its_usage_names_the_request():
    class Deaf(Started):
        def record_usage(self, usage):
            raise ZeroDivisionError("no tokens")

    strategy = Recorder()
    strategy.start = lambda context: Deaf(strategy, context)

    with pytest.raises(StrategyError, match="request 0: ZeroDivisionError: no tokens"):
        run(prepare(transcript(*single_segment(turns(2)))), strategy)


def test_an_error_of_whoever_reads_the_steps_is_not_blamed_on_the_strategy():
    steps = replay(prepare(transcript(*single_segment(turns(2)))), Identity(), Flaky())

    next(steps)
    with pytest.raises(KeyError):
        steps.throw(KeyError("mine"))


def test_after_the_deadline_nothing_is_asked_and_the_request_is_named():
    strategy = Recorder()

    with pytest.raises(StrategyError, match="request 0: out of time"):
        run(prepare(transcript(*single_segment(turns(2)))), strategy, deadline=time.monotonic() - 1)

    assert strategy.started[0].requests == []


def asks_twice(history, request):
    """Ask for a summary, and once more if it failed or is empty."""
    call = ModelCall((Message("user", "Summarize."),))
    for _ in range(2):
        try:
            reply = yield call
        except ModelError:
            continue
        if reply.text:
            return View((generated("user", reply.text, [], "x"),))
    return View.of(history)


@pytest.mark.parametrize("first", [ModelError("refused"), ""])
def test_a_twin_fares_as_the_first_did_and_costs_no_call_of_its_own(first):
    model = Flaky(first, "good")

    (step,) = run(prepare(transcript(*single_segment(turns(1)))), Recorder(asks_twice), model)

    assert model.calls == 2
    assert [entry.message.text for entry in step.view.entries] == ["good"]
    assert step.twin == step.view


def test_a_model_that_never_answers_leaves_the_view_to_the_strategy():
    model = Flaky(*[ModelError("refused")] * 4)

    steps = run(prepare(transcript(*single_segment(turns(2)))), Recorder(asks_twice), model)

    assert model.calls == 4
    assert all(step.view == step.twin == View.of(step.history) for step in steps)
