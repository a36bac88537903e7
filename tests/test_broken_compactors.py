"""Each known fault is named by exactly the invariants for it, and each invariant names a fault."""

import pytest

from compaction.contract.callables import as_strategy
from compaction.contract.invariants import INVARIANTS
from compaction.contract.suite import check_conversation
from tests.broken_compactors import BROKEN, CONVERSATION


def name_of(case):
    return getattr(case.target, "name", None) or case.target.__name__


@pytest.mark.parametrize("case", BROKEN, ids=name_of)
def test_a_fault_is_named_by_exactly_the_invariants_for_it(case):
    strategy = as_strategy(case.target, promises=case.promises)

    findings = check_conversation(strategy, CONVERSATION, profile=case.profile)

    assert findings.broken == case.named
    assert case.named <= findings.applicable


def test_every_invariant_names_a_fault():
    assert set().union(*(case.named for case in BROKEN)) == INVARIANTS.keys()
