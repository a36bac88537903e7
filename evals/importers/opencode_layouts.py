"""The two layouts of opencode sessions as one: messages with their parts, in order."""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from compaction.messages import Json
from evals.importers.files import JsonValue
from evals.importers.reports import Report
from evals.importers.segment_builder import object_of, objects_of, text_of


class Entry(NamedTuple):
    """A message and its parts."""

    where: str
    info: Json
    parts: list[Json]


class Session(NamedTuple):
    """A session, or a sub-agent's, which has the id of the session that started it."""

    name: str
    session: str | None
    project: str | None
    version: str | None
    entries: list[Entry]


def is_session(document: JsonValue) -> bool:
    if isinstance(document, list):
        return bool(document) and is_session(document[0])
    if not isinstance(document, dict) or not isinstance(document.get("messages"), list):
        return False
    if isinstance(document.get("session"), dict | list):
        return isinstance(document.get("parts"), list) or _has_data(document["messages"])
    info = object_of(document.get("info"))
    is_named = isinstance(info.get("id"), str) and ("projectID" in info or "directory" in info)
    return is_named or _has_parts(document["messages"])


def sessions_of(document: JsonValue, report: Report) -> Iterator[Session]:
    """Yield the sessions of an export or a dump, or of a list of them."""
    for index, item in enumerate(document if isinstance(document, list) else [document]):
        if not isinstance(item, dict):
            report.add(f"[{index}]", "not an object")
        elif "session" in item:
            yield from _dumped(item, report)
        else:
            listed = item.get("messages")
            entries = list(_entries(listed if isinstance(listed, list) else [], report))
            yield _session(object_of(item.get("info")), entries)


def _session(row: Json, entries: list[Entry]) -> Session:
    own = text_of(row, "id")
    return Session(
        name=own or "session",
        session=text_of(row, "parentID", "parent_id") or own,
        project=text_of(row, "projectID", "project_id", "directory"),
        version=text_of(row, "version"),
        entries=entries,
    )


def _entries(messages: list[JsonValue], report: Report) -> Iterator[Entry]:
    for index, message in enumerate(messages):
        where = f"messages[{index}]"
        if isinstance(message, dict) and isinstance(message.get("info"), dict):
            yield Entry(where, message["info"], objects_of(message.get("parts")))
        else:
            report.add(where, "no message with info and parts")


def _dumped(document: Json, report: Report) -> Iterator[Session]:
    """Join the rows of a database; ids of opencode ascend in time."""
    parts: defaultdict[str, list[Json]] = defaultdict(list)
    for index, row in enumerate(objects_of(document.get("parts"))):
        part = _unpacked(row, f"parts[{index}]", report)
        parts[str(row.get("message_id") or part.get("messageID"))].append(part)
    messages: defaultdict[str, list[Entry]] = defaultdict(list)
    for index, row in enumerate(objects_of(document.get("messages"))):
        where = f"messages[{index}]"
        info = _unpacked(row, where, report)
        own = [_unpacked(part, where, report) for part in objects_of(row.get("parts"))]
        own += parts.pop(str(info.get("id")), [])
        own.sort(key=lambda part: str(part.get("id", "")))
        session_id = str(row.get("session_id") or info.get("sessionID"))
        messages[session_id].append(Entry(where, info, own))
    lost = sum(len(listed) for listed in parts.values())
    if lost:
        report.add("parts", f"{lost} parts of messages that are not in the file")
    rows = document["session"]
    listed = objects_of(rows if isinstance(rows, list) else [rows])
    for row in listed:
        key = str(row.get("id"))
        entries = messages.pop(key, []) if len(listed) > 1 else _joined(messages)
        yield _session(row, sorted(entries, key=lambda entry: str(entry.info.get("id", ""))))
    if len(listed) > 1 and messages:
        report.add("messages", f"messages of {len(messages)} sessions that are not in the file")


def _joined(messages: dict[str, list[Entry]]) -> list[Entry]:
    return [entry for entries in messages.values() for entry in entries]


def _unpacked(row: Json, where: str, report: Report) -> Json:
    """Merge a row with its `data` column, which may be JSON text."""
    data = row.get("data")
    if isinstance(data, str):
        try:
            data = json.loads(data)
        except (ValueError, RecursionError) as error:
            report.add(where, f"the data column is not JSON: {error}")
    rest = {key: value for key, value in row.items() if key not in ("data", "parts")}
    return {**rest, **object_of(data)}


def _has_data(messages: list[JsonValue]) -> bool:
    return any("data" in message for message in objects_of(messages[:3]))


def _has_parts(messages: list[JsonValue]) -> bool:
    return any(
        isinstance(message.get("parts"), list) and "sessionID" in object_of(message.get("info"))
        for message in objects_of(messages[:3])
    )
