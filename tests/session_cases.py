"""Messages, files and lines that the tests of sessions use."""

import json
from pathlib import Path

from compaction.messages import Message, Messages
from compaction.session import Session


def talk(count: int) -> list[Message]:
    """A system message, then user and assistant in turn."""
    roles = ("assistant", "user")
    return [
        Message("system", "m0"),
        *(Message(roles[i % 2], f"m{i}") for i in range(1, count)),  # type: ignore[arg-type]
    ]


def session_of(messages: list[Message], path: Path | None = None) -> Session:
    session = Session(path, sync=False)
    for message in messages:
        session.append(message)
    return session


def texts(messages: Messages) -> list[str]:
    return [message.text for message in messages]


def write_lines(path: Path, *lines: object) -> Path:
    path.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines))
    return path


def older(entry_id: str, parent_id: str | None, role: str, content: str) -> dict[str, object]:
    return {
        "id": entry_id,
        "parent_id": parent_id,
        "type": "message",
        "role": role,
        "content": content,
        "metadata": None,
    }
