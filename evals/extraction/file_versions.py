"""Which tool results show a file that a later call changed.

A call that failed changed nothing; what calls do to files is `evals.extraction.file_calls`.
"""

from bisect import bisect_left
from collections import defaultdict

from compaction.messages import Messages, ToolCall
from compaction.pairing import Pairing
from evals.extraction.file_calls import changed_by, failed_calls, named_by


class FileVersions:
    """The files of one segment: which result shows which, and which message changed it when."""

    def __init__(self, messages: Messages) -> None:
        self._shown: dict[int, str] = {}
        self._changes: defaultdict[str, list[int]] = defaultdict(list)
        changes: list[tuple[int, ToolCall, frozenset[str]]] = []
        for at, message in enumerate(messages):
            made = ((call, changed_by(call)) for call in message.tool_calls)
            changes += [(at, call, changed) for call, changed in made if changed]
        if not changes:
            return
        call_of = Pairing(messages).call_of
        failed = failed_calls(messages, call_of)
        for at, call, changed in changes:
            for each in changed if (at, call) not in failed else ():
                self._changes[each].append(at)
        for at, (_, call) in call_of.items():
            path = named_by(call)
            if path is not None:
                self._shown[at] = path

    def changed_by(self, at: int, before: int) -> int | None:
        """Return the last message between two that changed the file which result `at` shows."""
        path = self._shown.get(at)
        changes = self._changes.get(path, []) if path is not None else []
        count = bisect_left(changes, before)
        return changes[count - 1] if count and changes[count - 1] > at else None
