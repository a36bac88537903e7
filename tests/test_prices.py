"""Price vectors, and the list they come from."""

import pytest

from evals.money.caching import rule_named
from evals.money.price_list import list_price, spellings
from evals.money.prices import PriceVector, Rates, Tier

TODAY = "2026-11-30"


def test_the_tier_is_chosen_by_the_whole_input():
    # Source: genai-prices, TieredPrices: 200,000 tokens pay the base rate, at 200,001 every token
    # pays the upper one.
    base, upper = Rates(3, 0.3, 3.75, 15), Rates(6, 0.6, 7.5, 22.5)
    vector = PriceVector("m", base, rule_named("none"), (Tier(200_000, upper),))

    assert vector.rates_of(200_000) == base
    assert vector.rates_of(200_001) == upper


def test_of_several_tiers_the_highest_that_applies_is_taken():
    rates = [Rates(n, n, n, n) for n in (1.0, 2.0, 3.0)]
    tiers = (Tier(100, rates[1]), Tier(200, rates[2]))
    vector = PriceVector("m", rates[0], rule_named("none"), tiers)

    assert [vector.rates_of(n).input for n in (100, 101, 200, 201)] == [1.0, 2.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("model", "rates"),
    [
        # Source: the providers' list prices of 2026-11-30, USD per million: input, read, write,
        # output. Where writing has no price it is billed as uncached input.
        ("claude-sonnet-4-5", Rates(3, 0.30, 3.75, 15)),
        ("claude-sonnet-5-5", Rates(2, 0.10, 2.5, 10)),
        ("claude-opus-4-5", Rates(5, 0.50, 6.25, 25)),
        ("claude-haiku-4-5", Rates(1, 0.10, 1.25, 5)),
        ("gpt-4o", Rates(2.5, 1.25, 2.5, 10)),
        ("gpt-4.1", Rates(2, 0.50, 2, 8)),
        ("gpt-5", Rates(1.25, 0.125, 1.25, 10)),
        ("gpt-5.6-terra", Rates(2, 0.20, 2.5, 12)),
        ("gpt-6.1-sol", Rates(2, 0.10, 2.5, 10)),
        ("gemini-2.5-pro", Rates(1.25, 0.125, 1.25, 10)),
        ("gemini-2.5-flash", Rates(0.30, 0.03, 0.30, 2.5)),
        # Off-peak, as at 12:00 UTC.
        ("deepseek-v4-flash", Rates(0.15, 0.003, 0.15, 0.60)),
    ],
)
def test_list_prices(model, rates):
    assert list_price(model, TODAY).rates == rates


def test_an_hour_in_the_cache_has_a_write_price_of_its_own():
    # Source: https://platform.claude.com/docs/en/build-with-claude/prompt-caching: 2x input.
    vector = list_price("claude-sonnet-4-5", TODAY, keeps_an_hour=True)

    assert (vector.rates.write, vector.rates.read) == (6.0, 0.3)
    assert vector.caching.name == "anthropic-1h"


def test_list_prices_are_those_of_the_day():
    # Source: genai-prices: claude-opus-4-6 had a tier above 200,000 tokens until 2026-03-13.
    before, after = (list_price("claude-opus-4-6", day) for day in ("2026-03-12", "2026-03-13"))

    assert [(tier.above_input_tokens, tier.rates.input) for tier in before.tiers] == [(200_000, 10)]
    assert after.tiers == ()


@pytest.mark.parametrize(
    ("written", "model"),
    [
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("Claude-Opus-4.5", "claude-opus-4-5"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-5.2-20251211", "gpt-5.2"),
        ("claude-opus-4-6[1m]", "claude-opus-4-6"),
        ("anthropic/claude-sonnet-4.5:thinking", "claude-sonnet-4-5"),
        ("litellm_proxy/claude-sonnet-4-20250514", "claude-sonnet-4-0"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
    ],
)
def test_names_of_logs_are_understood(written, model):
    assert list_price(written, TODAY).model == model


def test_the_fast_variant_of_a_model_has_its_own_prices():
    # Source: https://platform.claude.com/docs/en/about-claude/pricing#fast-mode-pricing: 10 and 50
    # USD for Opus 4.8, the multipliers of caching on top.
    vector = list_price("anthropic/claude-opus-4.8-fast", TODAY)

    assert vector.model == "claude-opus-4-8-fast"
    assert vector.rates == Rates(10, 1.0, 12.5, 50)


@pytest.mark.parametrize("name", ["no-such-model", "", "/", "aide-gpt-5", "text-embedding-3-small"])
def test_a_name_without_prices_is_none(name):
    assert list_price(name, TODAY) is None


def test_a_name_is_tried_as_it_stands_first():
    assert list(spellings("Meta/Llama:free")) == ["meta/llama:free", "llama"]
    assert list(spellings("gpt-5")) == ["gpt-5"]


def test_the_written_form_says_where_prices_are_from():
    written = list_price("gpt-5.5", TODAY).to_json()

    assert written["source"].startswith("genai-prices ")
    assert (written["as_of"], written["provider"], written["model"]) == (TODAY, "openai", "gpt-5.5")
    assert written["usd_per_million_tokens"] == {
        "input": 5.0,
        "read": 0.5,
        "write": 5.0,
        "output": 30.0,
    }
    assert written["tiers"] == [
        {"above_input_tokens": 272_000, "input": 10.0, "read": 1.0, "write": 10.0, "output": 45.0}
    ]
    assert written["caching"]["step_tokens"] == 2_048
