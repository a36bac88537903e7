"""What a model charges, as one value that a run writes down: rates, tiers and caching rule."""

from dataclasses import asdict, dataclass

from compaction.errors import CompactionError
from compaction.messages import Json
from evals.money.caching import CachingRule


class PriceError(CompactionError):
    """A model without a price, or a price file that is not one."""


@dataclass(frozen=True, slots=True)
class Rates:
    """USD for a million tokens."""

    input: float
    read: float
    write: float
    output: float


@dataclass(frozen=True, slots=True)
class Tier:
    """Rates of a whole request whose input is longer than a limit."""

    above_input_tokens: int
    rates: Rates


@dataclass(frozen=True, slots=True)
class PriceVector:
    """Everything that turns tokens of a conversation into dollars."""

    model: str
    rates: Rates
    caching: CachingRule
    tiers: tuple[Tier, ...] = ()
    """Ascending."""
    provider: str = ""
    source: str = ""
    """Whose list it is from, with its version."""
    as_of: str = ""
    """ISO date of the list prices."""

    def rates_of(self, input_tokens: float) -> Rates:
        """Return the rates of a request; the tier is chosen by its whole input."""
        rates = self.rates
        for tier in self.tiers:
            if input_tokens > tier.above_input_tokens:
                rates = tier.rates
        return rates

    def again_usd(self, rates: Rates) -> float:
        """Return the price of a token that was sent before: anew where nothing is cached."""
        return rates.input if self.caching.reads == "nothing" else rates.read

    def to_json(self) -> Json:
        """Return the form that a run holds and a price file may have."""
        return {
            "model": self.model,
            "provider": self.provider,
            "source": self.source,
            "as_of": self.as_of,
            "usd_per_million_tokens": asdict(self.rates),
            "tiers": [
                {"above_input_tokens": tier.above_input_tokens, **asdict(tier.rates)}
                for tier in self.tiers
            ],
            "caching": {k: v for k, v in asdict(self.caching).items() if v is not None},
        }
