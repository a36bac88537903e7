"""The `audit` command: from flags to an audit, and from an audit to files."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any, Final

from compaction.atomic import write_atomically
from compaction.errors import CompactionError
from compaction.messages import Json
from evals.audit.contestants import audit_controls, default_contestants
from evals.audit.rendering import as_markdown
from evals.audit.sessions import AuditPlan, audit_session
from evals.audit.text import sections_of
from evals.audit.values import Audit, SessionAudit
from evals.cells import ModelChoice
from evals.fidelity.placebo import PlaceboChoice
from evals.loading import LoadReport, Location, load, survey
from evals.money.price_choice import choose_prices
from evals.printed_json import printed_json
from evals.running import RunRequest, settings_of
from evals.settings import Setting, check
from evals.transcripts import Transcript
from evals.workers import live_with_parent

AUDIT_FORMAT: Final = "compaction-evals/audit"
AUDIT_VERSION: Final = 1
AUDIT_FILE: Final = "audit.json"
MARKDOWN_FILE: Final = "audit.md"
MIN_SESSIONS_OF_A_WORKER: Final = 12
"""A process takes 1.5 s of processor time to start, a session of 50 requests 0.2 s to audit."""

Progress = Callable[[int, int, str], None]
"""Told (sessions done, sessions, name of the last)."""


@dataclass(frozen=True)
class AuditRequest:
    """The flags of `audit`."""

    paths: tuple[Path, ...]
    strategies: tuple[str, ...] = ()
    fixed: Mapping[str, str] = field(default_factory=dict)
    grid: Mapping[str, Sequence[str]] = field(default_factory=dict)
    with_controls: bool = True
    model: str | None = None
    base_url: str | None = None
    timeout_seconds: float = 30.0
    """For one call of the user's code."""
    price: str | None = None
    price_file: Path | None = None
    show_text: bool = False
    jobs: int = 1
    """Processes; below `MIN_SESSIONS_OF_A_WORKER` sessions for each there are fewer."""
    command: str = ""


@dataclass(frozen=True)
class Audited:
    audit: Audit
    found: LoadReport
    is_stopped: bool = False
    """Whether somebody stopped it; the audit is then of the sessions before."""

    @property
    def has_failed(self) -> bool:
        """Whether a file was not understood, or a session or a strategy failed."""
        return bool(self.found.refused) or any(map(_has_failed, self.audit.sessions))


def run_audit(asked: AuditRequest, progress: Progress) -> Audited:
    """Audit every session below the paths.

    Raises:
        CompactionError: nothing could be read, or a flag names what is not there.
    """
    check(contestants(asked))  # a wrong flag is told before files are read
    found = survey(asked.paths)
    files = tuple(dict.fromkeys(each.path for each in found.locations))
    plan = plan_of(asked, files)
    sessions: list[SessionAudit] = []
    try:
        progress(0, len(found.locations), "")
        for location, session in zip(
            found.locations, _each_audited(asked, plan, found.locations, files), strict=True
        ):
            sessions.append(session)
            progress(len(sessions), len(found.locations), location.name)
    except KeyboardInterrupt:
        pass
    audit = Audit(
        sessions=tuple(sessions),
        show_text=asked.show_text,
        refused=tuple(item.reason for item in found.refused),
        passed_over=len(found.passed_over),
        noted=tuple(found.noted),
        command=asked.command,
        versions={"compaction-evals": _version("compaction-evals")},
    )
    return Audited(audit, found, is_stopped=len(sessions) < len(found.locations))


def plan_of(asked: AuditRequest, files: tuple[Path, ...]) -> AuditPlan:
    """Return what is asked of every boundary of some files.

    Raises:
        CompactionError: a flag names what is not there.
    """
    settings = contestants(asked)
    check(settings)
    return AuditPlan(
        settings=tuple(settings),
        model=ModelChoice(asked.model, asked.base_url).make(),
        prices=choose_prices(asked.price, asked.price_file),
        show_text=asked.show_text,
        placebos=PlaceboChoice(files),
    )


def _each_audited(
    asked: AuditRequest, plan: AuditPlan, locations: Sequence[Location], files: tuple[Path, ...]
) -> Iterator[SessionAudit]:
    """Yield the audit of each session, in order, from as many processes as are worth starting."""
    workers = min(asked.jobs, len(locations) // MIN_SESSIONS_OF_A_WORKER)
    if workers <= 1:
        yield from (_audited(each, plan) for each in locations)
        return
    pool = ProcessPoolExecutor(
        workers, get_context("spawn"), initializer=_start_worker, initargs=(asked, files)
    )
    try:
        yield from pool.map(_audited_in_worker, locations)
    except BrokenProcessPool as error:
        text = "a worker process was ended, perhaps for lack of memory; run again with --jobs 1"
        raise CompactionError(text) from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in active_children():
            child.terminate()


_plan: AuditPlan | None = None


def _start_worker(asked: AuditRequest, files: tuple[Path, ...]) -> None:
    global _plan
    live_with_parent()
    _plan = plan_of(asked, files)


def _audited_in_worker(location: Location) -> SessionAudit:
    if _plan is None:
        raise CompactionError("the worker was not started")
    return _audited(location, _plan)


def contestants(asked: AuditRequest) -> list[Setting]:
    """Return who is asked at each boundary, in the order of the flags, controls last.

    Raises:
        CompactionError: as `evals.running.settings_of`.
    """
    if not asked.strategies and not (asked.fixed or asked.grid):
        found = default_contestants()
        return found if asked.with_controls else [each for each in found if not each.is_control]
    given = settings_of(
        RunRequest(
            strategies=asked.strategies,
            fixed=asked.fixed,
            grid=asked.grid,
            with_controls=False,
            timeout_seconds=asked.timeout_seconds,
        )
    )
    return [*given, *(audit_controls() if asked.with_controls else [])]


def to_json(audit: Audit) -> Json:
    """Return everything that an audit found, with the sections in words that a page shows."""
    return {
        "format": AUDIT_FORMAT,
        "version": AUDIT_VERSION,
        **asdict(audit),
        "sections": [asdict(section) for section in sections_of(audit)],
    }


def json_text(audit: Audit) -> str:
    return printed_json(to_json(audit)) + "\n"


def write_files(audit: Audit, folder: Path) -> None:
    """Write the audit as JSON and Markdown into a folder, which is made if it is not there.

    Raises:
        CompactionError: it cannot be written to.
    """
    write_text(folder / AUDIT_FILE, json_text(audit))
    write_text(folder / MARKDOWN_FILE, as_markdown(sections_of(audit)))


def write_text(path: Path, text: str) -> None:
    """Write a file in one piece.

    Raises:
        CompactionError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode("utf-8", "replace"))
    except OSError as error:
        text = f"cannot write {path}: {error.strerror or error}; choose another place"
        raise CompactionError(text) from error


def _audited(location: Location, plan: AuditPlan) -> SessionAudit:
    """Audit one session; one that fails is told with its error and stays in the list."""
    transcript: Transcript | None = None
    try:
        transcript = load(location)
        return audit_session(transcript, plan)
    except CompactionError as error:
        return _failed(location, transcript, str(error))
    except Exception as error:  # noqa: BLE001 - one session must not cost all the others
        text = (str(error).splitlines() or [""])[0]
        return _failed(location, transcript, f"{type(error).__name__}: {text}")


def _failed(location: Location, transcript: Transcript | None, error: str) -> SessionAudit:
    return SessionAudit(
        transcript=location.name,
        source=str(location.path),
        format=transcript.format if transcript else "",
        requests=transcript.n_requests if transcript else 0,
        peak_tokens=0,
        priced_model="",
        error=error,
    )


def _has_failed(session: SessionAudit) -> bool:
    found: list[Any] = [session, *session.first_fires]
    found += (each for boundary in session.boundaries for each in boundary.contestants)
    return any(each.error is not None for each in found)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
