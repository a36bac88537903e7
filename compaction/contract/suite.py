"""All invariants on one strategy and one conversation: the entry point of everything that checks.

What a request decides is in `checker`, what takes further runs in `experiments`.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from compaction.contract.checker import Checker
from compaction.contract.drives import Found, Good, at_step
from compaction.contract.faults import Violation, violation
from compaction.contract.invariant import Needs
from compaction.contract.invariants import INVARIANTS
from compaction.contract.providers import OPENAI_CHAT, Profile
from compaction.contract.trial import Remembering, Step, Trial, describe, request_positions
from compaction.extractive import ExtractiveModel
from compaction.history import History, View
from compaction.llm import ChatModel
from compaction.messages import Message, Messages
from compaction.strategy import Strategy

_EXCERPT_CHARS: Final = 60
_ARTICLE: Final[Mapping[Needs, str]] = {"replay": "a replay", "experiment": "an experiment"}
ALL_NEEDS: Final[tuple[Needs, ...]] = ("replay", "experiment")


@dataclass(frozen=True, slots=True)
class Finding:
    """One broken invariant."""

    invariant: str
    request: int
    """Counts the requests of the conversation from 0; -1 if none is concerned."""
    violation: Violation
    excerpt: str
    """The two or three messages concerned, a line each."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What `check_conversation` found."""

    violations: tuple[Finding, ...]
    applicable: frozenset[str]
    not_applicable: Mapping[str, str] = field(default_factory=dict)
    """Name of each other invariant -> why it could not be decided."""
    acted: bool = False
    """Whether any view differed from the history; if not, keeping the invariants was easy."""

    @property
    def broken(self) -> frozenset[str]:
        return frozenset(item.invariant for item in self.violations)


def check_conversation(
    strategy: Strategy,
    messages: Messages,
    *,
    model: ChatModel | None = None,
    requests: Sequence[int] | None = None,
    profile: Profile = OPENAI_CHAT,
    needs: Collection[Needs] = ALL_NEEDS,
    alive: Callable[[], None] = lambda: None,
) -> Findings:
    """Drive a strategy through a conversation and check every applicable invariant.

    Args:
        strategy: What is checked.
        messages: The conversation; a fault of its own is not held against the strategy.
        model: Answers the strategy's calls; without one, the extractive summariser does.
        requests: Lengths of the history at the requests; without them, one before each assistant
            message and one at the end (of very many, `MAX_REQUESTS` at even distances).
        profile: Whose rules `roles_stay_legal` asks for.
        needs: Which invariants to decide: those that a replay can, or those that take experiments,
            which drive the conversation some ten times.
        alive: Called whenever the strategy has returned, to tell a slow one from one that hangs.
    """
    positions = request_positions(messages) if requests is None else tuple(sorted(requests))
    remembering = Remembering(model or ExtractiveModel())
    trial = Trial(strategy, messages, positions, remembering, profile, alive)
    decided = _Decided(trial, needs)
    good = decided.check_views()
    if good is not None and "experiment" in needs:
        decided.experiment(good)
    return decided.findings()


class _Decided:
    """Collects what was broken, and what could not be decided."""

    def __init__(self, trial: Trial, needs: Collection[Needs]) -> None:
        self._trial = trial
        self._needs = needs
        self._found: list[Finding] = []
        self._undecided: dict[str, str] = {}
        self._acted = False
        for item in INVARIANTS.values():
            reason = item.unmet(trial.strategy.promises)
            if item.needs not in needs:
                reason = f"what needs {_ARTICLE[item.needs]} was not asked for"
            if reason is not None:
                self._undecided[item.name] = reason

    def check_views(self) -> Good | None:
        """Check each view; return the drive for the experiments, or None if it broke off."""
        trial, steps = self._trial, []
        checker = Checker(trial.strategy.promises, trial.profile)
        keeps = "experiment" in self._needs
        step: Step | None = None
        try:
            for step in trial.drive(with_twin=True):
                found = checker.see(
                    step.history,
                    step.view,
                    twin=step.twin,
                    tokens_before=step.history.total(trial.counter),
                    tokens_after=step.size,
                    recover=step.compactor.recover,
                )
                self._add(step, found)
                self._acted = self._acted or step.view.entries != step.history.entries()
                if keeps:
                    steps.append(step)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a strategy raises counts
            self._broke_off(error, step)
            return None
        return Good(trial, tuple(steps))

    def experiment(self, good: Good) -> None:
        for name, invariant in INVARIANTS.items():
            if invariant.experiment is None or name in self._undecided:
                continue
            if invariant.needs_model and not good.asked_model:
                self._undecided[name] = "the strategy asked no model in this conversation"
                continue
            try:
                found = invariant.experiment(good)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - it went well at first
                text = f"{name}: a further drive was not answered: {describe(error)}"
                found = [at_step(good.steps[-1], "every_input_is_answered", text)]
            if isinstance(found, str):
                self._undecided[name] = found
                continue
            self._found += [self._finding(item) for item in found]

    def findings(self) -> Findings:
        applicable = frozenset(INVARIANTS) - set(self._undecided)
        found = tuple(item for item in self._found if item.invariant in applicable)
        return Findings(found, applicable, self._undecided, self._acted)

    def _add(self, step: Step, found: Sequence[Violation]) -> None:
        self._found += [
            Finding(item.rule, step.number, item, _excerpt(item, step.view, step.history))
            for item in found
        ]

    def _broke_off(self, error: BaseException, step: Step | None) -> None:
        number = 0 if step is None else step.number + 1
        text = f"a valid conversation was not answered: {describe(error)}"
        broken = violation("every_input_is_answered", -1, text)
        end = self._trial.positions[number] if number < len(self._trial.positions) else 0
        tail = History(self._trial.messages[:end])
        excerpt = "\n".join(_line(at, tail[at]) for at in range(max(0, end - 3), end))
        self._found.append(Finding(broken.rule, number, broken, excerpt))
        self._undecided.pop(broken.rule, None)
        for name in INVARIANTS.keys() - {broken.rule}:
            if INVARIANTS[name].needs == "experiment":
                self._undecided.setdefault(name, "the strategy raised an error")

    def _finding(self, item: Found) -> Finding:
        excerpt = _excerpt(item.violation, item.view, item.history)
        return Finding(item.violation.rule, item.request, item.violation, excerpt)


def _excerpt(item: Violation, view: View, history: History) -> str:
    """Return the message concerned between its neighbours, from the history if it is missing."""
    if item.position >= 0 or item.concerns is None:
        messages: Sequence[Message] = view.messages
        at = item.position if item.position >= 0 else len(messages) - 1
    else:
        messages, at = history.messages(), item.concerns
    chosen = range(max(0, at - 1), min(len(messages), at + 2))
    where = "view" if item.position >= 0 or item.concerns is None else "history"
    return "\n".join(f"{where} {_line(number, messages[number])}" for number in chosen)


def _line(at: int, message: Message) -> str:
    return f"{at} {message.role}{''.join(_details(message))}"


def _details(message: Message) -> Iterator[str]:
    if message.tool_calls:
        yield f" calls {', '.join(f'{call.name}({call.call_id})' for call in message.tool_calls)}"
    if message.tool_call_id is not None:
        yield f" answers {message.tool_call_id}"
    text = message.text.replace("\n", " ")
    yield f" {text[:_EXCERPT_CHARS]!r}" + (f" of {len(text)} characters" if text[60:] else "")
