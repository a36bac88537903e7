"""Which prices a transcript gets."""

import json

import pytest

from compaction.llm import Usage
from compaction.messages import Message
from evals.money.price_choice import DEFAULT_MODEL, PriceChoice, choose_prices
from evals.money.prices import PriceError
from evals.transcripts import RecordedRequest, Segment, Transcript
from tests.cost_cases import prices

TODAY = "2026-11-30"


def recorded(*models: str | None, usage: Usage | None = None) -> Transcript:
    """Return a conversation whose answers came from these models."""
    messages = []
    requests = []
    for model in models:
        messages += [Message("user", "Go on."), Message("assistant", "Yes.")]
        requests.append(RecordedRequest(len(messages) - 1, model=model, usage=usage))
    return Transcript("t", (Segment(tuple(messages), tuple(requests)),))


def test_a_transcript_is_priced_as_the_model_that_recorded_it():
    priced = PriceChoice(as_of=TODAY).of(recorded("gpt-4o-2024-08-06"))

    assert (priced.vector.model, priced.basis) == ("gpt-4o", "recorded")
    assert priced.recorded_as == "gpt-4o-2024-08-06"


def test_of_several_models_the_one_of_most_requests_is_taken():
    priced = PriceChoice(as_of=TODAY).of(recorded("gpt-4o", "gpt-5", None, "gpt-5"))

    assert priced.vector.model == "gpt-5"


def test_a_model_without_a_price_is_passed_over():
    priced = PriceChoice(as_of=TODAY).of(recorded("mine", "mine", "gpt-5"))

    assert (priced.vector.model, priced.basis) == ("gpt-5", "recorded")


@pytest.mark.parametrize("model", [None, "nobody-knows"])
def test_without_a_known_model_the_default_is_taken_and_said(model):
    priced = PriceChoice(as_of=TODAY).of(recorded(model))

    assert (priced.vector.model, priced.basis) == (DEFAULT_MODEL, "default")
    assert priced.recorded_as is None


def test_the_model_that_is_asked_for_comes_first():
    choice = PriceChoice("claude-opus-5", as_of=TODAY)

    other, same = choice.of(recorded("gpt-5")), choice.of(recorded("claude-opus-5"))

    assert (other.vector.model, other.basis, other.recorded_as) == ("claude-opus-5", "given", None)
    assert same.recorded_as == "claude-opus-5"


def test_a_log_that_wrote_for_an_hour_is_priced_so():
    for_an_hour = Usage(5_000, 10, 0, 5_000, 5_000)
    choice = PriceChoice(as_of=TODAY)

    five_minutes = choice.of(recorded("claude-opus-5", usage=Usage(5_000, 10, 0, 5_000)))
    hour = choice.of(recorded("claude-opus-5", usage=for_an_hour))

    assert (five_minutes.vector.caching.name, hour.vector.caching.name) == (
        "anthropic-5m",
        "anthropic-1h",
    )
    assert hour.vector.rates.write == 10.0


def test_the_only_prices_of_a_file_hold_for_every_transcript():
    choice = PriceChoice(vectors=(prices(model="mine"),), as_of=TODAY)

    other, same = choice.of(recorded("gpt-5")), choice.of(recorded("vendor/Mine"))

    assert (other.vector.model, other.basis, other.recorded_as) == ("mine", "file", None)
    assert same.recorded_as == "vendor/Mine"


def test_several_prices_of_a_file_hold_for_the_models_they_name():
    choice = PriceChoice(vectors=(prices(model="mine"), prices(model="gpt-5")), as_of=TODAY)

    assert choice.of(recorded("mine")).vector is choice.vectors[0]
    assert choice.of(recorded("gpt-5")).vector is choice.vectors[1]
    assert choice.of(recorded("gpt-4o")).vector.provider == "openai"


def test_a_model_of_the_file_can_be_asked_for():
    choice = PriceChoice("mine", (prices(model="mine"), prices(model="other")), as_of=TODAY)

    assert choice.of(recorded("gpt-5")).vector is choice.vectors[0]


def test_an_unknown_model_is_refused_with_close_names():
    with pytest.raises(PriceError, match=r"no price is known for model 'claude-opuss-5'.*opus"):
        choose_prices("claude-opuss-5", None)


def test_a_choice_is_checked_before_anything_runs(tmp_path):
    path = tmp_path / "prices.json"
    path.write_text(json.dumps(prices(model="mine").to_json()))

    choice = choose_prices("mine", path)

    assert choice.of(recorded("gpt-5")).vector == choice.vectors[0]
    with pytest.raises(PriceError, match="no price is known for model 'theirs'"):
        choose_prices("theirs", path)


def test_what_names_a_cell_leaves_out_the_day():
    today, later = (PriceChoice(as_of=day).of(recorded("gpt-5")) for day in (TODAY, "2026-12-01"))

    assert today.vector != later.vector
    assert today.identity == later.identity


def test_what_names_a_cell_holds_every_price():
    cheap, dear = (
        PriceChoice(vectors=(prices(read=read),)).of(recorded(None)) for read in (0.1, 0.2)
    )

    assert cheap.identity != dear.identity


def test_requests_to_other_models_have_the_prices_of_those():
    talk = recorded("gpt-5", "gpt-5", "gpt-4o-2024-08-06", "nobody-knows")

    priced = PriceChoice(as_of=TODAY).of(talk)
    alone = PriceChoice(as_of=TODAY).of(recorded("gpt-5"))

    assert {name: other.model for name, other in priced.others.items()} == {
        "gpt-4o-2024-08-06": "gpt-4o"
    }
    assert (alone.others, "others" in alone.identity) == ({}, False)
    assert priced.identity != alone.identity
    # Another model than the recorded one has no recorded bill, so it needs no others.
    assert PriceChoice("claude-opus-5", as_of=TODAY).of(talk).others == {}
