"""Which files a tool call names, and what it does to them.

Known by the call's name, its path arguments and the headers of patches. What a shell command does
to a file is not seen. Who wants to know the state of files, or which result shows which version of
one, asks here.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal

from compaction.messages import Message, ToolCall
from evals.extraction.message_text import decoded
from evals.extraction.reference_tokens import canonical_path
from evals.extraction.tool_names import is_read_only, is_writing

Action = Literal["read", "modified", "deleted", "named"]
"""`named`: the call's name says neither that it reads nor that it writes."""

_PATH_ARGUMENTS: Final = (
    *("path", "file_path", "filePath", "filename", "file_name", "notebook_path"),
)
"""Arguments by which agents' tools name their file."""
_PATCHED: Final = re.compile(r"(?m)^\*\*\* (Add|Update|Delete) File: (.+?)\s*$")
"""Headers of the patch format that `apply_patch` takes."""
_DELETING: Final = re.compile(r"delete|remove|unlink|\brm\b", re.IGNORECASE)
_FAILED: Final = '"is_error":true'
"""As importers keep it, in canonical JSON."""
_NO_FILES: Final = (".", "/")


@lru_cache(maxsize=16_384)
def actions_of(call: ToolCall) -> Mapping[str, Action]:
    """Return path -> what a call does to it; empty if it names no file. Not to be changed."""
    done: dict[str, Action] = {}
    if is_patch(call):
        for verb, path in _PATCHED.findall(decoded(call.arguments)):
            done[canonical_file(path)] = "deleted" if verb == "Delete" else "modified"
    arguments = arguments_of(call) if _may_name_a_file(call) else None
    path = named_file(arguments) if arguments else None
    if path is None or arguments is None:
        return done
    if is_change(call, arguments):
        done[path] = "deleted" if _DELETING.search(call.name) else "modified"
    else:
        reads = is_read_only(call.name) or arguments.get("command") == "view"
        done.setdefault(path, "read" if reads else "named")
    return done


def changed_by(call: ToolCall) -> frozenset[str]:
    """Return the files that a call writes or deletes."""
    found = actions_of(call).items()
    return frozenset(path for path, action in found if action in ("modified", "deleted"))


def named_by(call: ToolCall) -> str | None:
    """Return the file in a call's path argument."""
    arguments = arguments_of(call) if _may_name_a_file(call) else None
    return named_file(arguments) if arguments else None


def _may_name_a_file(call: ToolCall) -> bool:
    return "path" in call.arguments or "file" in call.arguments


def is_patch(call: ToolCall) -> bool:
    return "*** " in call.arguments


def is_change(call: ToolCall, arguments: Mapping[str, Any]) -> bool:
    """Whether a call changes what it names; editors with several commands read with `view`."""
    return is_writing(call.name) and arguments.get("command") != "view"


def named_file(arguments: Mapping[str, Any]) -> str | None:
    """Return the file that arguments name, in canonical form; a root or here is none."""
    path = text_argument(arguments, _PATH_ARGUMENTS)
    return None if path is None or path.strip() in _NO_FILES else canonical_file(path)


def text_argument(arguments: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """Return the first of some arguments that is a text and not blank."""
    found = (arguments.get(name) for name in names)
    return next((value for value in found if isinstance(value, str) and value.strip()), None)


def arguments_of(call: ToolCall) -> dict[str, Any] | None:
    """Return the arguments of a call, or None if they are no JSON object."""
    try:
        given = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return None
    return given if isinstance(given, dict) else None


def canonical_file(path: str) -> str:
    """Return a path as references write it, so that the two can be compared."""
    plain = path.strip().replace("\\", "/")
    return canonical_path(plain) or plain


def failed_calls(
    messages: Sequence[Message], call_of: Mapping[int, tuple[int, ToolCall]]
) -> frozenset[tuple[int, ToolCall]]:
    """Return (message, call) of the calls whose results are marked as errors.

    Args:
        messages: In which the results are.
        call_of: As `Pairing` has it: result -> the message that called, and the call.
    """
    return frozenset(made for at, made in call_of.items() if _FAILED in messages[at].extra)
