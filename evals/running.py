"""The `run` command: from flags to a finished run folder."""

import hashlib
import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from compaction.contract.invariants import RULES
from compaction.errors import StrategyError, TranscriptError, one_line
from compaction.messages import Json, canonical_json
from evals import instrument
from evals.fidelity.placebo import PlaceboChoice
from evals.loading import LoadReport, Location, bundled_files, real_path, survey
from evals.metrics import METRICS, METRICS_VERSION
from evals.money.price_choice import choose_prices
from evals.money.pricing import prices_used
from evals.results import Row, RunFolder, corpus_digest
from evals.run_again import flags_again
from evals.run_checks import check_out, check_recorded, check_requests, replaced_cells
from evals.run_verdict import say_refused, say_replaced
from evals.run_verdict import verdict as verdict
from evals.settings import Setting, check, control_settings, default_settings, expand
from evals.sweep import DEFAULT_CELL_SECONDS, ModelChoice, Plan, cells_of, run_plan

if TYPE_CHECKING:
    from rich.console import Console

RUNS_FOLDER: Final = Path("compaction-runs")
PACKAGES: Final = (
    "compaction-evals",
    "tiktoken",
    "openai",
    "vcrpy",
    "pandas",
    "altair",
    "genai-prices",
)


@dataclass(frozen=True)
class RunRequest:
    """The flags of `run`."""

    paths: tuple[Path, ...] = ()
    strategies: tuple[str, ...] = ()
    fixed: Mapping[str, str] = field(default_factory=dict)
    grid: Mapping[str, Sequence[str]] = field(default_factory=dict)
    model: str | None = None
    base_url: str | None = None
    with_controls: bool = True
    jobs: int = 1
    dask: str | None = None
    seed: int = 0
    timeout_seconds: float = 30.0
    """For one call of the user's code."""
    show_text: bool = False
    cell_seconds: float = DEFAULT_CELL_SECONDS
    out: Path | None = None
    command: str = ""
    config: Json | None = None
    """What a config file said, for the manifest."""
    price: str | None = None
    """Model whose prices are used instead of each transcript's own."""
    price_file: Path | None = None
    with_probes: bool = False
    reader: str | None = None
    """Whose recorded answers; only needed where there are several models'."""


@dataclass(frozen=True)
class Finished:
    """A run that is complete on disk."""

    folder: Path
    cells: tuple[str, ...]
    """In the order in which they were run or found done."""
    found: LoadReport

    def read_rows(self) -> Iterator[Row]:
        """Read the rows of this run again, one at a time."""
        mine = set(self.cells)
        return (row for row in RunFolder(self.folder).rows() if row.cell_id in mine)

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows at once; of a long run they may not fit."""
        return tuple(self.read_rows())


def execute(asked: RunRequest, console: "Console") -> Finished:
    """Run every cell that has no row yet, with a progress bar on `console`.

    Raises:
        CompactionError: nothing could be run; says why.
    """
    settings = settings_of(asked)
    folder = RunFolder(asked.out or RUNS_FOLDER / _folder_name(asked, settings))
    check_out(folder.path)
    check(settings)
    paths = asked.paths or bundled_files()
    found = survey(paths)
    check_requests(found, paths)
    check_recorded(
        asked.reader, with_probes=asked.with_probes, settings=settings, locations=found.locations
    )
    say_refused(console, found)
    plan = Plan(
        settings=tuple(settings),
        model=ModelChoice(asked.model, asked.base_url),
        seed=asked.seed,
        cell_seconds=asked.cell_seconds,
        show_text=asked.show_text,
        placebo=PlaceboChoice(tuple({item.path: None for item in found.locations})),
        prices=choose_prices(asked.price, asked.price_file),
        with_probes=asked.with_probes,
        reader=asked.reader,
    )
    folder.create()
    with folder.locked():
        before, command = replaced_cells(folder)
        folder.write_manifest(_manifest(asked, plan, found))
        tally = _run_with_progress(console, plan, found.locations, folder, asked)
        finished = Finished(folder.path, tuple(tally.cells), found)
        folder.write_manifest(_manifest(asked, plan, found) | _outcome(finished, tally))
    say_replaced(console, before, command, finished.cells)
    return finished


def settings_of(asked: RunRequest) -> list[Setting]:
    """Return the contestants in the order of the flags, controls last."""
    if both := sorted(set(asked.fixed) & set(asked.grid)):
        raise StrategyError(f"{both[0]} is in --set and in --grid; leave one out")
    if not asked.strategies:
        if asked.fixed or asked.grid:
            raise TranscriptError("--set and --grid need --strategy: whose parameter is it?")
        wants_recorded = not asked.paths or asked.with_probes or asked.reader is not None
        settings = default_settings(with_recorded=wants_recorded)
        return settings if asked.with_controls else [s for s in settings if not s.is_control]
    settings = [
        setting
        for strategy in asked.strategies
        for setting in expand(
            strategy,
            _for(strategy, asked.fixed, asked.strategies),
            _for(strategy, asked.grid, asked.strategies),
            timeout_seconds=asked.timeout_seconds,
        )
    ]
    if asked.with_controls:
        named = {setting.label for setting in settings}
        settings += [setting for setting in control_settings() if setting.label not in named]
    return settings


Given = TypeVar("Given")


def _for(strategy: str, given: Mapping[str, Given], strategies: Sequence[str]) -> dict[str, Given]:
    """Return the parameters meant for one strategy: its own (`xun.k`) and those of all (`k`)."""
    owners = {f"{name}.": name for name in strategies}
    mine: dict[str, Given] = {}
    for key, value in given.items():
        prefix = next((prefix for prefix in owners if key.startswith(prefix)), "")
        if not prefix or owners[prefix] == strategy:
            mine[key.removeprefix(prefix)] = value
    return mine


def _run_with_progress(
    console: "Console",
    plan: Plan,
    locations: Sequence[Location],
    folder: RunFolder,
    asked: RunRequest,
) -> "_Tally":
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    tally = _Tally()
    columns = (
        TextColumn("replaying"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    is_shown = console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=not is_shown) as bar:
        task = bar.add_task("", total=cells_of(plan, locations))

        def note(row: Row) -> None:
            tally.add(row)
            bar.update(
                task, advance=1, description=one_line(f"{row.transcript[:30]} {row.label[:40]}")
            )

        run_plan(plan, locations, folder, jobs=asked.jobs, progress=note, dask=asked.dask)
    return tally


def _manifest(asked: RunRequest, plan: Plan, found: LoadReport) -> Json:
    """Return what is known before the first row, so that a stopped run can be reported on."""
    from compaction.tokens import TiktokenCounter

    return {
        "command": asked.command,
        "config": asked.config,
        "paths": [str(path) for path in asked.paths],
        "flags": flags_again(asked),
        "started_at": _now(),
        "settings": [
            {"label": item.label, "strategy": item.strategy, "parameters": dict(item.parameters)}
            for item in plan.settings
        ],
        "refused": [item.reason for item in found.refused],
        "noted": found.noted,
        "passed_over": [str(item.path) for item in found.passed_over],
        "without_requests": found.without_requests,
        "planned_cells": cells_of(plan, found.locations),
        "model": plan.model.label,
        "with_probes": plan.with_probes,
        "reader": plan.reader,
        "seed": plan.seed,
        "prices_as_of": plan.prices.as_of,
        "price_file": [vector.model for vector in plan.prices.vectors],
        "measuring_counter": TiktokenCounter().name,
        "placebo": plan.placebo.identity if plan.placebo else None,
        "show_text": plan.show_text,
        "rules": dict(RULES),
        "instrument": [check._asdict() for check in instrument.checks()],
        "metrics_version": METRICS_VERSION,
        "metrics": [asdict(metric) for metric in METRICS],
        "versions": {name: _version(name) for name in PACKAGES},
        "python": platform.python_version(),
    }


@dataclass
class _Tally:
    """What is remembered of each row while a run goes on; the row itself is on disk."""

    cells: dict[str, str] = field(default_factory=dict)  # and the setting of each
    digests: set[str] = field(default_factory=set)

    def add(self, row: Row) -> None:
        self.cells[row.cell_id] = row.label
        self.digests.add(row.transcript_digest)


def _outcome(finished: Finished, tally: _Tally) -> Json:
    """Return what a finished run adds to its manifest."""
    return {
        "finished_at": _now(),
        "cells": sorted(finished.cells),
        "cells_by_setting": dict(Counter(tally.cells.values())),
        "corpus_digest": corpus_digest(tally.digests),
        "prices": prices_used(finished.read_rows(), RunFolder(finished.folder)),
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _folder_name(asked: RunRequest, settings: Sequence[Setting]) -> str:
    """Return a name that the same command finds again."""
    asks_for_prices = asked.price is not None or asked.price_file is not None
    is_default = not (asked.paths or asked.strategies or asked.model or asks_for_prices)
    if is_default and not asked.reader:
        return "bundled-probes" if asked.with_probes else "bundled"
    content = {
        "paths": [real_path(path) for path in asked.paths],
        "settings": [[item.strategy, dict(item.parameters)] for item in settings],
        "model": [asked.model, asked.base_url],
        "seed": asked.seed,
        **({"prices": [asked.price, str(asked.price_file)]} if asks_for_prices else {}),
        **({"probes": asked.reader} if asked.with_probes or asked.reader else {}),
    }
    tag = hashlib.sha256(canonical_json(content).encode()).hexdigest()[:8]
    stem = Path(real_path(asked.paths[0])).name if asked.paths else "bundled"
    return f"{''.join(c if c.isalnum() or c in '-_.' else '-' for c in stem)[:40]}-{tag}"


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
