"""What a view at a boundary still holds beside needs: instructions, open tasks, file states."""

from collections import Counter
from collections.abc import Iterator

from compaction.strategy import CompactionEvent
from evals.artifacts import Survival, states_of, survival_of
from evals.audit_values import Survived
from evals.controls import Identity
from evals.fates import FateTracker
from evals.message_text import held_text
from evals.need_status import NeedScorer
from evals.replay import Step
from evals.scorers import Cell, Material
from evals.survival import SurvivalScorer
from evals.written import WrittenScorer


def survived_in(step: Step, material: Material, *, show_text: bool) -> Survived:
    """Judge a view as `evals.survival` and `evals.written` judge it after a compaction."""
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
    files = Counter(_files(step, material))
    columns = written.columns()
    unsupported = (columns["unsupported_fraction"] or 0.0) * columns["written_references"]
    return Survived(
        constraints=found["constraints"],
        constraints_kept=found["constraints_kept"],
        tasks=found["obligations"],
        tasks_kept=found["obligations_kept"],
        tasks_ticked=found["obligations_ticked"],
        files=found["files"],
        files_stale=files["stale"],
        files_lost=files["lost"],
        written_references=columns["written_references"],
        unsupported=round(unsupported),
        drifted=columns["drifted_pairs"],
        invented=tuple((row[0], row[1]) for row in written.sections()["unsupported"]["rows"]),
    )


def _files(step: Step, material: Material) -> Iterator[Survival]:
    """Yield what became of each file's state; a written text may name it by its last folder.

    People and models write `src/a.py` for `/home/me/project/src/a.py`: where the whole path is not
    found, folder and name are looked for; inside a longer path they are found too.
    """
    statements = material.statements[step.request.segment]
    states = statements.states_before(len(step.history))
    seen = states_of(step.view.messages, statements.failed)
    written = [held_text(e.message) for e in step.view.entries if e.origin.kind != "whole"]
    for path, survival in survival_of(states, seen, written).items():
        short = "/".join(path.split("/")[-2:])
        if survival == "kept" or short == path:
            yield survival
            continue
        shorter = survival_of({short: states[path]}, {}, written)[short]
        yield shorter if shorter != "lost" else survival
