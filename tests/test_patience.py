"""Back-off, and when an endpoint is given up."""

import pytest

from compaction.errors import ModelError
from compaction.llm import ModelCall, ModelReply, ScriptedChat
from compaction.messages import Message
from evals.money.prices import Rates
from evals.probing import patience
from evals.probing.patience import MAX_TRIES, EndpointError, PatientChat, Watch
from evals.probing.spending import LimitedChat, Tariff

CALL = ModelCall((Message("user", "hello"),), max_output_tokens=10)


def failing(fate, wait=None):
    return ModelError(fate, fate=fate, retry_after_seconds=wait)


@pytest.fixture
def waits(monkeypatch):
    found = []
    monkeypatch.setattr(patience.time, "sleep", found.append)
    return found


def test_a_busy_endpoint_is_asked_again_after_as_long_as_it_says_or_ever_longer(waits):
    script = [failing("busy"), failing("busy", 7.0), failing("unreachable"), failing("busy", 1e6)]
    chat = PatientChat(ScriptedChat([*script, "at last"]))

    assert chat.complete(CALL).text == "at last"
    assert waits == [0.5, 7.0, 2.0, 120.0]
    assert chat.watch.failed == []


@pytest.mark.parametrize("fate", ["refused", "unanswered"])
def test_what_is_in_vain_or_may_have_been_charged_is_not_asked_again(waits, fate):
    live = ScriptedChat([failing(fate), "never asked"])

    with pytest.raises(ModelError):
        PatientChat(live).complete(CALL)

    assert len(live.calls) == 1
    assert waits == []


def test_patience_ends(waits):
    live = ScriptedChat([failing("busy")] * 9)

    with pytest.raises(ModelError, match="busy"):
        PatientChat(live).complete(CALL)

    assert len(live.calls) == MAX_TRIES
    assert sum(waits) == 0.5 + 1 + 2 + 4 + 8


def test_three_calls_in_a_row_end_a_recording_and_an_answer_between_them_does_not():
    script = [failing("unanswered")] * 2 + ["fine"] + [failing("unanswered")] * 3
    chat = PatientChat(ScriptedChat(script))

    raised = []
    for _ in script:
        try:
            chat.complete(CALL)
        except (ModelError, EndpointError) as error:
            raised.append(type(error))

    assert raised == [ModelError] * 4 + [EndpointError]
    assert len(chat.watch.failed) == 5


def test_calls_that_are_refused_say_nothing_of_the_endpoint():
    chat = PatientChat(ScriptedChat([failing("refused")] * 9))

    for _ in range(9):
        with pytest.raises(ModelError, match="refused"):
            chat.complete(CALL)


def test_a_wrong_key_ends_a_recording_at_once():
    with pytest.raises(EndpointError, match="denied"):
        PatientChat(ScriptedChat([failing("denied")])).complete(CALL)


def test_what_was_turned_away_costs_nothing_and_what_was_cut_off_counts_in_full(waits):
    dollar_a_token = Tariff(Rates(1e6, 0.0, 0.0, 1e6), "dear")
    script = [failing("busy")] * 3 + [failing("refused"), failing("unanswered")]
    limited = LimitedChat(ScriptedChat([*script, ModelReply("x")]), dollar_a_token, 100.0)
    chat, spent = PatientChat(limited, Watch()), []

    for _ in range(2):
        with pytest.raises(ModelError):
            chat.complete(CALL)
        spent.append(limited.purse.spent_usd)

    assert spent[0] == 0.0
    assert spent[1] >= 10.0
