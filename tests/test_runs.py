"""Runs that are the same are scored once, and a request that only adds is judged rightly unseen."""

import itertools
import json
from collections import Counter
from dataclasses import asdict, replace

import pytest

from compaction.contract.invariants import Checker
from compaction.extractive import ExtractiveModel
from compaction.history import View, generated
from compaction.llm import ModelCall
from compaction.messages import Message
from compaction.strategy import CompactionEvent, Promises
from evals.facts import find_facts
from evals.fidelity.fates import FateTracker
from evals.loading import survey
from evals.money.price_choice import choose_prices
from evals.money.pricing import price_transcript
from evals.needs import find_needs
from evals.prepare import prepare
from evals.replay import Growth, replay
from evals.results import RunFolder
from evals.runs import Run, keyed
from evals.safety import SafetyScorer
from evals.scorers import Cell, Material
from evals.scoring import score_run
from evals.settings import Setting, bind, control_settings, expand
from evals.sweep import Plan, run_plan
from evals.synthetic import generate
from evals.transcripts import Transcript, single_segment, to_native
from tests.broken_compactors import BROKEN, CONVERSATION, ask_for, result
from tests.test_replay import Recorder, turns

LONG = prepare(Transcript("long", single_segment((*CONVERSATION[:-2], *CONVERSATION[1:]))))
GENERATED = prepare(generate(203))
OURS = [
    Setting("xun", {"token_threshold": "30%"}),
    Setting("my_pi_agent", {"context_budget": "40%"}),
    Setting("three_layer", {"context_limit_chars": "40%"}),
    *expand("clear_tool_results", {"keep_last_results": "2"}, {"trigger_tokens": ["none", "50%"]}),
    Setting("summarize", {"trigger_tokens": "40%"}),
    *control_settings()[:6],
]


def steps_of(prepared, strategy):
    return replay(prepared, strategy, ExtractiveModel())


def key_of(prepared, strategy):
    return keyed(steps_of(prepared, strategy), strategy.promises).key


def strategies():
    for setting in OURS:
        yield pytest.param(GENERATED, bind(setting, GENERATED), id=setting.label)
    for case in BROKEN:
        # Its call holds what cannot be remembered for the twin.
        if hasattr(case.target, "start") and case.target.name != "offer_tools":
            yield pytest.param(LONG, case.target, id=case.target.name)


def judged(steps, strategy, prepared):
    """Return what the scorer says, whose views that only grew are passed over."""
    scorer = SafetyScorer(Cell(Material(prepared, None, None), strategy))
    for step in steps:
        scorer.see(step, FateTracker(0))
    return scorer.columns(), scorer.sections()


class Plain:
    """Looks at every request, as the scorer would without passing over any."""

    def __init__(self, promises):
        self.checker = Checker(promises)
        self.found = []
        self.violated = Counter()

    def see(self, step):
        broken = self.checker.see(
            step.history,
            step.view,
            unchanged=step.unchanged,
            twin=step.twin,
            tokens_before=step.request.tokens,
            tokens_after=step.tokens,
            recover=step.compactor.recover,
        )
        self.violated.update({item.rule for item in broken})
        self.found += [{"request": step.request.index, **asdict(item)} for item in broken]


@pytest.mark.parametrize(("prepared", "strategy"), [*strategies()])
def test_what_is_passed_over_breaks_nothing(prepared, strategy):
    plain = Plain(strategy.promises)
    steps = []
    for step in steps_of(prepared, strategy):
        plain.see(step)
        steps.append(step)

    columns, sections = judged(steps, strategy, prepared)

    assert sections["violations"] == plain.found[: len(sections["violations"])]
    assert columns["violated"] == plain.violated


@pytest.mark.parametrize(("prepared", "strategy"), [*strategies()])
def test_requests_that_only_grew_are_scored_together_as_they_are_one_by_one(prepared, strategy):
    prices = price_transcript(prepared, choose_prices(None, None).of(prepared.transcript))
    material = Material(prepared, find_needs(prepared), find_facts(prepared), prices)
    steps = [*steps_of(prepared, strategy)]

    together, one_by_one = (
        score_run(Run(parts, None), material, strategy, show_text=True)
        for parts in (_together(steps), steps)
    )

    assert together.columns == one_by_one.columns
    assert together.sidecar == one_by_one.sidecar


def _together(steps):
    """Return the steps that did not only grow, and what grew from each of them as one part."""
    parts = []
    for is_growth, group in itertools.groupby(steps, key=lambda step: step.grew):
        group = [*group]
        if is_growth:
            requests, tokens = zip(*((each.request, each.tokens) for each in group), strict=True)
            parts.append(Growth(parts[-1], requests, tokens))
        else:
            parts += group
    return parts


def test_a_result_whose_call_is_gone_is_not_passed_over():
    """The result comes behind a message of its own, so that the view only grows by it."""
    messages = (
        Message("user", "Read the log."),
        ask_for(1),
        Message("user", "Is it long?"),
        Message("assistant", "I do not know yet."),
        result(1),
        Message("assistant", "It is."),
    )
    talk = prepare(Transcript("late", single_segment(messages)))
    event = CompactionEvent("rule", "applied", messages_removed=1)

    def without_the_call(history, request):
        kept = tuple(entry for entry in history.entries() if not entry.message.tool_calls)
        return View(kept, (event,) if request.index == 1 else ())

    strategy = Recorder(view=without_the_call)
    steps = [*steps_of(talk, strategy)]
    columns, _ = judged(steps, strategy, talk)

    assert [step.grew for step in steps] == [False, False, True]
    assert columns["violated"]["calls_stay_paired"] == 1


def test_most_requests_of_a_strategy_that_waits_are_passed_over():
    strategy = bind(Setting("xun", {"token_threshold": "60%"}), GENERATED)

    grown = [step.grew for step in steps_of(GENERATED, strategy)]

    assert sum(grown) > 0.9 * len(grown)


@pytest.mark.parametrize("setting", OURS, ids=lambda setting: setting.label)
def test_a_run_that_was_read_to_its_end_is_step_for_step_what_it_was(setting):
    strategy = bind(setting, GENERATED)
    before = list(steps_of(GENERATED, strategy))

    after = list(keyed(steps_of(GENERATED, strategy), strategy.promises).steps)

    assert len(before) == len(after)
    for one, other in zip(before, after, strict=True):
        assert (one.request, one.view, one.view.events) == (
            other.request,
            other.view,
            tuple(
                replace(event, model_calls=mine.model_calls)
                for event, mine in zip(other.view.events, one.view.events, strict=True)
            ),
        )
        assert (one.unchanged, one.tokens, one.grew) == (other.unchanged, other.tokens, other.grew)
        assert one.twin == other.twin
        assert len(one.history) == len(other.history)


def test_a_parameter_that_never_came_into_play_gives_the_same_key():
    settings = expand("xun", {"token_threshold": "60%"}, {"summary_keep_max": ["8", "16"]})

    first, second = (key_of(GENERATED, bind(setting, GENERATED)) for setting in settings)

    assert first is not None
    assert first == second


def test_what_is_sent_what_is_told_and_what_is_promised_are_in_the_key():
    talk = prepare(Transcript("talk", single_segment(turns(5))))
    event = CompactionEvent("rule", "applied")
    rules = [
        Recorder(view=lambda history, request: View(history.entries())),
        Recorder(view=lambda history, request: View(history.entries(1))),
        Recorder(view=lambda history, request: View(history.entries(), (event,))),
        Recorder(
            view=lambda history, request: View(history.entries(), (replace(event, reason="other"),))
        ),
        Recorder(
            view=lambda history, request: View(history.entries()),
            promises=Promises(keeps_system=True),
        ),
        Recorder(
            view=lambda history, request: View(
                (generated("user", "note", history.entries(0)[:1], "rule"), *history.entries(1))
            )
        ),
    ]

    keys = [key_of(talk, rule) for rule in rules]

    assert None not in keys
    assert len(set(keys)) == len(keys)


def test_a_run_that_need_not_be_the_same_again_has_no_key():
    talk = prepare(Transcript("talk", single_segment(turns(5))))
    numbers = itertools.count()

    def asking(history, request):
        yield ModelCall((Message("user", "Summarize."),))
        return View(history.entries())

    def drawing(history, request):
        note = generated("user", f"note {next(numbers)}", (), "rule")
        return View((*history.entries(), note))

    def lying(history, request):
        first, *others = history.entries()
        return View((first.edited(first.message, "rule", handle="nowhere"), *others))

    for view in (asking, drawing, lying):
        strategy = Recorder(view=view)
        run = keyed(steps_of(talk, strategy), strategy.promises)

        assert run.key is None
        assert len(list(run.steps)) == len(talk.requests)


@pytest.mark.slow
def test_a_row_that_was_taken_over_is_the_row_that_would_have_been_scored(tmp_path):
    path = tmp_path / "logs" / "log.json"
    path.parent.mkdir()
    path.write_text(json.dumps(to_native(generate(203))), encoding="utf-8")
    grid = {"summary_keep_max": ["8", "16"], "token_threshold": ["40%", "60%"]}
    settings = expand("xun", {}, grid)

    together = rows_of(settings, path, tmp_path / "together")
    alone = [
        rows_of([setting], path, tmp_path / f"alone-{number}")[0]
        for number, setting in enumerate(settings)
    ]

    assert together == alone


def rows_of(settings, path, out):
    folder = RunFolder(out)
    folder.create()
    rows = []
    run_plan(Plan(tuple(settings)), survey([path]).locations, folder, jobs=1, progress=rows.append)
    return [(replace(row, seconds=0.0), folder.sidecar(row.cell_id)) for row in rows]
