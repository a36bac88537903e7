"""One cell: a transcript under a setting, from the plan of the run to the row.

A cell that fails is a row with its error and stays in the denominator; one that needs an answer
which was never recorded is a row that says how to record it.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from compaction.errors import CompactionError, ModelError
from compaction.extractive import ExtractiveModel
from compaction.llm import ChatModel, OpenAIChat
from compaction.messages import Json
from compaction.strategy import Strategy
from evals.extraction.references import EXTRACTOR_VERSION
from evals.facts import find_facts
from evals.fidelity.placebo import PlaceboChoice
from evals.matcher.matching import MATCHER_VERSION
from evals.metrics import METRICS_VERSION
from evals.money.price_choice import PriceChoice, Priced
from evals.money.pricing import price_transcript
from evals.needs import find_needs
from evals.prepare import Prepared, prepare
from evals.probing.answers import RecordedChat, UnrecordedError
from evals.probing.grading import GRADER_VERSION
from evals.probing.readers import actor_of, reader_of
from evals.probing.recordings import ACTIONS, PROBES, SUMMARIES, Recordings
from evals.results import ROW_VERSION, Place, Row, RunFolder, Status, cell_id_of
from evals.runs import Run
from evals.scorers import Material
from evals.scoring import Score, run_of, score_run
from evals.settings import Setting, bind, flags_of, resolved_parameters
from evals.transcripts import Transcript

DEFAULT_CELL_SECONDS: Final = 600.0


@dataclass(frozen=True)
class ModelChoice:
    """Who writes summaries: a named model behind an endpoint, or the extractive summariser."""

    name: str | None = None
    base_url: str | None = None

    def make(self) -> ChatModel:
        return OpenAIChat(self.name, self.base_url) if self.name else ExtractiveModel()

    @property
    def label(self) -> str:
        return self.name or ExtractiveModel().name


@dataclass(frozen=True)
class Plan:
    """Everything that a worker needs to know."""

    settings: tuple[Setting, ...]
    model: ModelChoice = ModelChoice()
    seed: int = 0
    cell_seconds: float = DEFAULT_CELL_SECONDS
    show_text: bool = False
    """Write the needed references themselves into the sidecars."""
    placebo: PlaceboChoice | None = None
    """Unrelated text, to count how often references match by chance; None counts nothing."""
    prices: PriceChoice = field(default_factory=PriceChoice)
    with_probes: bool = False
    """Grade what a model was recorded to answer; nothing is asked."""
    reader: str | None = None
    """Whose recorded answers and summaries. None: of the only model that there are any of."""


@dataclass(frozen=True)
class Shared:
    """What the settings share, made when the first of them needs it."""

    plan: Plan
    transcript: Transcript
    file: Path
    priced: Priced
    recordings: Recordings
    scored: dict[str, Place] = field(default_factory=dict)
    """Key of a run -> the row that was scored of it."""

    @cached_property
    def prepared(self) -> Prepared:
        return prepare(self.transcript)

    @cached_property
    def material(self) -> Material:
        choice, prepared = self.plan.placebo, self.prepared
        placebo = choice.of(self.transcript, self.file) if choice else None
        needs = find_needs(prepared, placebo=placebo)
        pricing = price_transcript(prepared, self.priced)
        found = Material(prepared, needs, find_facts(prepared), pricing)
        if not self.plan.with_probes:
            return found
        return replace(
            found,
            reader=reader_of(prepared, found.facts, self.recordings),
            actor=actor_of(prepared, self.recordings),
        )

    @cached_property
    def summaries(self) -> RecordedChat:
        return self.recordings.chat(SUMMARIES)


@dataclass(frozen=True)
class Cell:
    plan: Plan
    setting: Setting
    transcript: Transcript
    priced: Priced
    recordings: Recordings

    def id_of(self, strategy: Strategy | None) -> str:
        setting = self.setting
        return cell_id_of(
            {
                "transcript": self.transcript.digest,
                "place": [self.transcript.source, self.transcript.name],
                "strategy": setting.strategy,
                "version": strategy.version if strategy else None,
                "parameters": dict(setting.parameters),
                "resolved": resolved_parameters(strategy) if strategy else None,
                "model": [self.plan.model.label, self.plan.model.base_url],
                "definitions": [METRICS_VERSION, EXTRACTOR_VERSION, MATCHER_VERSION, ROW_VERSION],
                "seed": self.plan.seed,
                "show_text": self.plan.show_text,
                "placebo": self.plan.placebo.identity if self.plan.placebo else None,
                "prices": self.priced.identity,
                "replicate": 0,
                **self._recorded(strategy),
            }
        )

    def _recorded(self, strategy: Strategy | None) -> Json:
        """Return what the cell's numbers owe to recorded answers; nothing for most cells."""
        files = (SUMMARIES,) if self._is_replayed(strategy) else ()
        if self.plan.with_probes:
            return {
                "recordings": self.recordings.digest(*files, PROBES, ACTIONS),
                "by": GRADER_VERSION,
            }
        return {"recordings": self.recordings.digest(*files)} if files else {}

    def _is_replayed(self, strategy: Strategy | None) -> bool:
        """Whether the strategy's calls are answered from recordings: nobody else was named."""
        return self.plan.model.name is None and bool(getattr(strategy, "is_recorded", False))

    def run(
        self, folder: RunFolder, shared: Shared, model: ChatModel, done: Mapping[str, Place]
    ) -> Row:
        """Return the row that is done, else score the cell and append its row."""
        strategy = None
        started = time.perf_counter()
        try:
            strategy = bind(self.setting, shared.prepared)
            before = done.get(self.id_of(strategy))
            if before is not None and before.is_ok:
                return folder.row_at(before)
            run = run_of(
                shared.material,
                strategy,
                self._writer(shared) if self._is_replayed(strategy) else model,
                seed=self.plan.seed,
                timeout_seconds=self.plan.cell_seconds,
            )
            same = shared.scored.get(run.key or "")
            if same is None:
                scored = self._scored(run, shared.material, strategy)
        except Exception as error:  # noqa: BLE001 - a row is better than a gap
            if isinstance(error.__cause__, UnrecordedError):
                text = _describe(error.__cause__)
                return self.failed(folder, strategy, text, status="unrecorded")
            return self.failed(folder, strategy, _describe(error))
        seconds = time.perf_counter() - started
        if same is not None:
            return self._taken_over(folder, same, strategy, seconds)
        row = self._row(strategy, seconds=seconds, **scored.columns)
        folder.write_sidecar(row.cell_id, scored.sidecar)
        place = folder.append(row)
        if run.key is not None:
            shared.scored[run.key] = place
        return row

    def _scored(self, run: Run, material: Material, strategy: Strategy) -> Score:
        scored = score_run(run, material, strategy, show_text=self.plan.show_text)
        if self.plan.model.name and _only_failures(scored.columns):
            raise ModelError(
                f"all {scored.columns['compactions_failed']} summaries failed: "
                f"{scored.columns['first_failure']}"
            )
        return scored

    def _taken_over(
        self, folder: RunFolder, place: Place, strategy: Strategy, seconds: float
    ) -> Row:
        """Append the row of another setting under which the same was sent at every request."""
        known = folder.row_at(place)
        row = replace(known, **self._identity(strategy), seconds=seconds)
        folder.copy_sidecar(known.cell_id, row.cell_id)
        folder.append(row)
        return row

    def _writer(self, shared: Shared) -> ChatModel:
        """Return who answers from recordings, and says what records the summary of this setting."""
        return shared.summaries.hinting(self.recordings.hint(flags_of(self.setting)))

    def failed(
        self,
        folder: RunFolder,
        strategy: Strategy | None,
        error: str,
        *,
        status: Status = "error",
    ) -> Row:
        row = self._row(
            strategy,
            status=status,
            error=error,
            messages=len(self.transcript.messages),
            requests=self.transcript.n_requests,
            segments=len(self.transcript.segments),
        )
        folder.append(row)
        return row

    def _row(self, strategy: Strategy | None, **columns: Any) -> Row:
        return Row(**self._identity(strategy), **columns)

    def _identity(self, strategy: Strategy | None) -> dict[str, Any]:
        """Return the columns that say which cell it is."""
        return {
            "cell_id": self.id_of(strategy),
            "transcript": self.transcript.name,
            "transcript_digest": self.transcript.digest,
            "source": self.transcript.source,
            "format": self.transcript.format,
            "provenance": self.transcript.provenance,
            "cluster": self.transcript.cluster,
            "project": self.transcript.project,
            "strategy": self.setting.strategy,
            "strategy_version": strategy.version if strategy else "",
            "parameters": dict(self.setting.parameters),
            "resolved": resolved_parameters(strategy) if strategy else {},
            "label": self.setting.label,
            "is_control": self.setting.is_control,
        }


def _only_failures(columns: Mapping[str, Any]) -> bool:
    """Whether a model was asked and never gave anything: then nothing about it was measured."""
    return bool(columns["compactions_failed"]) and not columns["model_calls"]


def _describe(error: Exception) -> str:
    if isinstance(error, CompactionError):
        return " ".join(str(error).split())
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
