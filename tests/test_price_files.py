"""Prices of a user's own: what is read, and what is refused and where."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.money.caching import RULES
from evals.money.price_files import LEAST_USD, read_price_file
from evals.money.price_list import list_price
from evals.money.prices import PriceError, PriceVector, Rates, Tier

SMALLEST = '{"model": "m", "usd_per_million_tokens": {"input": 2, "output": 8}}'
TIER = '{"above_input_tokens": 5, "input": 3, "output": 9}'
amounts = st.just(0.0) | st.floats(LEAST_USD, 1_000)
rates = st.builds(Rates, amounts, amounts, amounts, amounts)
vectors = st.builds(
    PriceVector,
    st.sampled_from(["mine", "theirs/of-2026", "模型"]),
    rates,
    st.sampled_from(RULES),
    st.dictionaries(st.integers(1, 10**6), rates, max_size=3).map(
        lambda tiers: tuple(Tier(limit, tiers[limit]) for limit in sorted(tiers))
    ),
    source=st.just("a list"),
    as_of=st.just("2026-11-30"),
)


@pytest.fixture
def write(tmp_path):
    def written(text: str, name: str = "prices.json"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return written


@given(vector=vectors)
def test_what_a_run_writes_can_be_read_as_it_was(vector, tmp_path_factory):
    path = tmp_path_factory.mktemp("prices") / "run.json"
    path.write_text(json.dumps({"command": "run", "prices": [vector.to_json()]}))

    assert read_price_file(path) == (vector,)


def test_list_prices_survive_a_file(write):
    vector = list_price("gpt-5.6-terra", "2026-11-30")

    assert read_price_file(write(json.dumps(vector.to_json()))) == (vector,)


def test_what_is_left_out_costs_as_uncached_input_and_is_not_cached(write):
    (vector,) = read_price_file(write(SMALLEST))

    assert vector.rates == Rates(input=2, read=2, write=2, output=8)
    assert vector.caching.name == "none"
    assert vector.source == "prices.json"


def test_toml_is_read_with_the_rule_of_the_models_family(write):
    text = """
        model = "claude-sonnet-9"
        [usd_per_million_tokens]
        input = 3.0
        output = 15
        read = 0.3
        write = 3.75
        [[tiers]]
        above_input_tokens = 500_000
        input = 6.0
        output = 30.0
    """

    (vector,) = read_price_file(write(text, "prices.toml"))

    assert vector.caching.name == "anthropic-5m"
    assert vector.tiers == (Tier(500_000, Rates(6, 6, 6, 30)),)


def test_a_rule_is_named_or_written_out(write):
    raw = json.loads(SMALLEST)
    (named,) = read_price_file(write(json.dumps({**raw, "caching": "openai-24h"})))
    day = {
        "name": "a day",
        "reads": "prefix",
        "min_tokens": 1_024,
        "ttl_seconds": 86_400.0,
        "drops_reasoning": True,
    }
    (own,) = read_price_file(write(json.dumps({**raw, "caching": day})))

    assert named.caching.ttl_seconds == 1_800
    assert own.caching == replace(
        named.caching, name="a day", source="", step_tokens=1, ttl_seconds=86_400.0
    )


def test_tiers_may_stand_in_any_order(write):
    tiers = [{"above_input_tokens": n, "input": n, "output": n} for n in (9, 3, 5)]

    (vector,) = read_price_file(write(json.dumps({**json.loads(SMALLEST), "tiers": tiers})))

    assert [tier.above_input_tokens for tier in vector.tiers] == [3, 5, 9]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '{"usd_per_million_tokens": {"input": 2, "output": 8}}',
            "model: is missing; a price vector has `model`",
        ),
        ('{"model": "m"}', "usd_per_million_tokens: is missing; a price vector has"),
        (SMALLEST.replace("2", '"2"'), r"usd_per_million_tokens.input: .*valid number"),
        (
            SMALLEST.replace("2", "-2"),
            r"usd_per_million_tokens.input: .*greater than or equal to 0",
        ),
        (SMALLEST.replace("2", "NaN"), r"usd_per_million_tokens.input: .*finite"),
        (SMALLEST.replace("2", "true"), r"usd_per_million_tokens.input: .*valid number"),
        (
            SMALLEST.replace('"output"', '"outptu"'),
            r"usd_per_million_tokens.outptu: no such key; is it output\?",
        ),
        ('{"model": "m", "usd_per_token": {"input": 2}}', "usd_per_token: no such key"),
        (SMALLEST.replace("2", "0.000002").replace("8", "0.000008"), "for a million tokens, not"),
        (SMALLEST.replace("}}", '}, "tiers": [{}]}'), r"tiers.0.input: is missing"),
        (
            SMALLEST.replace("}}", f'}}, "tiers": [{TIER}, {TIER}]}}'),
            "m has two tiers above 5 tokens",
        ),
        (
            SMALLEST.replace("}}", '}, "caching": "fast"}'),
            "caching 'fast' is no rule; known: none,",
        ),
        (SMALLEST.replace("}}", '}, "currency": "EUR"}'), "currency: no such key$"),
        (f"[{SMALLEST}, {SMALLEST}]", "prices of 'm' twice"),
        (f"[{SMALLEST}, 7]", "1: is none; a price vector has"),
        ("[]", "has no prices"),
        ("7", "is none; a price vector has"),
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
    ],
)
def test_a_fault_is_named_with_its_place(write, text, said):
    with pytest.raises(PriceError, match=said):
        read_price_file(write(text))


def test_a_file_that_cannot_be_read_is_refused(tmp_path, write):
    with pytest.raises(PriceError, match=r"cannot read price file .*: No such file"):
        read_price_file(tmp_path / "none.json")
    with pytest.raises(PriceError, match=r"cannot read price file .*: Is a directory"):
        read_price_file(tmp_path)
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PriceError, match="it is no text"):
        read_price_file(tmp_path / "bytes.json")
    with pytest.raises(PriceError, match="is no TOML"):
        read_price_file(write("model = ", "prices.toml"))


def test_a_file_larger_than_any_price_list_is_refused(write, monkeypatch):
    monkeypatch.setattr("evals.money.price_files.MAX_BYTES", 10)

    with pytest.raises(PriceError, match="too large"):
        read_price_file(write(SMALLEST))


@pytest.mark.parametrize("place", ["input", "output", "read", "write", "tier"])
def test_a_rate_that_no_sum_could_hold_is_refused(write, place):
    rates = {"input": 2.0, "output": 8.0}
    tier = {"above_input_tokens": 9, **rates}
    (tier if place == "tier" else rates)["input" if place == "tier" else place] = 1e300
    content = {"model": "m", "usd_per_million_tokens": rates, "tiers": [tier]}

    with pytest.raises(PriceError, match=r"m has a rate of 1e\+300 USD for a million tokens"):
        read_price_file(write(json.dumps(content)))


def test_a_file_without_an_end_is_refused():
    with pytest.raises(PriceError, match="/dev/zero is too large for a price file"):
        read_price_file(Path("/dev/zero"))
