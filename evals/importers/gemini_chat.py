"""The messages of a Gemini CLI chat while its file is read.

In JSON Lines a message is written again when it grows, and the last one counts. `$set` of the whole
list replaces the history and `$rewindTo` drops its end; where answers are gone or outputs masked
after that, the history was compacted.
"""

from dataclasses import dataclass, field
from typing import Final

from compaction.messages import Json
from evals.importers.files import JsonValue
from evals.importers.reports import Report
from evals.importers.segment_builder import object_of, objects_of, text_of
from evals.transcripts import RecordedCompaction

MASKED_MARK: Final = "<tool_output_masked>"
SNAPSHOT_MARK: Final = "<state_snapshot>"
"""How the summary begins that replaces a history."""


@dataclass(slots=True)
class _State:
    """The history between two replacements."""

    opened_by: RecordedCompaction | None
    records: dict[str, Json] = field(default_factory=dict)


class GeminiChat:
    """The messages of a file while it is read, by id."""

    def __init__(self, report: Report) -> None:
        self.header: Json = {}
        self._report = report
        self._done: list[_State] = []
        self._state = _State(None)

    def add(self, record: JsonValue, line: int) -> None:
        if not isinstance(record, dict):
            self._report.add(f"line {line}", "not an object")
        elif "$set" in record:
            self._set(object_of(record["$set"]), line)
        elif "$rewindTo" in record:
            self._rewind(record["$rewindTo"], line)
        elif isinstance(record.get("type"), str):
            self._put(record, f"line {line}")
        elif "sessionId" in record:
            self.header = {**record, **self.header}
        else:
            self._report.count(line, "record of unknown kind", expected=False)

    def replace(self, messages: list[JsonValue], where: str) -> None:
        """Take a list for the whole history."""
        for index, message in enumerate(messages):
            if isinstance(message, dict):
                self._put(message, f"{where}[{index}]")
            else:
                self._report.add(f"{where}[{index}]", "not an object")

    def states(self) -> list[tuple[RecordedCompaction | None, list[Json]]]:
        listed = [*self._done, self._state]
        return [(state.opened_by, list(state.records.values())) for state in listed]

    def _put(self, message: Json, where: str) -> None:
        key = text_of(message, "id") or where
        self._state.records[key] = {**message, "where": where}

    def _set(self, fields: Json, line: int) -> None:
        messages = fields.get("messages")
        if not isinstance(messages, list):
            self._report.count(line, "$set of fields beside the messages")
            return
        old = self._state.records
        new = {str(message.get("id")): message for message in objects_of(messages)}
        opened_by = _replacement(old, new)
        if opened_by is not None:
            self._done.append(self._state)
            self._state = _State(opened_by)
        elif not old.keys() <= new.keys():
            self._state.records = {key: old[key] for key in old if key in new}
        self.replace(messages, f"line {line}: $set.messages")

    def _rewind(self, target: JsonValue, line: int) -> None:
        """Drop a message and all after it; their requests stay in the segment before."""
        keys = list(self._state.records)
        if not isinstance(target, str) or target not in self._state.records:
            self._report.count(line, "rewind to a message that is not in the log", expected=False)
            return
        kept = {key: self._state.records[key] for key in keys[: keys.index(target)]}
        self._done.append(self._state)
        self._state = _State(None, kept)


def _replacement(old: dict[str, Json], new: dict[str, Json]) -> RecordedCompaction | None:
    """Tell whether a new history is the old one compacted, and how; None if it only grew."""
    if _answers(old) - _answers(new):
        texts = [str(message.get("content")) for message in list(new.values())[:2]]
        summary = next((text for text in texts if SNAPSHOT_MARK in text), None)
        return RecordedCompaction("full", summary=summary)
    if any(_is_masked(new[key]) and not _is_masked(old[key]) for key in old if key in new):
        return RecordedCompaction("micro", trigger="tool output masking")
    return None


def _answers(records: dict[str, Json]) -> set[str]:
    return {key for key, record in records.items() if record.get("type") == "gemini"}


def _is_masked(record: Json) -> bool:
    return any(MASKED_MARK in str(call.get("result")) for call in calls_of(record))


def calls_of(record: Json) -> list[Json]:
    return objects_of(record.get("toolCalls"))
