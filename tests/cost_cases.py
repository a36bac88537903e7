"""Prices and views with round numbers, for the tests of cost."""

from compaction.history import Entry, Origin, whole
from compaction.messages import Message, ToolCall
from evals.money.caching import CachingRule, rule_named
from evals.money.prices import PriceVector, Rates
from evals.money.prompt_cache import PromptCache, Sent
from evals.money.splits import Scale

NO_PREFIX = Scale(0.0, 1.0)
"""Every token stands in a message."""


def size_of(message: Message) -> int:
    """Count a message as its characters, so that tests choose every size."""
    return len(message.text) + sum(len(call.arguments) for call in message.tool_calls)


def user(size: int, mark: str = "u") -> Message:
    return Message("user", mark * size)


def system(size: int, mark: str = "s") -> Message:
    return Message("system", mark * size)


def says(size: int, mark: str = "a") -> Message:
    return Message("assistant", mark * size)


def calls(count: int = 1, size: int = 10, mark: str = "c") -> Message:
    made = tuple(ToolCall(f"{mark}{n}", "read", "x" * size) for n in range(count))
    return Message("assistant", None, tool_calls=made)


def result(size: int, call: str = "c0", mark: str = "r") -> Message:
    return Message("tool", mark * size, tool_call_id=call)


def entries(*messages: Message) -> tuple[Entry, ...]:
    return tuple(whole(message, index) for index, message in enumerate(messages))


def written(message: Message, *spans: tuple[int, int]) -> Entry:
    return Entry(message, Origin("generated", spans, "test"))


def cache(rule: CachingRule | str) -> PromptCache:
    found = rule_named(rule) if isinstance(rule, str) else rule
    assert found is not None
    return PromptCache(found, size_of)


def send(
    held: PromptCache, *messages: Message, scale: Scale = NO_PREFIX, **options: object
) -> Sent:
    """Send messages as a view; its size is the sum of theirs."""
    tokens = scale.size(sum(map(size_of, messages)))
    return held.send(entries(*messages), tokens, scale, **options)  # type: ignore[arg-type]


def prices(
    rule: str = "anthropic-5m",
    *,
    read: float = 1.0,
    write: float = 12.5,
    model: str = "test-model",
) -> PriceVector:
    """Return prices with 10 USD for uncached input and 50 for output, a million tokens each."""
    found = rule_named(rule)
    assert found is not None
    return PriceVector(model, Rates(10.0, read, write, 50.0), found)
