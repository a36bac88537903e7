"""What the model calls cost that a strategy makes for itself."""

from typing import Final, NamedTuple

from compaction.llm import ModelCall, ModelReply
from compaction.messages import Message
from compaction.tokens import TiktokenCounter
from evals.cost import charge
from evals.money.prices import PriceVector
from evals.money.splits import Split

SHORT_CHARS: Final = 2_000
"""A prompt text up to this is counted; a longer one is measured by the text that it is made of."""


class CallSize(NamedTuple):
    """Tokens of a model call that a strategy made for itself."""

    input_tokens: float
    output_tokens: float


def call_size(call: ModelCall, reply: ModelReply, counter: TiktokenCounter) -> CallSize:
    """Return the tokens of a call: as reported, else counted.

    A long prompt is a retelling of the messages that it is about, whose tokens are known. It is
    taken to have as many for each character as they have, which saves counting all text again.
    """
    if reply.usage is not None:
        return CallSize(reply.usage.input_tokens, reply.usage.output_tokens)
    known = set(call.subject)
    chars = sum(map(_chars, known))
    rate = sum(map(counter.count, known)) / chars if chars else None
    sent = 0.0
    for message in call.messages:
        is_counted = rate is None or message in known or _chars(message) <= SHORT_CHARS
        sent += counter.count(message) if is_counted or rate is None else rate * _chars(message)
    return CallSize(sent, counter.count_text(reply.text))


def call_usd(size: CallSize, prices: PriceVector) -> float:
    """Price a call that shares no beginning with the conversation: nothing of it is cached."""
    return charge(Split(size.input_tokens, 0.0, 0.0), size.output_tokens, prices).total


def _chars(message: Message) -> int:
    calls = sum(len(call.name) + len(call.arguments) for call in message.tool_calls)
    return len(message.text) + calls
