"""A strategy that applies one function from a history to a view, and what is scored of it."""

from dataclasses import dataclass, field

from compaction.extractive import ExtractiveModel
from compaction.history import View, generated
from compaction.strategy import CompactionEvent, Promises
from evals.facts import find_facts
from evals.needs import find_needs
from evals.scorers import Material
from evals.scoring import score


@dataclass(frozen=True)
class Rule:
    make: object
    promises: Promises = field(default_factory=lambda: Promises(mode="viewing"))
    name: str = "rule"
    version: str = "1"

    def start(self, context):
        return _RuleCompactor(self.make)


class _RuleCompactor:
    def __init__(self, make):
        self._make = make

    def steps(self, history, request):
        yield from ()
        return self._make(history)

    def record_usage(self, usage):
        pass

    def recover(self, handle):
        return None


def scored(conversation, strategy, *, show_text=False):
    material = Material(conversation, find_needs(conversation), find_facts(conversation))
    return score(material, strategy, ExtractiveModel(), show_text=show_text)


def summarised(text, *, keep_last=1, after=3):
    """Return a rule: from `after` messages on, a written text replaces all but the last ones."""

    def make(history):
        if len(history) < after:
            return View(history.entries())
        cut = len(history) - keep_last
        written = generated("user", text, history.entries()[:cut], "rule")
        return View((written, *history.entries(cut)), (CompactionEvent("rule", "applied"),))

    return Rule(make)
