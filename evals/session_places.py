"""Where agents keep their conversations on this machine. Looks at names and sizes, opens nothing.

Sources: the documentation and source of each agent; a folder that is not there is left out.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MAX_ENTRIES: Final = 50_000
"""Looked at below one folder; then the count is "at least"."""
SUFFIXES: Final = (".jsonl", ".json")


@dataclass(frozen=True, slots=True)
class Place:
    """A folder of one agent's conversations."""

    agent: str
    folder: str
    """Below the home folder, with `/`."""
    variable: str | None = None
    """Environment variable that replaces the first part of the folder."""
    has_compactions: bool = False
    """Whether the agent records its compactions, so that `audit` has something to say."""


PLACES: Final = (
    Place("Claude Code", ".claude/projects", "CLAUDE_CONFIG_DIR", has_compactions=True),
    Place("Codex", ".codex/sessions", "CODEX_HOME", has_compactions=True),
    Place("Codex, archived", ".codex/archived_sessions", "CODEX_HOME", has_compactions=True),
    Place("pi", ".pi/agent/sessions", has_compactions=True),
    Place("Gemini CLI", ".gemini/tmp"),
    Place("Copilot CLI", ".copilot/session-state"),
    Place("opencode", ".local/share/opencode/storage"),
    Place(
        "Cline",
        ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks",
        has_compactions=True,
    ),
    Place(
        "Cline",
        "Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/tasks",
        has_compactions=True,
    ),
    Place(
        "Cline",
        "AppData/Roaming/Code/User/globalStorage/saoudrizwan.claude-dev/tasks",
        has_compactions=True,
    ),
)


@dataclass(frozen=True, slots=True)
class FoundPlace:
    """A place that exists and holds files that may be conversations."""

    place: Place
    path: Path
    n_files: int
    n_bytes: int
    is_partial: bool
    """There is more than was counted."""


def find_places(home: Path, environment: Mapping[str, str]) -> tuple[FoundPlace, ...]:
    """Return the places of this machine that hold anything, in the order of `PLACES`."""
    found = []
    for place in PLACES:
        path = _path_of(place, home, environment)
        counted = _counted(place, path) if path.is_dir() else None
        if counted is not None and counted.n_files:
            found.append(counted)
    return tuple(found)


def _path_of(place: Place, home: Path, environment: Mapping[str, str]) -> Path:
    moved = environment.get(place.variable) if place.variable else None
    if not moved:
        return home / place.folder
    return Path(moved).joinpath(*place.folder.split("/")[1:])


def _counted(place: Place, path: Path) -> FoundPlace:
    n_files = n_bytes = 0
    for number, entry in enumerate(_files_below(path)):
        if number >= MAX_ENTRIES:
            return FoundPlace(place, path, n_files, n_bytes, is_partial=True)
        if entry.name.endswith(SUFFIXES):
            n_files += 1
            n_bytes += entry.stat(follow_symlinks=False).st_size
    return FoundPlace(place, path, n_files, n_bytes, is_partial=False)


def _files_below(folder: Path) -> Iterator["os.DirEntry[str]"]:
    """Yield the files of a folder and below; links are not followed, closed folders left out."""
    pending = [str(folder)]
    while pending:
        try:
            entries = sorted(os.scandir(pending.pop()), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                yield entry
