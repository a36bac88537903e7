"""A fault put into the code of the invariants is noticed by the tests of the invariants."""

import os
import subprocess
import sys

import pytest

from tests.mutants import ROOT, mutants, sample

PARTS = 2
EXPLAINED = {
    "block_at: stop - position > MAX_BLOCK -> stop - position >= MAX_BLOCK": (
        "no conversation has a block of a thousand messages, and none of one more"
    ),
    "ProviderWatch._has_odd_ends: start is not self._legal_start and _start_rules(shown, profile)"
    " -> start is not self._legal_start or _start_rules(shown, profile)": (
        "where an end looks odd all of the view is looked at, which decides: only the price changes"
    ),
    "Standing._without_doubles: self.misplaced -> not self.misplaced": (
        "what goes and comes in one request is looked at again, with the same result"
    ),
}
"""Mutants that nothing can notice, with the reason."""


def verdicts(numbers):
    """Return number -> `noticed` or `survived`, from forks of a process of its own."""
    command = [sys.executable, "-m", "tests.mutants", *map(str, numbers)]
    environment = {**os.environ, "CI": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    pairs = (line.split() for line in done.stdout.splitlines())
    return {int(number): verdict for number, verdict in pairs}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_a_mutant_of_an_invariant_is_noticed_or_explained(part):
    every = mutants()
    chosen = sample()[part::PARTS]

    found = verdicts([len(every), *chosen])

    assert found.pop(len(every)) == "survived"
    survivors = [every[number].where for number in chosen if found[number] == "survived"]
    assert [where for where in survivors if where not in EXPLAINED] == []


def test_the_mutants_are_of_every_file_and_differ_from_it_in_one_place():
    every = mutants()

    assert len(every) > 300
    assert len({mutant.module for mutant in every}) > 12
    assert all(before != after for before, after in (m.where.split(" -> ")[:2] for m in every))
    assert 30 < len(sample()) < 90
