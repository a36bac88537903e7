"""How a fact stands in a view: each status, by the definitions of needs."""

from types import SimpleNamespace

import pytest

from compaction.history import Entry, History, Origin
from compaction.messages import Message, messages_from_openai
from evals.fidelity.annotations import Fact
from evals.matcher.claims import compile_claim
from evals.probing.fact_status import status_of
from tests.probe_cases import conversation

MESSAGES = messages_from_openai(conversation())
HISTORY = History(MESSAGES[:6])
SAYS = "Host is new, port 9451."
PORT = Fact("port", "value", compile_claim([["9451"]], SAYS), 0, stated_at=3, judged_at=2)
SUMMARY = Origin("generated", ((0, 6),))


def step(*entries, recovered=None):
    compactor = SimpleNamespace(recover=lambda handle: recovered)
    return SimpleNamespace(
        history=HISTORY, view=SimpleNamespace(entries=entries), compactor=compactor
    )


def summary(text):
    return Entry(Message("user", text), SUMMARY)


def edited(text, handle=None):
    return Entry(
        Message("tool", text, tool_call_id="c0"), Origin("edited", ((3, 4),), handle=handle)
    )


@pytest.mark.parametrize(
    ("entries", "status"),
    [
        (HISTORY.entries(), "visible_source"),
        ((edited(MESSAGES[3].text),), "visible_source"),
        ((summary("The relay has a new host: it keeps its queue, port 9451."),), "restated"),
        ((edited("new host, the relay keeps port 9451"),), "restated"),
        ((summary("Values: 9451, WX-3318"),), "mentioned"),
        ((summary("Port 94510 on the host"),), "lost"),
        ((), "lost"),
    ],
)
def test_a_fact_has_the_best_status_that_applies(entries, status):
    assert status_of(PORT, step(*entries)) == status


def test_a_fact_behind_a_handle_is_recoverable_only_if_what_comes_back_holds_it():
    cleared = edited("[cleared]", handle="c0")

    assert status_of(PORT, step(cleared, recovered=MESSAGES[3].text)) == "recoverable"
    assert status_of(PORT, step(cleared, recovered="nothing")) == "lost"
    assert status_of(PORT, step(cleared, summary("9451"), recovered=SAYS)) == "recoverable"


def test_every_value_of_a_fact_is_wanted_in_one_text():
    both = Fact("both", "value", compile_claim([["9451"], ["new"]], SAYS), 0, 3, 2)

    assert status_of(both, step(summary("9451"), summary("new"))) == "lost"
    assert status_of(both, step(summary("9451, new"))) == "mentioned"
