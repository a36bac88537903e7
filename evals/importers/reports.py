"""Collecting what a reader did not turn into messages, briefly and with line numbers."""

from collections.abc import Iterable

from compaction.messages import Message
from compaction.pairing import pair
from evals.transcripts import Skipped


class Report:
    """Single findings, and counts of records that come in hundreds."""

    def __init__(self, unit: str = "line") -> None:
        """Count in `unit`: lines, or the events of a document."""
        self._found: list[Skipped] = []
        self._counts: dict[tuple[str, bool], list[int]] = {}
        self._unit = unit

    def add(self, where: str, reason: str, *, expected: bool = False) -> None:
        self._found.append(Skipped(where, reason, expected))

    def count(self, line: int, reason: str, *, expected: bool = True) -> None:
        """Note one more record of a kind; a kind becomes one item that names its first line."""
        self._counts.setdefault((reason, expected), [line, 0])[1] += 1

    def skipped(self) -> tuple[Skipped, ...]:
        counted = (
            Skipped(
                f"{self._unit} {line}",
                f"{reason} ({count} records, the first one here)" if count > 1 else reason,
                expected,
            )
            for (reason, expected), (line, count) in self._counts.items()
        )
        return (*self._found, *counted)


def orphan_results(messages: Iterable[Message]) -> list[Skipped]:
    """Report results without a call. They stay in the transcript, as they were sent."""
    listed = list(messages)
    return [
        Skipped(
            f"messages[{index}]",
            f"a result for call {listed[index].tool_call_id!r}, which no message before it made; "
            "kept as it is",
        )
        for index in pair(listed).orphans
    ]


def unique_names(names: Iterable[str]) -> list[str]:
    """Append `#2`, `#3` to names that were given before."""
    repeats: dict[str, int] = {}
    used: set[str] = set()
    result = []
    for name in names:
        candidate = name
        while candidate in used:
            repeats[name] = repeats.get(name, 1) + 1
            candidate = f"{name}#{repeats[name]}"
        used.add(candidate)
        result.append(candidate)
    return result
