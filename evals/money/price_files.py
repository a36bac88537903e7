"""Files with prices of a user's own: one price vector or several, TOML or JSON.

The form is that of `prices` in a run's manifest, so that a run's prices can be used again; a
`run.json` is a price file. What may be left out: where it is from, prices of reading and writing
(then as uncached input), tiers, and the caching rule (then that of the model's family).
"""

import json
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from evals.money.caching import RULES, CachingRule, Reads, rule_for, rule_named
from evals.money.prices import PriceError, PriceVector, Rates, Tier

MAX_BYTES: Final = 10_000_000
"""A longer file is no price file."""
LEAST_USD: Final = 0.001
"""Dearest rate of a vector that is taken for a mistake of unit, in USD for a million tokens. The
cheapest on the list cost more than ten times as much. This project's choice."""
MOST_USD: Final = 1_000_000.0
"""A dearer rate, for a million tokens, is a mistake: more than a thousand times the dearest on the
list. This project's choice."""
_Usd = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Rates(_Strict):
    input: _Usd
    output: _Usd
    read: _Usd | None = None
    write: _Usd | None = None

    def rates(self) -> Rates:
        read = self.input if self.read is None else self.read
        return Rates(
            self.input, read, self.input if self.write is None else self.write, self.output
        )


class _Tier(_Rates):
    above_input_tokens: _Count


class _Caching(_Strict):
    name: str
    reads: Reads
    source: str = ""
    min_tokens: _Count = 0
    step_tokens: Annotated[int, Field(ge=1)] = 1
    ttl_seconds: _Usd = 0.0
    bills_writes: bool = False
    lookback: Annotated[int, Field(ge=1)] | None = None
    drops_reasoning: bool = False


class _Vector(_Strict):
    model: Annotated[str, Field(min_length=1)]
    usd_per_million_tokens: _Rates
    tiers: list[_Tier] = []
    caching: _Caching | str | None = None
    provider: str = ""
    source: str = ""
    as_of: str = ""


def read_price_file(path: Path) -> tuple[PriceVector, ...]:
    """Read a price file.

    Raises:
        PriceError: not readable, or what it holds are no prices; names the place in the file.
    """
    content = _content(path)
    if isinstance(content, dict) and "prices" in content:
        content = content["prices"]
    listed = content if isinstance(content, list) else [content]
    try:
        given = TypeAdapter(list[_Vector]).validate_python(listed)
    except ValidationError as error:
        raise PriceError(f"{path}: {_first(error, is_list=isinstance(content, list))}") from error
    if not given:
        raise PriceError(f"{path} has no prices; {_VECTOR}")
    vectors = tuple(_vector(each, path) for each in given)
    names = [vector.model.lower() for vector in vectors]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise PriceError(f"{path} has prices of {twice!r} twice; leave one out")
    return vectors


def _content(path: Path) -> Any:
    try:
        with path.open("rb") as file:  # a device or a pipe has no size to ask for
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise PriceError(f"{path} is too large for a price file")
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise PriceError(f"cannot read price file {path}: {reason}") from error
    try:
        return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (ValueError, RecursionError) as error:
        kind = "TOML" if path.suffix == ".toml" else "JSON (TOML files end in .toml)"
        raise PriceError(f"{path} is no {kind}: {error}") from error


def _vector(given: _Vector, path: Path) -> PriceVector:
    rates = given.usd_per_million_tokens.rates()
    if 0 < max(rates.input, rates.output) < LEAST_USD:
        raise PriceError(
            f"{path}: {given.model} costs {rates.output:g} USD for a million tokens of output, "
            "which is no price of a model; rates are for a million tokens, not for one"
        )
    dearest = max(
        max(each.input, each.read, each.write, each.output)
        for each in (rates, *(tier.rates() for tier in given.tiers))
    )
    if dearest > MOST_USD:
        raise PriceError(
            f"{path}: {given.model} has a rate of {dearest:g} USD for a million tokens, which is "
            "no price of a model; correct it"
        )
    tiers = sorted(given.tiers, key=lambda tier: tier.above_input_tokens)
    limits = [tier.above_input_tokens for tier in tiers]
    if twice := next((limit for limit in limits if limits.count(limit) > 1), None):
        raise PriceError(f"{path}: {given.model} has two tiers above {twice} tokens; leave one out")
    return PriceVector(
        model=given.model,
        rates=rates,
        caching=_rule(given, rates, path),
        tiers=tuple(Tier(tier.above_input_tokens, tier.rates()) for tier in tiers),
        provider=given.provider,
        source=given.source or path.name,
        as_of=given.as_of,
    )


def _rule(given: _Vector, rates: Rates, path: Path) -> CachingRule:
    if isinstance(given.caching, _Caching):
        return CachingRule(**given.caching.model_dump())
    if given.caching is None:
        return rule_for(given.model.lower(), has_read_price=rates.read < rates.input)
    rule = rule_named(given.caching)
    if rule is None:
        known = ", ".join(each.name for each in RULES)
        raise PriceError(f"{path}: caching {given.caching!r} is no rule; known: {known}")
    return rule


def _first(error: ValidationError, *, is_list: bool) -> str:
    """Say where the first fault is and what it is; a wrong name before what it leaves missing."""
    faults = error.errors(include_url=False)
    fault = next((each for each in faults if each["type"] == "extra_forbidden"), faults[0])
    place = [str(part) for part in fault["loc"]][0 if is_list else 1 :]
    kinds = {"_Caching", "str"}  # the kinds of `caching` are no part of the file
    named = [part for part in place if part not in kinds]
    said = _MEANINGS.get(fault["type"], str(fault["msg"]))
    if fault["type"] == "extra_forbidden":
        near = get_close_matches(named[-1], _KEYS, 1)
        said += f"; is it {near[0]}?" if near else ""
    return f"{'.'.join(named)}: {said}" if named else said


_VECTOR: Final = "a price vector has `model` and `usd_per_million_tokens` with `input` and `output`"
_MEANINGS: Final = {
    "extra_forbidden": "no such key",
    "missing": f"is missing; {_VECTOR}",
    "model_type": f"is none; {_VECTOR}",
}
_KEYS: Final = tuple(
    sorted({key for kind in (_Vector, _Rates, _Tier, _Caching) for key in kind.model_fields})
)
