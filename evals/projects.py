"""Which working folders are of one project, and which transcripts therefore belong together."""

import re
from collections.abc import Hashable, Iterable
from pathlib import PurePath
from typing import Final

_HOLDER: Final = re.compile(
    r"(?:|\.|~|[a-z]:|(?:[a-z]:|/mnt/[a-z])?/(?:home|users)(?:/[^/]+)?|/root|(?:/private)?/tmp)"
)
"""Roots, homes and places for temporary files, in lower case and with slashes."""


def are_of_one_project(one: str | None, other: str | None) -> bool:
    """Whether two working folders are of one project.

    They are the same, one lies in the other, or they have the same name: another checkout, or a
    worktree of one.
    """
    if one is None or other is None:
        return False
    first, second = (PurePath(each.replace("\\", "/")) for each in (one, other))
    is_within = first in second.parents or second in first.parents
    return is_within or _project_name(first) == _project_name(second)


def projects_of(sessions: Iterable[tuple[Hashable, str | None]]) -> dict[Hashable, str | None]:
    """Return session -> the name of its project; None where no transcript of it names one.

    Folders of one session are of one project, and so is what is of one project with either: what
    hangs together is never counted twice. The name is the shortest folder's. A home folder or a
    root holds all projects and joins none: one session there would make one project of them all.

    Args:
        sessions: Session and working folder of each transcript.
    """
    folders: dict[Hashable, set[str]] = {}
    for session, folder in sessions:
        folders.setdefault(session, set()).update([folder] if folder else [])
    for session, mine in folders.items():
        # Whoever starts at home and works in a project says nothing about others who do.
        folders[session] = {each for each in mine if not _holds_projects(each)} or mine
    groups: list[set[str]] = []
    for mine in filter(None, folders.values()):
        joined = [group for group in groups if _hang_together(group, mine)]
        groups = [group for group in groups if group not in joined]
        groups.append(mine.union(*joined))
    names = {folder: min(group, key=_by_size) for group in groups for folder in group}
    return {session: names[min(mine)] if mine else None for session, mine in folders.items()}


def _hang_together(one: Iterable[str], other: Iterable[str]) -> bool:
    others = tuple(other)
    return any(
        first == second
        or (
            not (_holds_projects(first) or _holds_projects(second))
            and are_of_one_project(first, second)
        )
        for first in one
        for second in others
    )


def _holds_projects(folder: str) -> bool:
    """Whether a folder is a root, a home, or the place for temporary files."""
    return _HOLDER.fullmatch(folder.replace("\\", "/").rstrip("/").casefold()) is not None


def _by_size(folder: str) -> tuple[int, str]:
    return len(folder), folder


def _project_name(folder: PurePath) -> str:
    """Return the last folder's name; of a worktree the one that its folders were put into."""
    parts = folder.parts
    at = next((at for at, part in enumerate(parts) if "worktree" in part), len(parts))
    shown = [part for part in parts[:at] if at == len(parts) or not part.startswith(".")]
    return shown[-1] if shown else str(folder)
