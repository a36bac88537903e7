"""`compaction-evals check`: invariants on generated and on the bundled recorded conversations.

The search itself is `compaction.contract.search`; here are the table, the reproducer and the files
that other tools read. Somebody's code runs in this process. A call that never returns is ended by
the time budget wherever Python gets a chance to; where it does not (C code that holds on), the
process ends itself some seconds later, with a traceback of where it was.
"""

import faulthandler
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from compaction.atomic import write_atomically
from compaction.contract.invariants import INVARIANTS
from compaction.contract.report import described, headline, summary
from compaction.contract.search import Conversation, Outcome, Plan, search
from compaction.contract.targets import Target, json_or_text, promises_of
from compaction.errors import CompactionError, one_line
from compaction.strategy import Promises
from evals.check_reports import junit, reproducer, sarif
from evals.loading import load_bundled, real_path
from evals.settings import KNOWN

LAST_RESORT_SECONDS: Final = 10.0
"""After the time budget, the process is ended from outside Python."""
STANDARD_ERROR: Final = 2
EXIT_BROKEN: Final = 1


@dataclass(frozen=True)
class CheckRequest:
    """What somebody asked for on the command line."""

    strategy: str
    parameters: Mapping[str, str]
    promises: tuple[str, ...]
    """`name` or `name=value`, for code that declares none."""
    examples: int
    seed: int
    budget_seconds: float
    with_recorded: bool
    save: Path | None
    junit: Path | None
    sarif: Path | None


def check_strategy(asked: CheckRequest, console: Console) -> int:
    """Look for broken invariants, print and write what was found.

    Returns:
        The exit code: 0, or 1 if an invariant is broken.

    Raises:
        StrategyError: there is no such strategy, or it takes no such parameters.
    """
    promises = _promises(asked.promises) if asked.promises else None
    target = Target(asked.strategy, asked.parameters, promises, table=KNOWN)
    outcome = _search(target, asked, console)
    _print(asked, outcome, console)
    written: tuple[tuple[Path | None, Callable[[Target, Outcome, Path], str]], ...] = (
        (asked.save if outcome.broken else None, reproducer),
        (asked.junit, junit),
        (asked.sarif, sarif),
    )
    for path, text_of in written:
        if path is not None:
            _write(path, text_of(target, outcome, Path(real_path(path)).parent))
            console.print(one_line(f"wrote {path}"), markup=False, highlight=False, soft_wrap=True)
    return EXIT_BROKEN if outcome.broken else 0


def _promises(given: Sequence[str]) -> Promises:
    pairs = (item.partition("=") for item in given)
    return promises_of({name: json_or_text(value) if has else True for name, has, value in pairs})


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode())
    except OSError as error:
        raise CompactionError(
            f"cannot write {path}: {error.strerror}; choose another place"
        ) from error


def _search(target: Target, asked: CheckRequest, console: Console) -> Outcome:
    recorded = _recorded() if asked.with_recorded else ()
    ends_at = time.monotonic() + asked.budget_seconds
    with console.status("checking") as status:
        plan = Plan(
            examples=asked.examples,
            seed=asked.seed,
            budget_seconds=asked.budget_seconds,
            recorded=recorded,
            heartbeat=lambda count: status.update(
                f"checked {count} conversations, at most {max(0, ends_at - time.monotonic()):.0f} "
                "seconds more"
            ),
        )
        # Not `sys.stderr`, which may be closed, or no file at all, as in a notebook.
        seconds = asked.budget_seconds + LAST_RESORT_SECONDS
        faulthandler.dump_traceback_later(seconds, exit=True, file=STANDARD_ERROR)
        try:
            return search(target, plan)
        finally:
            faulthandler.cancel_dump_traceback_later()


def _recorded() -> tuple[Conversation, ...]:
    return tuple(
        Conversation(segment.messages, transcript.source)
        for transcript in load_bundled()
        for segment in transcript.segments
    )


def _print(asked: CheckRequest, outcome: Outcome, console: Console) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("id", "invariant", "", ""):
        table.add_column(column, overflow="fold")
    for name, invariant in INVARIANTS.items():
        table.add_row(invariant.id, name, *map(Text, verdict(outcome, name)))
    console.print(table)
    for broken in outcome.broken.values():
        console.print(f"\n{described(broken)}", markup=False, highlight=False, soft_wrap=True)
    line = f"{asked.strategy}: {summary(outcome)}"
    console.print(one_line(line), markup=False, highlight=False, soft_wrap=True)


def verdict(outcome: Outcome, name: str) -> tuple[str, str]:
    """Return pass, fail or not applicable, and why."""
    if name in outcome.broken:
        return "FAIL", one_line(headline(outcome.broken[name]))
    if name in outcome.applicable:
        return "pass", ""
    return "not applicable", one_line(outcome.reasons.get(name, "nothing was checked"))
