import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from compaction.contract.invariants import INVARIANTS
from compaction.contract.machine import BrokenInvariantsError, CompactionMachine

QUICK = settings(
    max_examples=100,
    stateful_step_count=12,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
)
"""Without shrinking, which is Hypothesis' own and takes most of the time."""


def find(strategy, **attributes):
    """Return what the machine finds, as text."""
    machine = type("Machine", (CompactionMachine,), {"strategy": strategy, **attributes})
    with pytest.raises(BrokenInvariantsError) as caught:
        run_state_machine_as_test(machine, settings=QUICK)
    return str(caught.value)


def passes(strategy, **attributes):
    machine = type("Machine", (CompactionMachine,), {"strategy": strategy, **attributes})
    run_state_machine_as_test(machine, settings=QUICK)


def keep_all(messages):
    return messages


def keep_the_last_three(messages):
    return messages[-3:]


class ForgetsAtTheSecondPass:
    """Turns the order round, but only if it has been asked before."""

    def __init__(self):
        self.asked = 0

    def view(self, messages):
        self.asked += 1
        return messages[::-1] if self.asked > 1 else messages


@pytest.mark.slow
def test_a_compactor_that_changes_nothing_passes():
    passes(keep_all)


def test_a_cut_between_call_and_result_is_found():
    assert "calls_stay_paired" in find(keep_the_last_three)


def test_a_fault_of_the_second_pass_is_found():
    ignored = frozenset(INVARIANTS) - {"order_is_kept"}

    assert "order_is_kept" in find(ForgetsAtTheSecondPass, ignored=ignored)


def test_to_resume_is_to_start_a_new_compactor_over_the_same_history():
    class Counting:
        made = 0

        def __init__(self):
            type(self).made += 1

        def view(self, messages):
            return messages

    machine = type("Machine", (CompactionMachine,), {"strategy": Counting})()
    machine.the_user_says("hi")
    made = Counting.made

    machine.resume()

    assert Counting.made == made + 1
    assert len(machine.history) == 1


def test_an_invariant_that_is_ignored_may_be_broken():
    text = find(keep_the_last_three)
    broken = frozenset(line.partition(":")[0] for line in text.splitlines())

    assert "calls_stay_paired" in broken
    assert "calls_stay_paired" not in find(
        keep_the_last_three, ignored=frozenset({"calls_stay_paired"})
    )


def test_a_machine_without_a_strategy_says_what_it_needs():
    with pytest.raises(TypeError, match="Forgotten needs a class attribute `strategy`"):
        type("Forgotten", (CompactionMachine,), {})()


class GivenMachine(CompactionMachine):
    strategy = keep_all


TestGivenMachine = GivenMachine.TestCase
"""As a user of the machine writes it."""
