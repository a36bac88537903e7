"""What a definition says of limits is what the code has: no number stands in words alone."""

import pytest

from evals.extraction.statements import MAX_CONSTRAINTS, MIN_OVERLAP, MIN_WORDS
from evals.fidelity.survival import CLIFF_FRACTION, is_looked_at
from evals.matcher.restating import MIN_SHARED_WORDS
from evals.metrics import METRICS
from evals.money.recorded_bill import LOST_BELOW
from evals.needs import LONG_GAP_REQUESTS, MAX_EARLIER_BLOCKS, MAX_NEEDS_PER_REQUEST
from evals.probes import MAX_QUESTIONS, UNKNOWN
from evals.probing.boundaries import BOUNDARY
from evals.probing.next_action import ACTION_TEMPERATURE, MAX_SAMPLES
from evals.results import ENGAGED_FRACTION
from evals.settings import TRUNCATE_POINTS
from evals.stats import MIN_CLUSTERS
from tests.needs_cases import prepared, result, says, steps, user
from tests.rule_cases import scored, summarised

DEFINITIONS = {metric.name: metric.definition for metric in METRICS}
NUMBERS = {2: "two", 3: "three", 4: "four"}
ROUNDS = ", ".join(str(n) for n in range(1, 13) if is_looked_at(n))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("engaged", f"at least {ENGAGED_FRACTION:.0%}".replace("%", " %")),
        ("needs", f"in at most {MAX_EARLIER_BLOCKS} earlier messages"),
        ("needs", f"at most {MAX_NEEDS_PER_REQUEST} a request"),
        ("needs", f"of more than {LONG_GAP_REQUESTS} requests since"),
        ("reach", f"at least {NUMBERS[MIN_SHARED_WORDS]} informative words"),
        ("reach", f"Over gaps of more than {LONG_GAP_REQUESTS} requests"),
        ("matched_reach", f"between the {TRUNCATE_POINTS} sizes"),
        ("reach_difference", f"from {MIN_CLUSTERS} sessions on"),
        ("dead_token_fraction", f"more than {LONG_GAP_REQUESTS} requests, this one included"),
        ("dead_token_fraction", f"with more than {MAX_NEEDS_PER_REQUEST} needs counts"),
        ("constraints_kept_fraction", f"of at least {NUMBERS[MIN_WORDS]} words"),
        ("constraints_kept_fraction", f"at most {MAX_CONSTRAINTS} a segment"),
        ("constraints_kept_fraction", f"at least {MIN_OVERLAP:.0%}".replace("%", " %")),
        ("obligations_kept_fraction", f"at least {MIN_OVERLAP:.0%}".replace("%", " %")),
        ("cliff_round", {0.5: "less than half"}[CLIFF_FRACTION]),
        ("cliff_round", f"compactions {ROUNDS} and so on"),
        ("bill_error_fraction", {0.9: "less than nine tenths of the one before"}[LOST_BELOW]),
        ("probes", f"at least {BOUNDARY.replace('%', ' %')} of the largest"),
        ("probes", f"at most {MAX_QUESTIONS} a transcript"),
        ("probes", f"answer {UNKNOWN}"),
        ("action_call_fraction", f"at most {MAX_SAMPLES} a transcript"),
        ("action_call_fraction", f"at temperature {ACTION_TEMPERATURE}"),
    ],
)
def test_a_definition_names_the_limit_of_the_code(name, said):
    assert said in DEFINITIONS[name]


def test_what_counts_over_long_gaps_alone_says_so():
    names = ("reach", "lost", "undeclared", "mentioned", "stale_visible", "needs", "cliff_round")

    assert [name for name in names if "gaps" not in DEFINITIONS[name]] == []
    assert "all reached" in DEFINITIONS["matched_reach"]
    assert "Over all gaps" in DEFINITIONS["quote_kept_fraction"]


def test_a_need_that_is_visible_as_a_bare_word_is_mentioned_and_not_lost():
    path = "/srv/billing/ledger_export.log"
    talk = (
        user("Find it."),
        says("", ("c1", "read_notes", {"n": 1})),
        result("c1", f"the nightly export writes every booking into {path} before midnight"),
        *steps(4),
        says(f"I open {path}."),
    )

    found = scored(prepared(*talk), summarised(f"Seen: {path}")).columns

    assert (found["needs"], found["mentioned"], found["lost"]) == (1, 1, 0)
    assert "be it as a bare word" in DEFINITIONS["lost"]
