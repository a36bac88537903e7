"""Rules of caching, each with the page that says so."""

import pytest

from evals.money.caching import RULES, rule_for, rule_named

ANTHROPIC = "https://platform.claude.com/docs/en/build-with-claude/prompt-caching"
OPENAI = "https://developers.openai.com/api/docs/guides/prompt-caching"
GEMINI = "https://ai.google.dev/gemini-api/docs/caching"
DEEPSEEK = "https://api-docs.deepseek.com/guides/kv_cache"


def test_every_rule_has_a_name_of_its_own_and_a_page():
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert all(rule.source.startswith("https://") for rule in RULES)
    assert all(rule_named(rule.name) is rule for rule in RULES)


def test_a_rule_that_nobody_ships_is_none():
    assert rule_named("openai-9") is None


@pytest.mark.parametrize(
    ("model", "min_tokens"),
    [
        ("claude-opus-5", 512),
        ("claude-fable-5-1", 512),
        ("claude-mythos-5-2", 512),
        ("claude-opus-4-8", 1_024),
        ("claude-sonnet-5", 1_024),
        ("claude-sonnet-4-6", 1_024),
        ("claude-opus-4-1", 1_024),
        ("claude-sonnet-4-0", 1_024),
        ("claude-opus-4-7", 2_048),
        ("claude-3-5-haiku-latest", 2_048),
        ("claude-opus-4-6", 4_096),
        ("claude-opus-4-5", 4_096),
        ("claude-haiku-4-5", 4_096),
    ],
)
def test_anthropic_caches_from_a_minimum_of_each_model_on(model, min_tokens):
    # Source: ANTHROPIC, "Cache limitations".
    rule = rule_for(model, has_read_price=True)

    assert (rule.name, rule.source) == ("anthropic-5m", ANTHROPIC)
    assert rule.min_tokens == min_tokens
    assert (rule.lookback, rule.bills_writes) == (20, True)


def test_anthropic_keeps_an_entry_five_minutes_or_an_hour():
    # Source: ANTHROPIC, "1-hour cache duration".
    short = rule_for("claude-sonnet-5", has_read_price=True)
    long = rule_for("claude-sonnet-5", has_read_price=True, keeps_an_hour=True)

    assert (short.ttl_seconds, long.ttl_seconds) == (300, 3_600)


@pytest.mark.parametrize(
    ("model", "name", "step_tokens", "ttl_seconds"),
    [
        # In memory: "typically 5 to 10 minutes inactive"; steps of 128 tokens.
        ("gpt-4o", "openai", 128, 300),
        ("o4-mini", "openai", 128, 300),
        ("gpt-5-mini", "openai", 128, 300),
        # Extended retention: "typically around 30 minutes, up to 24 hours".
        ("gpt-4.1", "openai-24h", 128, 1_800),
        ("gpt-5", "openai-24h", 128, 1_800),
        ("gpt-5.4", "openai-24h", 128, 1_800),
        # "Spaced at regular 2,048-token intervals".
        ("gpt-5.5", "openai-5.5", 2_048, 1_800),
        ("gpt-5.5-pro", "openai-5.5", 2_048, 1_800),
        # "At least 30 minutes after the latest write or reuse"; the exact boundary.
        ("gpt-5.6-terra", "openai-5.6", 1, 1_800),
        ("gpt-6.1-sol", "openai-5.6", 1, 1_800),
    ],
)
def test_openai_caches_by_the_family_of_the_model(model, name, step_tokens, ttl_seconds):
    # Source: OPENAI, "Summary of model differences".
    rule = rule_for(model, has_read_price=True)

    assert (rule.name, rule.source, rule.min_tokens) == (name, OPENAI, 1_024)
    assert (rule.step_tokens, rule.ttl_seconds) == (step_tokens, ttl_seconds)


def test_openai_bills_writes_from_gpt_5_6_on():
    # Source: OPENAI: no additional fee before the GPT-5.6 family, 1.25x from it on.
    assert not rule_for("gpt-5.5", has_read_price=True).bills_writes
    assert rule_for("gpt-5.6-terra", has_read_price=True).bills_writes


@pytest.mark.parametrize(
    ("model", "min_tokens"),
    [("gemini-2.5-pro", 2_048), ("gemini-2.5-flash", 2_048), ("gemini-3.1-pro-preview", 4_096)],
)
def test_gemini_caches_implicitly_from_a_minimum_on(model, min_tokens):
    # Source: GEMINI, table of minimum input token counts, 2026-10-13.
    rule = rule_for(model, has_read_price=True)

    assert (rule.name, rule.source, rule.min_tokens) == ("gemini", GEMINI, min_tokens)
    assert not rule.bills_writes


def test_gemini_before_2_5_has_no_documented_rule():
    # Source: GEMINI: implicit caching "for all Gemini 2.5 and newer models".
    assert rule_for("gemini-2.0-flash", has_read_price=True).name == "assumed-prefix"


def test_deepseek_reads_whole_units():
    # Source: DEEPSEEK, "Cache Persistence and Hit Rules".
    rule = rule_for("deepseek-v4-flash", has_read_price=True)

    assert (rule.name, rule.source, rule.reads) == ("deepseek", DEEPSEEK, "units")


def test_a_model_that_sells_no_reads_has_no_cache():
    assert rule_for("claude-2", has_read_price=False).name == "none"
    assert rule_for("gpt-oss-120b", has_read_price=False).reads == "nothing"


def test_a_model_that_sells_reads_without_a_documented_rule_is_assumed_to_cache_prefixes():
    rule = rule_for("kimi-k3", has_read_price=True)

    assert (rule.name, rule.reads, rule.min_tokens) == ("assumed-prefix", "prefix", 1_024)


@pytest.mark.parametrize(
    ("model", "drops_reasoning"),
    [
        # Source: platform.claude.com/docs/en/build-with-claude/extended-thinking: Opus 4.5 and
        # Sonnet 4.6 and later keep all thinking, earlier ones and Haiku 4.5 that of the last turn.
        ("claude-3-7-sonnet-latest", True),
        ("claude-opus-4-0", True),
        ("claude-opus-4-1", True),
        ("claude-sonnet-4-0", True),
        ("claude-sonnet-4-20250514", True),
        ("claude-sonnet-4-5", True),
        ("claude-haiku-4-5", True),
        ("claude-opus-4-5", False),
        ("claude-opus-4-6", False),
        ("claude-sonnet-4-6", False),
        ("claude-sonnet-5-5", False),
        ("claude-haiku-5-5", False),
        # Source: developers.openai.com/api/docs/guides/reasoning: discarded after each turn; which
        # turns are kept can be set from GPT-5.6 on (`reasoning.context`).
        ("o4-mini", True),
        ("gpt-5", True),
        ("gpt-5.5", True),
        ("gpt-5.6-terra", False),
        ("gemini-2.5-pro", False),
        ("deepseek-v4-flash", False),
    ],
)
def test_reasoning_of_earlier_turns_is_dropped_by_the_model(model, drops_reasoning):
    assert rule_for(model, has_read_price=True).drops_reasoning is drops_reasoning
