"""Tokens of one prompt: how long it is at the provider, and by how they are billed."""

from typing import NamedTuple

from evals.money.caching import CachingRule


class Split(NamedTuple):
    """Input tokens of one request by how they are billed."""

    uncached: float
    written: float
    read: float

    @property
    def total(self) -> float:
        return self.uncached + self.written + self.read


class Scale(NamedTuple):
    """Turns counted tokens of messages into a provider's tokens of a prompt."""

    base_tokens: float
    """What stands before the messages: tool schemas, and instructions that the log lacks."""
    slope: float

    def size(self, counted_tokens: float) -> float:
        return self.base_tokens + self.slope * counted_tokens

    def counted(self, tokens: float) -> float:
        return (tokens - self.base_tokens) / self.slope


def split_of(rule: CachingRule, tokens: float, read: float) -> Split:
    """Return how the input of a request is billed that reads so much of it from the cache."""
    if rule.bills_writes and tokens >= rule.min_tokens:
        return Split(0.0, tokens - read, read)
    return Split(tokens - read, 0.0, read)


def cached_length(rule: CachingRule, tokens: float) -> float:
    """Return how much of a common beginning of so many tokens can be read."""
    if rule.reads == "nothing" or tokens < rule.min_tokens:
        return 0.0
    return tokens if rule.step_tokens == 1 else tokens // rule.step_tokens * rule.step_tokens
