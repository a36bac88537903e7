"""One conversation under every shipped rule, its tokens and dollars worked out by hand.

Four requests; sizes in tokens, 10 USD for a million uncached, 12.5 written and 1 read:

1. 3,000 of instructions and a user message of 2,000: 5,000.
2. After 200 s an answer of 400 and a message of 100 more: 5,500; the first 5,000 are as before.
3. After 400 s an answer of 300 and a message of 200 more: 6,000; the first 5,500 are as before.
4. After 60 s the answer of 400 is cleared to 40, and 60 and 300 come: 6,000; 5,000 are as before.
"""

from typing import NamedTuple

import pytest

from evals.cost import charge
from evals.money.caching import ANTHROPIC_URL, DEEPSEEK_URL, GEMINI_URL, OPENAI_URL, RULES
from evals.money.caching import PRICES_URL as NO_PAGE
from evals.money.splits import Split
from tests.cost_cases import cache, prices, says, send, system, user

START = (system(3_000), user(2_000))
LATER = (user(100), says(300, "b"), user(200, "v"))
REQUESTS = (
    (0.0, START),
    (200.0, (*START, says(400), *LATER[:1])),
    (600.0, (*START, says(400), *LATER)),
    (660.0, (*START, says(40), *LATER, says(60, "c"), user(300, "w"))),
)


class Worked(NamedTuple):
    """What the four requests are billed as: uncached, written, read."""

    source: str
    splits: tuple[tuple[int, int, int], ...]
    usd: float


BY_HAND = {
    # 22,500 x 10.
    "none": Worked(NO_PAGE, ((5_000, 0, 0), (5_500, 0, 0), (6_000, 0, 0), (6_000, 0, 0)), 0.225),
    # No page: a prefix of any length above 1,024, kept five minutes, so the third finds none.
    # 12,500 x 10 + 10,000 x 1.
    "assumed-prefix": Worked(
        NO_PAGE, ((5_000, 0, 0), (500, 0, 5_000), (6_000, 0, 0), (1_000, 0, 5_000)), 0.135
    ),
    # Steps of 128, 5 minutes: 39 x 128 = 4,992 of 5,000; the third finds none.
    # (5,000 + 508 + 6,000 + 1,008) x 10 + 9,984 x 1.
    "openai": Worked(
        OPENAI_URL,
        ((5_000, 0, 0), (508, 0, 4_992), (6_000, 0, 0), (1_008, 0, 4_992)),
        0.135144,
    ),
    # Half an hour: 42 x 128 = 5,376 of 5,500. (5,000 + 508 + 624 + 1,008) x 10 + 15,360 x 1.
    "openai-24h": Worked(
        OPENAI_URL,
        ((5_000, 0, 0), (508, 0, 4_992), (624, 0, 5_376), (1_008, 0, 4_992)),
        0.08676,
    ),
    # Steps of 2,048: two of them. (5,000 + 1,404 + 1,904 + 1,904) x 10 + 12,288 x 1.
    "openai-5.5": Worked(
        OPENAI_URL,
        ((5_000, 0, 0), (1_404, 0, 4_096), (1_904, 0, 4_096), (1_904, 0, 4_096)),
        0.114408,
    ),
    # Exact ends of user messages, half an hour, writes billed.
    # (5,000 + 500 + 500 + 1,000) x 12.5 + 15,500 x 1.
    "openai-5.6": Worked(
        OPENAI_URL,
        ((0, 5_000, 0), (0, 500, 5_000), (0, 500, 5_500), (0, 1_000, 5_000)),
        0.103,
    ),
    # Five minutes: the third writes all anew, so that the fourth finds the instructions and the
    # end of the third, which is not as before. (5,000 + 500 + 6,000 + 3,000) x 12.5 + 8,000 x 1.
    "anthropic-5m": Worked(
        ANTHROPIC_URL,
        ((0, 5_000, 0), (0, 500, 5_000), (0, 6_000, 0), (0, 3_000, 3_000)),
        0.18925,
    ),
    # An hour: the end of the first is still there for the fourth. As openai-5.6; an hour's writes
    # cost more than here: `tests.test_prices`.
    "anthropic-1h": Worked(
        ANTHROPIC_URL,
        ((0, 5_000, 0), (0, 500, 5_000), (0, 500, 5_500), (0, 1_000, 5_000)),
        0.103,
    ),
    # As assumed, from 4,096 on.
    "gemini": Worked(
        GEMINI_URL, ((5_000, 0, 0), (500, 0, 5_000), (6_000, 0, 0), (1_000, 0, 5_000)), 0.135
    ),
    # Whole earlier requests, an hour: the first is one of them for the fourth.
    # (5,000 + 500 + 500 + 1,000) x 10 + 15,500 x 1.
    "deepseek": Worked(
        DEEPSEEK_URL,
        ((5_000, 0, 0), (500, 0, 5_000), (500, 0, 5_500), (1_000, 0, 5_000)),
        0.0855,
    ),
}


def test_every_shipped_rule_is_worked_out():
    assert {rule.name: rule.source for rule in RULES} == {
        name: worked.source for name, worked in BY_HAND.items()
    }


@pytest.mark.parametrize("name", BY_HAND)
def test_tokens_and_dollars_by_hand(name):
    held, vector = cache(name), prices(name)

    splits = [send(held, *messages, time=time).split for time, messages in REQUESTS]

    assert [split.total for split in splits] == [5_000, 5_500, 6_000, 6_000]
    assert splits == [Split(*worked) for worked in BY_HAND[name].splits]
    usd = sum(charge(split, 0, vector).total for split in splits)
    assert usd == pytest.approx(BY_HAND[name].usd)
