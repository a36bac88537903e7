"""Which tool results show a file that a later call changed.

Files are known by the path arguments of calls and by the headers of patches; what a shell command
does to a file is not seen. A call that failed changed nothing.
"""

import json
import re
from bisect import bisect_left
from collections import defaultdict
from typing import Final

from compaction.messages import Messages, ToolCall
from compaction.pairing import Pairing
from evals.message_text import decoded
from evals.reference_tokens import canonical_path
from evals.tool_names import is_writing

PATH_ARGUMENTS: Final = ("path", "file_path", "filePath", "filename", "file_name", "notebook_path")
"""Arguments by which agents' tools name their file."""

_PATCHED: Final = re.compile(r"(?m)^\*\*\* (?:Add|Update|Delete) File: (.+?)\s*$")
"""Headers of the patch format that `apply_patch` takes."""
_FAILED: Final = '"is_error":true'
"""As importers keep it, in canonical JSON."""


class FileVersions:
    """The files of one segment: which result shows which, and which message changed it when."""

    def __init__(self, messages: Messages) -> None:
        self._shown: dict[int, str] = {}
        self._changes: defaultdict[str, list[int]] = defaultdict(list)
        named: dict[tuple[int, ToolCall], str] = {}
        changes: list[tuple[int, ToolCall, set[str]]] = []
        for at, message in enumerate(messages):
            for call in message.tool_calls:
                path, is_change = _file_of(call)
                changed = _patched_by(call)
                if path is not None:
                    named[at, call] = path
                    changed |= {path} if is_change else set()
                if changed:
                    changes.append((at, call, changed))
        if not changes:
            return
        call_of = Pairing(messages).call_of
        failed = {call_of[at] for at in call_of if _FAILED in messages[at].extra}
        for at, call, changed in changes:
            for each in changed if (at, call) not in failed else ():
                self._changes[each].append(at)
        for at, made in call_of.items():
            if made in named:
                self._shown[at] = named[made]

    def changed_by(self, at: int, before: int) -> int | None:
        """Return the last message between two that changed the file which result `at` shows."""
        path = self._shown.get(at)
        changes = self._changes.get(path, []) if path is not None else []
        count = bisect_left(changes, before)
        return changes[count - 1] if count and changes[count - 1] > at else None


def _patched_by(call: ToolCall) -> set[str]:
    if "*** " not in call.arguments:
        return set()
    return {_canonical(path) for path in _PATCHED.findall(decoded(call.arguments))}


def _file_of(call: ToolCall) -> tuple[str | None, bool]:
    """Return the file that a call names, and whether it changes it."""
    if "path" not in call.arguments and "file" not in call.arguments:
        return None, False
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return None, False
    if not isinstance(arguments, dict):
        return None, False
    values = (arguments.get(name) for name in PATH_ARGUMENTS)
    path = next((value for value in values if isinstance(value, str) and value.strip()), None)
    # Editors with several commands read with this one.
    is_change = is_writing(call.name) and arguments.get("command") != "view"
    return (None if path is None else _canonical(path)), is_change


def _canonical(path: str) -> str:
    return canonical_path(path.strip().replace("\\", "/")) or path
