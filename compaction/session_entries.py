"""The lines of a session file as frozen values, and the pure fold from entries to messages.

A record is the form in which the my_pi_agent seed stores a message and counts its characters:
role, content, and everything else under `metadata`. Files and the tree are in `compaction.session`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from compaction.errors import SessionError
from compaction.messages import INSTRUCTION_ROLES, Json, Message, Messages

SUMMARY_PREFIX: Final = "[Context summary — earlier conversation compacted]\n\n"
"""What stands before the summary in the view and in an older side-hung entry."""
FOLDED_PREFIX: Final = "Previous conversation summary:\n"
"""What stands before the summary where the fold puts it."""


def record_of(message: Message) -> Json:
    """Return `{"role", "content", "metadata"}`; metadata is null for a plain message.

    Lossless: a message without any `content` key gives a record without one.
    """
    rest = message.to_openai()
    record: Json = {"role": rest.pop("role")}
    if "content" in rest:
        record["content"] = rest.pop("content")
    record["metadata"] = rest or None
    return record


def message_of(record: Mapping[str, object]) -> Message:
    """Read what `record_of` wrote.

    Raises:
        MessageError: it is no message.
    """
    metadata = record.get("metadata")
    content = {"content": record["content"]} if "content" in record else {}
    rest = metadata if isinstance(metadata, Mapping) else {}
    return Message.from_openai({**rest, "role": record.get("role"), **content})


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """One message in the tree."""

    entry_id: str
    parent_id: str | None
    message: Message
    type: Literal["message"] = "message"


@dataclass(frozen=True, slots=True)
class CompactionEntry:
    """A part of the history condensed into a summary; the entries it replaces stay in the file.

    It hangs beside the path: its parent is the message that was current when it was made.
    """

    entry_id: str
    parent_id: str | None
    summary: str
    replaces_entry_ids: tuple[str, ...] = ()
    """The condensed messages in order, and the compaction before if it is condensed again."""
    covered_count: int | None = None
    """Older form only: messages in front of the retained tail, instructions included."""
    retained_tail: Messages | None = None
    """Older form only; otherwise the messages after the last replaced one, up to the parent."""
    tokens_before: int | None = None
    summary_usage: Mapping[str, int] | None = None
    summary_model: str | None = None
    type: Literal["compaction"] = "compaction"


Entry = SessionEntry | CompactionEntry


def entry_to_json(entry: Entry) -> Json:
    """Return the object that one line of the file holds."""
    head: Json = {"id": entry.entry_id, "parent_id": entry.parent_id, "type": entry.type}
    if isinstance(entry, SessionEntry):
        return head | record_of(entry.message)
    older: Json = {}
    if entry.covered_count is not None:
        older["covered_count"] = entry.covered_count
    if entry.retained_tail is not None:
        older["retained_tail"] = [record_of(message) for message in entry.retained_tail]
    return head | {
        "summary": entry.summary,
        "replaces_entry_ids": list(entry.replaces_entry_ids),
        "metadata": {
            **older,
            "tokens_before": entry.tokens_before,
            "summary_usage": dict(entry.summary_usage) if entry.summary_usage else None,
            "summary_model": entry.summary_model,
        },
    }


def entry_from_json(raw: Mapping[str, object]) -> Entry:
    """Read one line: a message, a typed compaction, or the older one with role `system`.

    Raises:
        SessionError: a field is missing or of the wrong type.
        MessageError: the message in it is none.
    """
    entry_id, parent_id = raw.get("id"), raw.get("parent_id")
    if not isinstance(entry_id, str) or not entry_id:
        raise SessionError(f"an entry needs a text 'id', got {entry_id!r}")
    if parent_id is not None and not isinstance(parent_id, str):
        raise SessionError(f"'parent_id' must be text or null, got {parent_id!r}")
    kind = raw.get("type", "message")
    if kind == "message":
        return SessionEntry(entry_id, parent_id, message_of(raw))
    if kind == "compaction":
        return _compaction_from_json(entry_id, parent_id, raw)
    raise SessionError(f"unknown entry type {kind!r}; known: compaction, message")


def _compaction_from_json(
    entry_id: str, parent_id: str | None, raw: Mapping[str, object]
) -> CompactionEntry:
    summary = raw.get("summary", raw.get("content"))
    if not isinstance(summary, str):
        raise SessionError(f"a compaction needs a text 'summary', got {type(summary).__name__}")
    replaced = raw.get("replaces_entry_ids") or []
    metadata = raw.get("metadata") or {}
    if not isinstance(replaced, list) or not all(isinstance(item, str) for item in replaced):
        raise SessionError("'replaces_entry_ids' must be a list of texts")
    if not isinstance(metadata, Mapping):
        raise SessionError(f"'metadata' must be an object, got {type(metadata).__name__}")
    tail = metadata.get("retained_tail")
    usage = metadata.get("summary_usage")
    if not (tail is None or (isinstance(tail, list) and all(isinstance(m, Mapping) for m in tail))):
        raise SessionError("'retained_tail' must be a list of messages")
    return CompactionEntry(
        entry_id,
        parent_id,
        summary.removeprefix(SUMMARY_PREFIX),
        tuple(replaced),
        covered_count=_count(metadata, "covered_count"),
        retained_tail=None if tail is None else tuple(message_of(item) for item in tail),
        tokens_before=_count(metadata, "tokens_before"),
        summary_usage=usage if isinstance(usage, Mapping) else None,
        summary_model=_text_or_none(metadata, "summary_model"),
    )


def _count(metadata: Mapping[str, object], key: str) -> int | None:
    value = metadata.get(key)
    if value is None or (isinstance(value, int) and value >= 0 and not isinstance(value, bool)):
        return value
    raise SessionError(f"{key!r} must be a number from 0 on, got {value!r}")


def _text_or_none(metadata: Mapping[str, object], key: str) -> str | None:
    value = metadata.get(key)
    return value if isinstance(value, str) else None


@dataclass(frozen=True, slots=True)
class SessionState:
    """What the entries of one path amount to."""

    messages: Messages = ()
    summary: str | None = None
    """Of the latest compaction."""

    @classmethod
    def from_entries(cls, entries: Iterable[Entry]) -> "SessionState":
        """Fold entries, root first and each compaction behind its parent, into messages."""
        folded: list[_Folded] = []
        summary: str | None = None
        for entry in entries:
            if isinstance(entry, SessionEntry):
                folded.append(_Folded((entry.entry_id,), entry.message))
            else:
                folded = _apply_compaction(folded, entry)
                summary = entry.summary
        return cls(tuple(item.message for item in folded), summary)


class _Folded(NamedTuple):
    entry_ids: tuple[str, ...]
    """The message entries behind the message; more than one if it is a summary."""
    message: Message
    made_by: str = ""
    """The compaction entry, if it is a summary."""


def _apply_compaction(folded: list[_Folded], entry: CompactionEntry) -> list[_Folded]:
    """Put one summary message in the place of the first message that `entry` replaces.

    An earlier summary is replaced if its entry is, or any behind it. An entry that names no ids is
    of the older form and replaces by count; if it has none either, nothing is replaced.
    """
    replaced = set(entry.replaces_entry_ids) or _older_ids(folded, entry.covered_count or 0)
    gone = [item for item in folded if replaced.intersection((*item.entry_ids, item.made_by))]
    if not gone:
        return folded
    entry_ids = tuple(one for item in gone for one in item.entry_ids)
    message = Message("user", FOLDED_PREFIX + entry.summary)
    summary = _Folded(entry_ids, message, entry.entry_id)
    lost = {id(item) for item in gone[1:]}
    return [summary if item is gone[0] else item for item in folded if id(item) not in lost]


def _older_ids(folded: list[_Folded], covered_count: int) -> set[str]:
    """Return the entries behind the first `covered_count` messages, instructions left out."""
    flat = [(one, item.message) for item in folded for one in item.entry_ids]
    covered = flat[:covered_count]
    return {one for one, message in covered if message.role not in INSTRUCTION_ROLES}
