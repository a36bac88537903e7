"""A stand-in for a model: summaries made of the conversation's own lines. No network, no key.

The default where no model is given. Deterministic, linear in the text, and unable to invent: apart
from the headings that the call asks for, each line is a line of the subject or of the previous
summary, at most clipped. Which line goes where is in `extracts`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from compaction.clipping import clip_head
from compaction.extracts import Extract, Extracts, Kind, is_heading, kind_of
from compaction.llm import ModelCall, ModelReply
from compaction.prompts import SUMMARY_SECTIONS, text_of

DEFAULT_OUTPUT_TOKENS: Final = 1_024
QUARTERS_PER_TOKEN: Final = 4
"""Sizes are in quarter tokens: an ASCII character is one, any other character four."""

_SHARES: Final[dict[Kind, float]] = {
    "goal": 0.15,
    "constraints": 0.20,
    "facts": 0.25,
    "files": 0.12,
    "errors": 0.10,
    "decisions": 0.10,
    "progress": 0.10,
    "open": 0.10,
    "system": 0.10,
}
"""What part of the summary a kind may take before all others have had their part."""
_PREVIOUS_SHARE: Final = 0.5
"""What part of a section's helping lines of the previous summary may take at first."""
_MIN_LINE_QUARTERS: Final = 40


@dataclass(frozen=True, slots=True)
class ExtractiveModel:
    """Answers summary calls with lines of the subject and of the previous summary.

    The summary has at most `call.max_output_tokens` (else 1,024), and at most half the size of
    the subject beside what the previous summary had.
    """

    name: str = "extractive"

    def complete(self, call: ModelCall) -> ModelReply:
        return ModelReply(summarize(call), model=self.name)

    async def acomplete(self, call: ModelCall) -> ModelReply:
        return self.complete(call)


def summarize(call: ModelCall) -> str:
    """Return the summary that a call asks for."""
    headings = call.sections or SUMMARY_SECTIONS
    extracts = Extracts(call, headings)
    sections = [_Section(heading, extracts) for heading in _leaves(headings)]
    budget = _budget_quarters(call)
    taken: set[str] = set()
    spent = 0
    for section in sections:
        share = max(int(budget * _SHARES[section.kind]), section.needs_at_least())
        spent += section.take(min(share, budget - spent), taken, share * _PREVIOUS_SHARE)
    by_share = sorted(sections, key=lambda section: -_SHARES[section.kind])
    for previous_budget in ((budget - spent) * _PREVIOUS_SHARE, float("inf")):
        for section in by_share:
            spent += section.take(budget - spent, taken, previous_budget)
    text = "\n".join(_rendered(headings, sections))
    return text or _clipped(extracts.first_line, budget)


class _Section:
    """One heading and the lines chosen for it."""

    def __init__(self, heading: str, extracts: Extracts) -> None:
        self.heading = heading
        self.kind = kind_of(heading)
        self.lines: list[Extract] = []
        self._candidates = extracts.ranked(self.kind)
        self._previous_spent = 0

    def needs_at_least(self) -> int:
        """Return what the heading with the best line costs."""
        best = [size_quarters(line.text) + 1 for line in self._candidates[:1]]
        return sum(best) + size_quarters(self.heading) + 1

    def take(self, budget: int, taken: set[str], previous_budget: float) -> int:
        """Choose lines in their rank while they fit, and return what they cost."""
        spent, waiting = 0, []
        candidates = iter(self._candidates)
        for line in candidates:
            cost = size_quarters(line.text) + 1
            heading = 0 if self.lines else size_quarters(self.heading) + 1
            if line.text in taken:
                continue
            if line.is_previous and self._previous_spent + cost > previous_budget:
                waiting.append(line)
                continue
            if spent + cost + heading > budget:
                waiting.append(line)
                if budget - spent < _MIN_LINE_QUARTERS:
                    break
                continue
            taken.add(line.text)
            self.lines.append(line)
            self._previous_spent += cost if line.is_previous else 0
            spent += cost + heading
        self._candidates = [*waiting, *candidates]
        return spent


def size_quarters(text: str) -> int:
    """Estimate the size of a text in quarter tokens."""
    if text.isascii():
        return len(text)
    ascii_chars = len(text.encode("ascii", "ignore"))
    return ascii_chars + QUARTERS_PER_TOKEN * (len(text) - ascii_chars)


def _budget_quarters(call: ModelCall) -> int:
    limit = QUARTERS_PER_TOKEN * (call.max_output_tokens or DEFAULT_OUTPUT_TOKENS)
    subject = sum(size_quarters(text_of(message)) for message in call.subject)
    return min(limit, subject // 2 + size_quarters(call.previous_summary or ""))


def _leaves(headings: tuple[str, ...]) -> Iterator[str]:
    """Yield the headings that hold lines: all but those directly above a deeper one."""
    for heading, following in zip(headings, (*headings[1:], ""), strict=True):
        if not _is_parent(heading, following):
            yield heading


def _rendered(headings: tuple[str, ...], sections: list[_Section]) -> Iterator[str]:
    filled = {section.heading: section for section in sections if section.lines}
    for heading in headings:
        if section := filled.get(heading):
            yield heading
            yield from (line.text for line in sorted(section.lines, key=lambda line: line.order))


def _is_parent(heading: str, following: str) -> bool:
    def depth(line: str) -> int:
        return len(line) - len(line.lstrip("#"))

    return is_heading(heading) and depth(following) > depth(heading)


def _clipped(line: str, budget: int) -> str:
    text = clip_head(line, max(1, budget))
    while text and size_quarters(text) > budget:
        text = text[: max(0, len(text) * 3 // 4)]
    return text.strip() or line[:1]
