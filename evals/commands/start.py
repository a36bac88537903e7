"""What is said to somebody who types the bare command: what is there, and what to do next."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import typer

from compaction.errors import one_line
from evals.session_places import FoundPlace, find_places
from evals.shell_words import shell_word

Ask = Callable[[str], bool]


def start(
    run_command: Callable[[list[str]], int],
    *,
    home: Path | None = None,
    ask: Ask | None = None,
) -> int:
    """Say what to do next; after a yes, do it.

    Args:
        run_command: Runs the command line with arguments and returns its exit code.
        home: Where agents keep their logs; the user's home folder by default.
        ask: Asks yes or no; by default nothing is asked unless both ends are terminals.

    Returns:
        The exit code.
    """
    found = find_places(home or Path.home(), os.environ)
    for line in lines_of(found):
        typer.echo(line)
    if ask is None:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            return 0
        ask = typer.confirm
    if not found:
        question = "Run the bundled conversations now?"
        return run_command(["run"]) if ask(question) else 0
    if not ask(f"Read the conversations in {one_line(str(found[0].path))} now?"):
        return 0
    return run_command([_verb(found[0]), str(found[0].path)])


def lines_of(found: Sequence[FoundPlace]) -> list[str]:
    """Return what is printed: what was found without opening a file, and commands to copy."""
    lines = ["compaction-evals measures what compacting an agent's context saves and loses.", ""]
    if found:
        lines.append("Conversations of agents on this machine (counted, not read):")
        lines += [f"  {each.place.agent}: {_size(each)} in {_shown(each.path)}" for each in found]
        lines += ["", "What to do next:"]
        audited = next((each for each in found if each.place.has_compactions), None)
        if audited is not None:
            lines += _command("what the compactions in them lost", "audit", audited.path)
        lines += _command("what a setting would save and lose", "run", found[0].path)
    else:
        lines += ["No conversations of agents were found in the usual places.", ""]
        lines += ["What to do next:"]
        lines += ["  compaction-evals run PATH       your own logs: a file or a folder"]
    lines += [
        "  compaction-evals run            the bundled conversations, no key needed",
        "  compaction-evals check NAME     whether a compactor is safe",
        "  compaction-evals --help         all commands",
    ]
    return lines


def _command(purpose: str, verb: str, path: Path) -> list[str]:
    return [f"  compaction-evals {verb} {_shown(path)}", f"      {purpose}"]


def _verb(found: FoundPlace) -> str:
    return "audit" if found.place.has_compactions else "run"


def _shown(path: Path) -> str:
    """Return a path as a shell takes it, with ~ for the home folder where that is shorter."""
    home = str(Path.home())
    text = str(path)
    inside = f"{home}{os.sep}"
    # A quoted slash would end no ~, and a shell would leave it as it is.
    if text.startswith(inside) and text != inside:
        return f"~{os.sep}{shell_word(text.removeprefix(inside))}"
    return shell_word(text)


def _size(found: FoundPlace) -> str:
    least = "at least " if found.is_partial else ""
    files = "1 file" if found.n_files == 1 else f"{found.n_files:,} files"
    return f"{least}{files}, {found.n_bytes / 1e6:,.1f} MB"
