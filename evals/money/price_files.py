"""Files with prices of a user's own: one price vector or several, TOML or JSON.

The form is that of `prices` in a run's manifest, so that a run's prices can be used again; a
`run.json` is a price file. What may be left out: where it is from, prices of reading and writing
(then as uncached input), tiers, and the caching rule (then that of the model's family).
"""

import json
import tomllib
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from evals.money.caching import RULES, CachingRule, Reads, rule_for, rule_named
from evals.money.prices import PriceError, PriceVector, Rates, Tier

MAX_BYTES: Final = 10_000_000
"""A longer file is no price file."""
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
        raise PriceError(f"{path} has no prices; a price vector has `model` and its rates")
    vectors = tuple(_vector(each, path) for each in given)
    names = [vector.model.lower() for vector in vectors]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise PriceError(f"{path} has prices of {twice!r} twice; leave one out")
    return vectors


def _content(path: Path) -> Any:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise PriceError(f"{path} is too large for a price file")
        text = path.read_text(encoding="utf-8")
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
    tiers = sorted(given.tiers, key=lambda tier: tier.above_input_tokens)
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
    """Say where the first fault is and what it is."""
    fault = error.errors(include_url=False)[0]
    place = [str(part) for part in fault["loc"]][0 if is_list else 1 :]
    kinds = {"_Caching", "str"}  # the kinds of `caching` are no part of the file
    named = ".".join(part for part in place if part not in kinds)
    return f"{named}: {fault['msg']}" if named else str(fault["msg"])
