"""The texts of the system xun: placeholder, template of a compacted prompt, request for a summary.

The seed prints the placeholder and the first sentence of the template; the rest is worded here.
"""

from dataclasses import dataclass
from typing import Final

from compaction.llm import ModelCall
from compaction.messages import INSTRUCTION_ROLES, Message, Messages
from compaction.quoting import quote, unquote

EXTRACT_TOOL: Final = "extract_compacted_tool_result"

PLACEHOLDER: Final = (
    "[Compacted, ID: {handle}. If this content is still needed, call "
    f"{EXTRACT_TOOL} with this ID or re-run the tool.]"
)
"""What stands in place of a collected tool result."""

COMPACTED_SYSTEM_PROMPT: Final = (
    "Earlier conversation history has been compacted into the summary below. "
    "Treat it as established context and continue from it; "
    "the most recent messages follow unchanged.\n\n"
    "<summary>\n{summary}\n</summary>"
)

SECTIONS: Final = (
    "system_context",
    "overview",
    "key_facts",
    "user_preferences",
    "decisions",
    "pending_tasks",
    "open_questions",
    "tone_context",
)
"""Headings of a summary, in order."""

MAX_SUMMARY_TOKENS: Final = 1_024

_SECTION_HINTS: Final = (
    "who the assistant is, its rules, its environment",
    "what the conversation is about and where it stands",
    "names, paths, numbers, commands and error texts, exactly as written",
    "what the user likes, dislikes and forbids",
    "what was decided, and why",
    "what is still to be done, in order",
    "what nobody has answered yet",
    "language and tone of the conversation",
)

SUMMARY_INSTRUCTION: Final = (
    "Stop working on the task. Summarise the conversation above, and any earlier summary in it, "
    "so that it can be continued without the messages themselves.\n\n"
    "Write markdown with exactly these sections, in this order:\n"
    + "\n".join(f"## {name}\n({hint})" for name, hint in zip(SECTIONS, _SECTION_HINTS, strict=True))
    + f"\n\nStay under {MAX_SUMMARY_TOKENS:,} tokens in total. Write only what the conversation "
    "says; write `none` in a section that has nothing. Call no tool. "
    "Reply with the summary and nothing else."
)

RESPONSE_SCHEMA_PROMPT: Final = "Answer with JSON only, matching this JSON schema:\n{schema}"

_BEFORE, _AFTER = COMPACTED_SYSTEM_PROMPT.split("{summary}")
_BEFORE_HANDLE, _AFTER_HANDLE = PLACEHOLDER.split("{handle}")


def wrap_summary(summary: str) -> str:
    """Return the system text that introduces `summary`."""
    return f"{_BEFORE}{quote(summary, COMPACTED_SYSTEM_PROMPT)}{_AFTER}"


def unwrap_summary(text: str) -> str | None:
    """Return the summary inside a text that `wrap_summary` made, or None for any other text."""
    quoted = _between(text, _BEFORE, _AFTER)
    return None if quoted is None else unquote(quoted, COMPACTED_SYSTEM_PROMPT)


def placeholder_handle(text: str) -> str | None:
    """Return the handle that a placeholder names, or None for any other text."""
    return _between(text, _BEFORE_HANDLE, _AFTER_HANDLE)


def _between(text: str, before: str, after: str) -> str | None:
    framed = text.startswith(before) and text.endswith(after)
    framed = framed and len(text) >= len(before) + len(after)
    return text[len(before) : len(text) - len(after)] if framed else None


@dataclass(frozen=True, slots=True)
class XunSummaryPrompt:
    """The real messages, followed by the request: what the seed's sub-agent has before it."""

    include_system: bool = True
    """Whether the batch begins with the system message, and so with an earlier summary."""

    def build(
        self,
        subject: Messages,
        *,
        previous_summary: str | None = None,
        focus: str | None = None,
        left_out: int = 0,
    ) -> ModelCall:
        leading = next(
            (i for i, m in enumerate(subject) if m.role not in INSTRUCTION_ROLES), len(subject)
        )
        summaries = [unwrap_summary(message.text) for message in subject[:leading]]
        batch = subject if self.include_system else subject[leading:]
        instruction = SUMMARY_INSTRUCTION
        if left_out:
            instruction += f"\n{left_out} older messages did not fit and are not shown."
        if focus:
            instruction += f"\nGive the most room to this: {focus}"
        return ModelCall(
            messages=(*batch, Message("user", instruction)),
            subject=tuple(message for message in batch if unwrap_summary(message.text) is None),
            previous_summary=previous_summary
            or next((text for text in summaries if text and self.include_system), None),
            sections=tuple(f"## {name}" for name in SECTIONS),
            focus=focus,
        )

    def parse(self, text: str) -> str:
        return text.strip()
