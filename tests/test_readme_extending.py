"""What the README says of adding a tier, an importer and a metric is all that there is to do."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TIER = '''
"""Blanks old tool results."""

from dataclasses import dataclass, replace
from typing import ClassVar

from compaction.history import View
from compaction.strategy import CompactionEvent, Context


@dataclass(frozen=True, slots=True, kw_only=True)
class BlankResults:
    name: ClassVar[str] = "BlankResults"

    keep_last_messages: int = 4

    def apply(self, view: View, context: Context) -> View:
        old = len(view.entries) - self.keep_last_messages
        entries = tuple(
            entry.edited(replace(entry.message, content="[blank]"), self.name)
            if at < old and entry.message.role == "tool" and entry.origin.kind == "whole"
            else entry
            for at, entry in enumerate(view.entries)
        )
        if entries == view.entries:
            return view
        return View(entries, (*view.events, CompactionEvent(self.name, "applied")))

    def settled(self, view: View) -> int:
        return 0
'''
IMPORTER = '''
"""Chats as lines of `role> text`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from compaction.messages import messages_from_openai
from evals.importers.files import Head
from evals.transcripts import Transcript, single_segment

FORMAT: Final = "arrow-lines"


def matches(head: Head) -> bool:
    return head.text.startswith("user> ")


def read(path: Path, source: str) -> Iterator[Transcript]:
    said = [line.partition("> ") for line in path.read_text("utf-8").splitlines()]
    messages = messages_from_openai([{"role": role, "content": text} for role, _, text in said])
    yield Transcript(
        name=path.stem, source=source, format=FORMAT, segments=single_segment(messages)
    )
'''
METRIC = '''
"""How many entries the largest view has."""

from typing import Any

from evals.fidelity.fates import FateTracker
from evals.replay import Step


class EntryScorer:
    def __init__(self) -> None:
        self._most = 0

    def see(self, step: Step, fates: FateTracker) -> None:
        self._most = max(self._most, len(step.view.entries))

    def columns(self) -> dict[str, Any]:
        return {"most_entries": self._most}

    def sections(self) -> dict[str, Any]:
        return {}
'''


def insert(path, before, text):
    old = path.read_text("utf-8")
    assert old.count(before) == 1, f"{path} has no single {before!r}"
    path.write_text(old.replace(before, text + before), "utf-8")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """Return a scratch copy of the packages with one of each added."""
    root = tmp_path_factory.mktemp("checkout")
    for name in ("compaction", "evals", "reports"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "compaction/tiers/blank_results.py").write_text(TIER, "utf-8")
    recipes = root / "compaction/tier_strategies.py"
    insert(
        recipes,
        '    "clear_tool_results": _Recipe(',
        '    "blank_results": _Recipe(BlankResults, "Blanks.", lambda tier, own: Promises()),\n',
    )
    insert(
        recipes,
        "from compaction.triggers",
        "from compaction.tiers.blank_results import BlankResults\n",
    )
    with recipes.open("a", encoding="utf-8") as file:
        file.write('Blanks: Final = _strategy_class("blank_results", _RECIPES["blank_results"])\n')
    insert(
        root / "compaction/registry.py",
        '    "clear_tool_results": ',
        '    "blank_results": "compaction.tier_strategies:Blanks",\n',
    )
    (root / "evals/importers/arrow_lines.py").write_text(IMPORTER, "utf-8")
    insert(root / "evals/importers/__init__.py", '    "native",\n', '    "arrow_lines",\n')
    (root / "evals/entries.py").write_text(METRIC, "utf-8")
    insert(root / "evals/scoring.py", "        SizeScorer(cell),\n", "        EntryScorer(),\n")
    insert(
        root / "evals/scoring.py",
        "from evals.fidelity.fates import",
        "from evals.entries import EntryScorer\n",
    )
    insert(root / "evals/rows.py", "    stale_visible: int = 0\n", "    most_entries: int = 0\n")
    insert(
        root / "evals/metrics.py",
        '    Metric(\n        "saving_fraction",',
        '    Metric("most_entries", "Entries", "entries", "lower", "Of the largest view."),\n',
    )
    return root


def command(checkout, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "evals.cli", *arguments],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_new_importer_is_read(checkout):
    lines = ["user> hello", "assistant> hello", "user> what now?", "assistant> nothing"]
    (checkout / "talk.chat").write_text("\n".join(lines), "utf-8")

    assert "arrow-lines" in command(checkout, "doctor", "talk.chat")


@pytest.mark.slow
def test_a_new_tier_is_a_strategy_and_a_new_metric_is_measured(checkout):
    from tests.run_cases import write_chats

    write_chats(checkout / "logs", 1)

    assert "keep_last_messages=4" in command(checkout, "list", "strategies")
    assert "Of the largest view." in command(checkout, "list", "metrics")
    grid = ("--grid", "keep_last_messages=2,6", "--no-controls", "--jobs", "1", "--out", "run")
    command(checkout, "run", "logs", "--strategy", "blank_results", *grid)

    rows = [json.loads(line) for line in (checkout / "run/rows.jsonl").read_text().splitlines()]
    assert {row["label"] for row in rows} == {
        "blank_results(keep_last_messages=2)",
        "blank_results(keep_last_messages=6)",
    }
    assert all(row["engaged"] and row["most_entries"] > 2 for row in rows)
