"""Which files a conversation read and changed, gathered from tool calls and carried in summaries.

Only the arguments of calls are looked at: that a call failed does not make its path worthless.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import ClassVar, Final

from compaction.messages import Message

_BLOCK: Final = re.compile(r"<(read|modified)-files>\n?(.*?)</\1-files>[ \t]*\n*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Footprint:
    """Paths in the order of their first use, none twice; a file may be in both lists."""

    read: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()

    def followed_by(self, later: "Footprint") -> "Footprint":
        return Footprint(
            tuple(dict.fromkeys(self.read + later.read)),
            tuple(dict.fromkeys(self.modified + later.modified)),
        )

    def latest(self, max_chars: int) -> "Footprint":
        """Return the last files of both lists that fit, the modified ones first."""
        modified = _fitting(self.modified, max_chars)
        left_chars = max_chars - sum(len(_line(path)) + 1 for path in modified)
        return Footprint(_fitting(self.read, left_chars), modified)

    def render(self) -> str:
        """Return the blocks that are not empty, separated by an empty line."""
        named = (("read", self.read), ("modified", self.modified))
        return "\n\n".join(
            f"<{name}-files>\n" + "\n".join(map(_line, paths)) + f"\n</{name}-files>"
            for name, paths in named
            if paths
        )


def split_footprint(text: str) -> tuple[str, Footprint]:
    """Return `text` without its blocks, and what they list."""
    found = Footprint()
    for name, body in _BLOCK.findall(text):
        paths = tuple(_path(line) for line in body.splitlines() if line.strip())
        found = found.followed_by(Footprint(**{name: paths}))
    return _BLOCK.sub("", text).rstrip(), found


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLedger:
    """Knows by which tools and arguments files are read and changed; case does not matter."""

    name: ClassVar[str] = "file_ledger"

    read_tools: frozenset[str] = frozenset({"read", "read_file"})
    modify_tools: frozenset[str] = frozenset({"edit", "write", "edit_file", "write_file"})
    path_arguments: tuple[str, ...] = ("path", "file_path")
    """The first that a call has names its file."""

    def gather(self, messages: Iterable[Message]) -> Footprint:
        """Return the files of all calls; arguments that are no JSON object name none."""
        read: dict[str, None] = {}
        modified: dict[str, None] = {}
        for message in messages:
            for call in message.tool_calls:
                tool = call.name.lower()
                listed = read if tool in self.read_tools else modified
                known = tool in self.read_tools or tool in self.modify_tools
                if known and (path := self._path_in(call.arguments)):
                    listed[path] = None
        return Footprint(tuple(read), tuple(modified))

    def _path_in(self, arguments: str) -> str | None:
        try:
            given = json.loads(arguments)
        except (ValueError, RecursionError):
            return None
        if not isinstance(given, dict):
            return None
        values = (given.get(name) for name in self.path_arguments)
        return next((value for value in values if isinstance(value, str) and value.strip()), None)


def _fitting(paths: tuple[str, ...], max_chars: int) -> tuple[str, ...]:
    sizes = accumulate(len(_line(path)) + 1 for path in reversed(paths))
    count = sum(1 for _ in takewhile(lambda size: size <= max_chars, sizes))
    return paths[len(paths) - count :]


def _line(path: str) -> str:
    """Write a path on one line that cannot close the block; an odd one as a JSON string."""
    harmless = path == path.strip() and path.isprintable() and not set(path) & set('<"')
    return path if harmless else json.dumps(path).replace("<", "\\u003c")


def _path(line: str) -> str:
    if line.startswith('"'):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return line.strip()
        return value if isinstance(value, str) else line.strip()
    return line.strip()
