"""Time that runs out: what it ends, what it leaves alone, and who is blamed for it."""

import gc
import signal
import time
from contextlib import suppress

import pytest

from compaction.contract.alarm import TimeIsUp, alarm
from compaction.contract.callables import as_strategy
from compaction.contract.search import Plan, search
from compaction.contract.targets import Given


class Remembering:
    """A target that remembers which conversations it was asked for, and does nothing."""

    def __init__(self):
        self.asked = []
        self.timers = []

    def strategy_for(self, messages, *, turn=0):
        self.asked.append(messages)
        self.timers.append(running())
        return as_strategy(lambda messages: messages)

    def parameters_for(self, messages, *, turn=0):
        return {}


def running():
    """Return the seconds until the timer rings, 0 if it is not set."""
    return signal.getitimer(signal.ITIMER_REAL)[0]


def drawn(**plan):
    target = Remembering()
    outcome = search(target, Plan(**plan))
    return target.asked[1:], outcome


def test_the_clock_runs_while_code_is_checked_and_stands_still_while_examples_are_drawn():
    target, between = Remembering(), []

    search(target, Plan(examples=5, heartbeat=lambda count: between.append(running())))

    assert between == [0.0] * 5
    assert all(0 < left <= Plan().budget_seconds for left in target.timers[1:])
    assert running() == 0


@pytest.mark.slow
def test_a_deadline_changes_nothing_that_is_drawn():
    whole, _ = drawn(examples=60)
    stopped = set()

    for attempt in range(20):
        seen, outcome = drawn(examples=60, budget_seconds=0.02 + attempt / 100)

        assert seen == whole[: len(seen)]
        assert outcome.broken == {}
        stopped.add(outcome.stopped is not None)

    assert any(stopped)


def test_no_time_at_all_is_up_at_once():
    with pytest.raises(TimeIsUp), alarm(0):
        pytest.fail("it was let in")


def wait_for(moment):
    while time.monotonic() < moment:
        pass


def test_an_alarm_that_is_swallowed_rings_again():
    began = time.monotonic()

    def swallow_one():
        with suppress(BaseException):
            wait_for(began + 30)
        wait_for(began + 30)

    with pytest.raises(TimeIsUp), alarm(0.02):
        swallow_one()

    assert 0.1 < time.monotonic() - began < 20
    assert running() == 0


def test_an_alarm_in_the_middle_of_a_garbage_collection_rings_after_it(capsys):
    began = time.monotonic()

    def dawdle(phase, info):
        wait_for(began + 0.1)

    def collect_and_wait():
        gc.collect()
        wait_for(began + 30)

    gc.callbacks.append(dawdle)
    try:
        with pytest.raises(TimeIsUp), alarm(0.02):
            collect_and_wait()
    finally:
        gc.callbacks.remove(dawdle)

    assert "Exception ignored" not in capsys.readouterr().err


def test_a_timer_of_somebody_else_is_left_alone():
    rung = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    signal.setitimer(signal.ITIMER_REAL, 30)
    try:
        with alarm(0.01):
            time.sleep(0.05)
        left = running()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert rung == []
    assert 0 < left <= 30


def test_time_that_runs_out_in_the_middle_of_a_search_blames_no_quick_call():
    def quick(messages):
        wait_for(time.monotonic() + 0.01)
        return messages

    outcome = search(Given(as_strategy(quick)), Plan(examples=10_000, budget_seconds=0.5))

    assert outcome.stopped == "the time budget of 0.5 s"
    assert outcome.broken == {}
