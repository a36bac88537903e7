"""What a view at a boundary still holds beside needs: instructions, open tasks, file states."""

from compaction.strategy import CompactionEvent
from evals.audit.values import Survived
from evals.controls import Identity
from evals.fidelity.fates import FateTracker
from evals.fidelity.need_status import NeedScorer
from evals.fidelity.survival import SurvivalScorer
from evals.fidelity.written import WrittenScorer
from evals.replay import Step
from evals.scorers import Cell, Material


def survived_in(step: Step, material: Material, *, show_text: bool) -> Survived:
    """Judge a view after a compaction, as `evals.fidelity.survival` and `written` there do."""
    view = step.view
    if not any(event.outcome == "applied" for event in view.events):
        step = step._replace(view=view.with_events(CompactionEvent("asked", "applied")))
    cell = Cell(material, Identity(), show_text)  # The scorers look at views, not at strategies.
    fates = FateTracker(0)
    fates.see(step.history, view.entries, step.request.index)
    survival = SurvivalScorer(cell, NeedScorer(material.needs, Identity.promises))
    written = WrittenScorer(cell)
    survival.see(step, fates)
    written.see(step, fates)
    (found,) = survival.sections()["rounds"]
    columns = written.columns()
    unsupported = (columns["unsupported_fraction"] or 0.0) * columns["written_references"]
    return Survived(
        constraints=found["constraints"],
        constraints_kept=found["constraints_kept"],
        tasks=found["obligations"],
        tasks_kept=found["obligations_kept"],
        tasks_ticked=len(found["obligations_ticked"]),
        files=found["files"],
        files_stale=found["files_stale"],
        files_lost=found["files_lost"],
        written_references=columns["written_references"],
        unsupported=round(unsupported),
        drifted=columns["drifted_pairs"],
        invented=tuple((row[0], row[1]) for row in written.sections()["unsupported"]["rows"]),
    )
