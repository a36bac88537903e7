"""How providers cache prompts, as data: what is kept, for how long, and what may be read of it.

Each rule names the page it is from. Where a page gives a range of lifetimes, the lower end of what
it calls typical is taken. What a conversation reads and writes under a rule is
`evals.money.prompt_cache`; prices are `evals.money.prices`.
"""

import re
from dataclasses import dataclass, replace
from typing import Final, Literal

Reads = Literal["nothing", "prefix", "breakpoints", "endings", "units"]
"""What a request may read of an earlier one.

`prefix`: the messages both begin with, cut to a step. `breakpoints`: a prefix that ended at a
breakpoint of the earlier one (behind the instructions or at its end), and only if a breakpoint of
this one is near. `endings`: the prefix up to the end of a user message or of a group of tool
results, one of the latest, or of the instructions. `units`: the earlier request as a whole, with or
without its answer, or what two earlier ones had in common.
"""


@dataclass(frozen=True, slots=True)
class CachingRule:
    """What a provider keeps of a prompt and what a later prompt may read of it."""

    name: str
    source: str
    """Address of the page that says so."""
    reads: Reads
    min_tokens: int = 0
    """A shorter prefix is not cached."""
    step_tokens: int = 1
    """What is read is a multiple of this."""
    ttl_seconds: float = 0.0
    """How long after its last use a prefix can be read."""
    bills_writes: bool = False
    """Whether what is written has a price of its own; else it is billed as uncached input."""
    lookback: int | None = None
    """How far from the end a match may be, the end counted: positions for `breakpoints`, messages
    for `endings`; None is without limit."""
    drops_reasoning: bool = False
    """Whether the model is no longer shown the reasoning of a turn once the user speaks again: the
    prompt then changes from the first answer of that turn on."""


OPENAI_URL: Final = "https://developers.openai.com/api/docs/guides/prompt-caching"
ANTHROPIC_URL: Final = "https://platform.claude.com/docs/en/build-with-claude/prompt-caching"
GEMINI_URL: Final = "https://ai.google.dev/gemini-api/docs/caching"
REASONING_URL: Final = "https://developers.openai.com/api/docs/guides/reasoning"
"""Reasoning is discarded after each turn; from GPT-5.6 on models may keep it."""
THINKING_URL: Final = "https://platform.claude.com/docs/en/build-with-claude/extended-thinking"
"""Thinking of earlier turns is kept from Claude Opus 4.5 and Sonnet 4.6 on; before, and by Haiku
up to 4.5, only that of the last turn."""
DEEPSEEK_URL: Final = "https://api-docs.deepseek.com/guides/kv_cache"
PRICES_URL: Final = "https://github.com/pydantic/genai-prices"

MINUTE: Final = 60.0
HOUR: Final = 60 * MINUTE

RULES: Final[tuple[CachingRule, ...]] = (
    CachingRule("none", PRICES_URL, "nothing"),
    # A read price without a documented rule. Taken as the plainest: a prefix, five minutes.
    CachingRule("assumed-prefix", PRICES_URL, "prefix", 1_024, ttl_seconds=5 * MINUTE),
    # Kept in memory: typically 5 to 10 minutes without use. Reasoning: REASONING_URL.
    CachingRule("openai", OPENAI_URL, "prefix", 1_024, 128, 5 * MINUTE, drops_reasoning=True),
    # Extended retention, the default of most organisations: typically around 30 minutes.
    CachingRule("openai-24h", OPENAI_URL, "prefix", 1_024, 128, 30 * MINUTE, drops_reasoning=True),
    CachingRule(
        "openai-5.5", OPENAI_URL, "prefix", 1_024, 2_048, 30 * MINUTE, drops_reasoning=True
    ),
    CachingRule(
        "openai-5.6", OPENAI_URL, "endings", 1_024, 1, 30 * MINUTE, bills_writes=True, lookback=21
    ),
    CachingRule(
        "anthropic-5m",
        ANTHROPIC_URL,
        "breakpoints",
        1_024,
        1,
        5 * MINUTE,
        bills_writes=True,
        lookback=20,
    ),
    CachingRule(
        "anthropic-1h", ANTHROPIC_URL, "breakpoints", 1_024, 1, HOUR, bills_writes=True, lookback=20
    ),
    # Best effort, "in a short amount of time": no lifetime is documented, five minutes is taken.
    CachingRule("gemini", GEMINI_URL, "prefix", 4_096, ttl_seconds=5 * MINUTE),
    # No lifetime is documented any more; it was "hours to days". Units inside one long input are
    # made at an interval that is not documented, and are left out.
    CachingRule("deepseek", DEEPSEEK_URL, "units", ttl_seconds=HOUR),
)
_BY_NAME: Final = {rule.name: rule for rule in RULES}

_ANTHROPIC_MINIMUMS: Final = (
    ("claude-(fable|mythos)-5", 512),
    ("claude-opus-5", 512),
    ("claude-(sonnet|haiku)-5-5", 512),
    ("claude-opus-4-[56]", 4_096),
    ("claude-haiku-4-5", 4_096),
    ("claude-opus-4-7", 2_048),
    ("claude-3-(5-)?haiku", 2_048),
)
"""Pattern of the model -> shortest cached prefix; the first that matches. All others: 1,024."""
_DROPS_THINKING: Final = re.compile(
    r"claude-(3|(opus|sonnet)-4(-[01])?(-\d{8})?$|(sonnet|haiku)-4-5)"
)
"""Claude Opus 4.1, Sonnet 4.5, Haiku 4.5 and older ones. Source: THINKING_URL."""
_GEMINI_MINIMUMS: Final = (("gemini-2.5", 2_048), ("gemini-3-flash", 1_024))
"""As above; all others 4,096."""
_GEMINI_UNCACHED: Final = re.compile(r"gemini-(1|2\.0)")
_EXTENDED_RETENTION: Final = frozenset(
    {
        "gpt-4.1",
        "gpt-5",
        "gpt-5-codex",
        "gpt-5.1",
        "gpt-5.1-chat-latest",
        "gpt-5.1-codex",
        "gpt-5.1-codex-max",
        "gpt-5.1-codex-mini",
        "gpt-5.2",
        "gpt-5.4",
    }
)
_GPT_VERSION: Final = re.compile(r"gpt-(\d+)(?:\.(\d+))?")


def rule_named(name: str) -> CachingRule | None:
    """Return a shipped rule."""
    return _BY_NAME.get(name)


def rule_for(model: str, *, has_read_price: bool, keeps_an_hour: bool = False) -> CachingRule:
    """Return the rule of the model's family, whoever serves it.

    Args:
        model: As the price list names it: `claude-opus-4-5`.
        has_read_price: Whether reading from the cache is cheaper at all.
        keeps_an_hour: Whether the client asks Anthropic for the longer lifetime.
    """
    if not has_read_price:
        return _BY_NAME["none"]
    if "claude" in model:
        rule = _BY_NAME["anthropic-1h" if keeps_an_hour else "anthropic-5m"]
        return replace(
            rule,
            min_tokens=_minimum(model, _ANTHROPIC_MINIMUMS, rule.min_tokens),
            drops_reasoning=_DROPS_THINKING.search(model) is not None,
        )
    if "gemini" in model and not _GEMINI_UNCACHED.search(model):
        rule = _BY_NAME["gemini"]
        return replace(rule, min_tokens=_minimum(model, _GEMINI_MINIMUMS, rule.min_tokens))
    if model.startswith("deepseek"):
        return _BY_NAME["deepseek"]
    if model.startswith(("gpt-", "o1", "o3", "o4")) and not model.startswith("gpt-oss"):
        return _BY_NAME[_openai_rule(model)]
    return _BY_NAME["assumed-prefix"]


def _minimum(model: str, minimums: tuple[tuple[str, int], ...], default: int) -> int:
    return next((tokens for pattern, tokens in minimums if re.search(pattern, model)), default)


def _openai_rule(model: str) -> str:
    found = _GPT_VERSION.match(model)
    version = (int(found[1]), int(found[2] or 0)) if found else (0, 0)
    if version >= (5, 6):
        return "openai-5.6"
    if version == (5, 5):
        return "openai-5.5"
    return "openai-24h" if model in _EXTENDED_RETENTION else "openai"
