"""Regret and dead tokens of views made by hand, and what a sidecar holds of the oracle."""

from dataclasses import dataclass, field
from typing import ClassVar

import pytest

from compaction.extractive import ExtractiveModel
from compaction.history import View
from compaction.messages import Message
from compaction.strategy import Promises
from evals.facts import find_facts
from evals.needs import find_needs
from evals.scorers import Material
from evals.scoring import score
from tests.needs_cases import in_segments, prepared, result, says, steps, user

FIRST, SECOND = "first_export_key", "second_export_key"
TALK = (
    Message("system", "Be brief and exact."),
    user("Find both."),
    says("", ("c1", "read_notes", {"n": 1})),
    result("c1", f"keep {FIRST} for the export of every night and for nothing else"),
    says("", ("c2", "read_notes", {"n": 2})),
    result("c2", f"keep {SECOND} for the report of every month and for nothing else"),
    *steps(4),
    says(f"Use {FIRST}."),
    says(f"Use {SECOND}."),
)
"""Results at 3 and 5, seen by requests 1 and 2 first; needed at requests 6 and 7."""


@dataclass(frozen=True)
class Without:
    """Leaves out given messages from a request on, and brings them back at another."""

    gone: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Message -> first request without it, first request that has it again."""
    name: ClassVar[str] = "without"
    version: ClassVar[str] = "1"
    promises: ClassVar[Promises] = Promises(mode="viewing")

    def start(self, context):
        return Views(self.gone)


@dataclass
class Views:
    gone: dict[int, tuple[int, int]]

    def steps(self, history, request):
        yield from ()
        absent = {at for at, (start, stop) in self.gone.items() if start <= request.index < stop}
        return View(tuple(e for e in history.entries() if e.origin.first not in absent))

    def record_usage(self, usage):
        return

    def recover(self, handle):
        return None


def measured(conversation, gone):
    material = Material(conversation, find_needs(conversation), find_facts(conversation))
    return score(material, Without(gone), ExtractiveModel())


def columns(gone, *messages):
    return measured(prepared(*(messages or TALK)), gone).columns


NEVER = 99


def test_who_keeps_all_has_no_regret():
    found = columns({})

    assert (found["reach"], found["oracle_reach"], found["regret"]) == (1.0, 1.0, 0.0)
    assert found["oracle_is_exact"] is True


def test_who_dropped_what_nobody_needed_has_no_regret():
    found = columns({7: (4, NEVER), 9: (5, NEVER)})

    assert (found["reach"], found["regret"]) == (1.0, 0.0)


def test_who_dropped_a_needed_result_and_kept_as_much_that_is_not_needed_regrets_it():
    """With the first result gone from request 4 on, the rest would have had room for it."""
    found = columns({3: (4, NEVER)})

    assert (found["reach"], found["oracle_reach"], found["regret"]) == (0.5, 1.0, 0.5)


def test_who_had_room_for_one_regrets_nothing_if_it_kept_one():
    """At request 5 all but the second result is gone, so one of two is the best there is."""
    everything = range(1, len(TALK))
    gone = {at: (5, NEVER) for at in everything if at != 5}

    found = columns(gone)

    assert (found["reach"], found["oracle_reach"], found["regret"]) == (0.5, 0.5, 0.0)


def test_the_instructions_are_no_room():
    """A prompt of hundreds of tokens that stays is not spent on messages."""
    prompt = Message("system", "Be brief and exact. " * 100)
    gone = dict.fromkeys(range(1, len(TALK)), (4, NEVER))
    size = prepared(*TALK).counter.count

    found = columns(gone, prompt, *TALK[1:])
    dropped = columns({0: (0, NEVER), **gone}, prompt, *TALK[1:])

    assert size(prompt) > 10 * size(TALK[3])
    assert (found["oracle_reach"], dropped["oracle_reach"]) == (0.0, 0.0)


def test_instructions_that_come_late_go_and_come_back_are_counted_as_they_stand():
    """Each prompt is far larger than the second result; room for it would show as reach."""
    prompt = Message("developer", "Be brief and exact. " * 100)
    talk = (*TALK[:6], prompt, *TALK[6:])
    gone = {at: (4, NEVER) for at in range(1, len(talk)) if at not in (5, 6)}

    stays = columns(gone, *talk)
    returns = columns({**gone, 6: (3, 4)}, *talk)

    assert (stays["oracle_reach"], stays["reach"]) == (0.5, 0.5)
    assert (returns["oracle_reach"], returns["reach"]) == (0.5, 0.5)


def test_where_nothing_is_needed_there_is_no_regret_to_tell():
    found = columns({}, *TALK[:4], *steps(4))

    assert "regret" not in found
    assert "oracle_reach" not in found


def test_budgets_are_counted_and_not_calibrated():
    """The oracle of a log whose provider reports twice the tokens has no more room."""
    from dataclasses import replace

    from evals.calibration import Calibration
    from evals.prepare import Prepared

    plain = prepared(*TALK)
    gone = {at: (5, NEVER) for at in range(1, len(TALK)) if at != 5}
    segment = replace(plain.segments[0], calibration=Calibration(2.0, 1000.0))
    doubled = Prepared(plain.transcript, plain.counter, (segment,), plain.fixed_tokens)

    assert measured(doubled, gone).columns["oracle_reach"] == 0.5


def size_of(*texts):
    count = prepared(*TALK).counter.count
    return [count(text) for text in texts]


def test_tokens_of_old_results_that_no_later_request_needs_are_dead():
    """Old from the fourth request that sees it on: result 3 at requests 4 to 7, dead at 7 only
    (needed at 6); result 5 at 5 to 7, needed at 7; the empty ones of requests 2 to 5 are seen
    from 3, 4, 5 and 6 on, so the first is old at 6 and 7, the second at 7, all of it dead.
    """
    first, second, ok = size_of(TALK[3], TALK[5], TALK[7])

    found = columns({})

    dead = first * 1 + ok * (2 + 1)
    sent = first * 4 + second * 3 + ok * (2 + 1)
    assert found["dead_token_fraction"] == pytest.approx(dead / sent)


def test_what_is_not_sent_is_not_dead():
    first, second, _ = size_of(TALK[3], TALK[5], TALK[7])
    gone = dict.fromkeys(range(7, len(TALK)), (4, NEVER))

    found = columns(gone)

    assert found["dead_token_fraction"] == pytest.approx(first / (first * 4 + second * 3))


def test_what_comes_back_counts_where_it_is_sent():
    """Result 3 is gone at requests 4 to 6 and there again at 7, when nobody needs it."""
    first, second, _ = size_of(TALK[3], TALK[5], TALK[7])
    gone = {3: (4, 7), **dict.fromkeys(range(7, len(TALK)), (4, NEVER))}

    found = columns(gone)

    assert found["dead_token_fraction"] == pytest.approx(first / (first + second * 3))


def test_without_any_old_result_there_is_no_share():
    assert columns({}, *TALK[:5])["dead_token_fraction"] is None
    gone = dict.fromkeys(range(1, len(TALK)), (4, NEVER))
    assert columns(gone)["dead_token_fraction"] is None


def test_segments_are_scored_by_themselves_and_together():
    found = measured(in_segments(TALK, TALK), {3: (4, NEVER)}).columns

    assert (found["reach"], found["oracle_reach"], found["regret"]) == (0.5, 1.0, 0.5)
    assert found["dead_token_fraction"] == columns({3: (4, NEVER)})["dead_token_fraction"]


def test_the_sidecar_has_the_curve():
    sidecar = measured(prepared(*TALK), {}).sidecar

    curve = sidecar["oracle_curve"]
    assert curve.keys() == {"saving_fraction", "reach"}
    assert len(curve["saving_fraction"]) == len(curve["reach"]) == 16
    assert curve["reach"][-1] == 1.0
