"""What a call may cost, and the limit that holds it back."""

import pytest

from compaction.errors import ModelError
from compaction.llm import ModelCall, ModelReply, ScriptedChat, Usage
from compaction.messages import Message
from evals.money.prices import Rates
from evals.probing.spending import BudgetError, LimitedChat, Tariff, seconds_per_token, tariff_of

CALL = ModelCall((Message("user", "hello"),), max_output_tokens=10)
DOLLAR_A_TOKEN = Tariff(Rates(1e6, 0.0, 0.0, 1e6), "dear")


def reply(tokens_in, tokens_out, seconds=0.0):
    return ModelReply("x", usage=Usage(tokens_in, tokens_out), seconds=seconds)


def test_the_most_that_a_call_can_cost_is_held_against_the_limit_and_what_it_cost_is_paid():
    # At most 17: 4 for the message, 3 for the request, 10 of output. 7 are paid: 7 + 17 is within
    # the limit, 14 + 17 is not.
    chat = LimitedChat(ScriptedChat([reply(5, 2), reply(5, 2)]), DOLLAR_A_TOKEN, 30.0)

    chat.complete(CALL)
    assert chat.purse.spent_usd == 7.0
    chat.complete(CALL)
    assert chat.purse.spent_usd == 14.0
    with pytest.raises(BudgetError, match=r"\$14.0000 spent"):
        chat.complete(CALL)


def test_two_who_share_a_purse_share_the_limit():
    first = LimitedChat(ScriptedChat([reply(20, 5)]), DOLLAR_A_TOKEN, 30.0)
    second = first.sharing(ScriptedChat([reply(1, 1)]))

    first.complete(CALL)

    with pytest.raises(BudgetError):
        second.complete(CALL)


def test_a_failed_call_counts_as_paid_and_as_no_answer():
    chat = LimitedChat(ScriptedChat([ModelError("cut off")]), DOLLAR_A_TOKEN, 100.0)

    with pytest.raises(ModelError):
        chat.complete(CALL)

    assert chat.purse.spent_usd >= 10.0
    assert chat.purse.calls == 0


def test_a_limit_needs_a_price():
    with pytest.raises(BudgetError, match="no list price for own-model"):
        LimitedChat(ScriptedChat([]), tariff_of("own-model", "https://llm.example/v1"), 1.0)


def test_nothing_is_charged_on_this_machine_and_a_listed_model_has_its_price():
    assert tariff_of("gpt-4o", "http://127.0.0.1:8091/v1").usd(1e6, 1e6) == 0.0
    assert tariff_of("gpt-4o", None).usd(1e6, 0.0) > 0.0


def test_the_pace_is_over_all_tokens_of_timed_replies():
    # (6 + 4) seconds for (30 + 20) tokens.
    assert seconds_per_token([reply(20, 10, 6.0), reply(15, 5, 4.0), reply(9, 9)]) == 0.2
    assert seconds_per_token([reply(9, 9)]) is None
