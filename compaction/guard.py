"""Which replies of a model are never committed as a summary."""

import re
from dataclasses import dataclass
from typing import Final

from compaction.history import Measure
from compaction.llm import ModelReply
from compaction.messages import Message, Messages
from compaction.tokens import total_of

SHORT_REPLY_CHARS: Final = 600
"""A longer text may mention an error or an apology and still be a summary."""

_REFUSAL: Final = re.compile(
    r"\W*(i['’]?m sorry|i am sorry|sorry,|i can(no|['’])t (help|assist|comply|summari|do|fulfil)"
    r"|i (am|['’]m) (unable|not able) to|as an ai\b|很?抱歉|对不起|我(无法|不能))",
    re.IGNORECASE,
)
_ERROR: Final = re.compile(
    r"\W*(\w*(error|exception)\b\W*[:\]\d]|error (code|calling|generating|while)|traceback \(most"
    r"|http \d\d\d\b|\d\d\d [a-z ]*(error|bad request|unauthorized|too many))"
    r"|[\s\S]*(context_length_exceeded|maximum context length|prompt is too long"
    r"|rate.?limit (reached|exceeded)|insufficient_quota|internal server error)"
    r"|\s*\{\s*\"error\"\s*:",
    re.IGNORECASE,
)
_TEXTUAL_CALL: Final = re.compile(r"\s*<(tool_call|function_call|invoke)\b[\s\S]*>\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Rejects what is no summary. Every switch that is on is a promise."""

    reject_empty: bool = True
    reject_refused: bool = True
    reject_truncated: bool = True
    reject_tool_call: bool = True
    """A reply that is nothing but tool calls."""
    reject_error_text: bool = True
    """A short reply that is the text of an error."""
    reject_grown: bool = True
    """A replacement that is not smaller than what it replaces."""

    def check(self, reply: ModelReply, summary: str) -> str | None:
        """Return why the reply is no summary, or None; `summary` is what was parsed out of it."""
        short = len(summary) <= SHORT_REPLY_CHARS
        blank = not summary.strip()
        called = bool(reply.tool_names) or reply.finish_reason == "tool_calls"
        faults = (
            (self.reject_refused, reply.refusal is not None, "the model refused"),
            (
                self.reject_refused,
                reply.finish_reason == "content_filter",
                "the provider filtered the reply",
            ),
            (
                self.reject_tool_call,
                (blank and called) or _TEXTUAL_CALL.fullmatch(summary) is not None,
                "the reply is a tool call",
            ),
            (
                self.reject_truncated,
                reply.finish_reason == "length",
                "the summary was cut off at the output limit",
            ),
            (self.reject_empty, blank, "the summary is empty"),
            (
                self.reject_refused,
                short and _REFUSAL.match(summary) is not None,
                "the model refused in its text",
            ),
            (
                self.reject_error_text,
                short and _ERROR.match(summary) is not None,
                "the summary is the text of an error",
            ),
        )
        return next((reason for wanted, found, reason in faults if wanted and found), None)

    def check_size(self, replacement: Message, replaced: Messages, counter: Measure) -> str | None:
        """Return why the replacement gains nothing, or None."""
        after, before = counter.count(replacement), total_of(counter, replaced)
        if self.reject_grown and after >= before:
            return f"the summary is not smaller than what it replaces: {after} >= {before}"
        return None
