"""Usage and amounts as providers and programs report them."""

import pytest

from compaction.llm import Usage
from compaction.messages import Message
from evals.importers.usages import anthropic_usage, chat_usage, google_usage, responses_usage, usd
from evals.transcripts import RecordedRequest, Segment, Transcript, from_native, to_native


def test_what_was_written_for_an_hour_is_told_apart():
    # Source: https://platform.claude.com/docs/en/build-with-claude/prompt-caching, the example of
    # "1-hour cache duration".
    raw = {
        "input_tokens": 2_048,
        "cache_read_input_tokens": 1_800,
        "cache_creation_input_tokens": 248,
        "output_tokens": 503,
        "cache_creation": {"ephemeral_5m_input_tokens": 148, "ephemeral_1h_input_tokens": 100},
    }

    assert anthropic_usage(raw) == Usage(
        input_tokens=4_096,
        output_tokens=503,
        cached_input_tokens=1_800,
        cache_write_tokens=248,
        cache_write_1h_tokens=100,
    )


@pytest.mark.parametrize("broken", [None, 7, {"ephemeral_1h_input_tokens": "100"}, []])
def test_a_broken_account_of_writes_is_none(broken):
    raw = {"input_tokens": 5, "output_tokens": 1, "cache_creation": broken}

    assert anthropic_usage(raw) == Usage(5, 1, is_cache_logged=False)


@pytest.mark.parametrize(
    ("raw", "amount"),
    [(0.25, 0.25), (3, 3.0), (0, 0.0), (-1, None), ("0.25", None), (True, None), (None, None)],
)
def test_an_amount_is_a_number_that_is_not_negative(raw, amount):
    assert usd(raw) == amount


@pytest.mark.parametrize("odd", [float("inf"), float("nan")])
def test_an_amount_is_finite(odd):
    assert usd(odd) is None


def test_costs_survive_the_native_form():
    request = RecordedRequest(1, 5.0, "m", Usage(9, 1, 4, 3, 2), cost_usd=0.125)
    messages = (Message("user", "Go."), Message("assistant", "Yes."))
    transcript = Transcript("t", (Segment(messages, (request,)),), source="t.json")

    assert from_native(to_native(transcript), where="t.json") == transcript


@pytest.mark.parametrize(
    ("read", "silent", "zero"),
    [
        (
            chat_usage,
            {"prompt_tokens": 9, "completion_tokens": 1},
            {"prompt_tokens_details": {"cached_tokens": 0}},
        ),
        (
            responses_usage,
            {"input_tokens": 9, "output_tokens": 1},
            {"input_tokens_details": {"cached_tokens": 0}},
        ),
        (
            anthropic_usage,
            {"input_tokens": 9, "output_tokens": 1},
            {"cache_creation_input_tokens": 0},
        ),
    ],
)
def test_nothing_said_of_the_cache_is_not_nothing_read(read, silent, zero):
    assert read(silent) == Usage(9, 1, is_cache_logged=False)
    assert read(silent | zero) == Usage(9, 1, is_cache_logged=True)


def test_google_leaves_zeros_out():
    # https://protobuf.dev/programming-guides/json/: fields of their default value are omitted.
    raw = {"promptTokenCount": 9, "candidatesTokenCount": 1}

    assert google_usage(raw) == Usage(9, 1, is_cache_logged=True)
