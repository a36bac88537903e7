"""A Hypothesis state machine: a conversation grows, is compacted at any moment, and is resumed.

It finds what a property over finished conversations does not: a second pass that stands on the
first, a pass between any two messages, a new process that has nothing but the history.
"""

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from compaction.contract.callables import as_strategy
from compaction.contract.checker import Checker
from compaction.contract.faults import Violation
from compaction.contract.generators import LENGTHS, tool_groups
from compaction.contract.providers.openai_chat import OPENAI_CHAT
from compaction.contract.suite import ALL_NEEDS, check_conversation
from compaction.contract.trial import CHARS_PER_TOKEN, RequestChars
from compaction.extractive import ExtractiveModel
from compaction.history import History
from compaction.llm import ChatModel, Usage, drive
from compaction.messages import Message, Messages
from compaction.store import MemoryStore
from compaction.strategy import Context, Request, Strategy

STEPS: Final = 12
"""Steps of one run, unless the settings of the `TestCase` say otherwise."""
_TEXTS: Final = st.sampled_from(LENGTHS).map("word ".__mul__)


class BrokenInvariantsError(AssertionError):
    """The conversation so far breaks invariants; the message names each with its place."""


class CompactionMachine(RuleBasedStateMachine):
    """Subclass it with a `strategy`, and give the `TestCase` of the subclass to pytest.

    After every step the conversation so far is checked with the requests that were made: what
    concerns a view after each message, all invariants after each request. The views of the running
    compactor are checked too; it is started anew now and then over the same history.

        class MyMachine(CompactionMachine):
            strategy = MyStrategy(keep_last_results=3)

        TestMyStrategy = MyMachine.TestCase
    """

    strategy: ClassVar[Any] = None
    """A strategy, or a callable or class as `as_strategy` takes it."""
    model: ClassVar[ChatModel] = ExtractiveModel()
    """Answers the strategy's calls."""
    ignored: ClassVar[frozenset[str]] = frozenset()
    """Names of invariants that may be broken."""

    def __init_subclass__(cls, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        cls.TestCase.settings = settings(cls.TestCase.settings, stateful_step_count=STEPS)

    def __init__(self) -> None:
        super().__init__()
        self.checked = _strategy_of(type(self))
        self.history = History()
        self.requests: list[int] = []
        """Lengths of the history at the requests so far."""
        self._open: Messages = ()
        """Results that are still to come, the calls standing in the history."""
        self._measure = RequestChars()
        self._is_checked = True
        self.resume()

    @property
    def is_begun(self) -> bool:
        return len(self.history) > 0

    @initialize(roles=st.sampled_from([(), ("system",), ("system", "developer")]), text=_TEXTS)
    def begin(self, roles: tuple[Any, ...], text: str) -> None:
        self._append(Message(role, f"{role}: {text}") for role in roles)

    @rule(text=_TEXTS)
    @precondition(lambda self: not self._open)
    def the_user_says(self, text: str) -> None:
        self._append([Message("user", f"{len(self.history)}:{text}")])

    @rule(text=_TEXTS)
    @precondition(lambda self: not self._open and self.is_begun)
    def the_assistant_says(self, text: str) -> None:
        self._append([Message("assistant", f"{len(self.history)}:{text}")])

    @rule(group=tool_groups(), data=st.data())
    @precondition(lambda self: not self._open and self.is_begun)
    def the_assistant_calls(self, group: Messages, data: st.DataObject) -> None:
        answered = data.draw(st.integers(1, len(group)), label="messages that are there at once")
        self._append(group[:answered])
        self._open = group[answered:]

    @rule()
    @precondition(lambda self: self._open)
    def a_result_comes(self) -> None:
        self._append(self._open[:1])
        self._open = self._open[1:]

    @rule(extra_tokens=st.sampled_from([0, 0, 500, 100_000]))
    @precondition(lambda self: self.is_begun)
    def compact(self, extra_tokens: int) -> None:
        """Make a request now; the provider counts `extra_tokens` beside the messages."""
        request = Request(len(self.requests))
        view = drive(self._compactor.steps(self.history, request), self.model)
        size = sum(self._measure.count(entry.message) for entry in view.entries)
        found = self._checker.see(
            self.history,
            view,
            tokens_before=self.history.total(self._measure),
            tokens_after=size,
            recover=self._compactor.recover,
        )
        self._compactor.record_usage(Usage(size // CHARS_PER_TOKEN + extra_tokens, 50))
        self.requests.append(len(self.history))
        self._is_checked = False
        self._raise(found)

    @rule()
    def resume(self) -> None:
        """Start a new compactor, as a new process does that has read the history."""
        self._compactor = self.checked.start(Context(self._measure, MemoryStore()))
        self._checker = Checker(self.checked.promises, OPENAI_CHAT)

    @invariant()
    def every_invariant_holds(self) -> None:
        """Check the views after each step that said something, everything after a request."""
        if self._is_checked:
            return
        self._is_checked = True
        has_asked = self.requests[-1:] == [len(self.history)]
        findings = check_conversation(
            self.checked,
            self.history.messages(),
            model=self.model,
            requests=sorted({*self.requests, len(self.history)}),
            needs=ALL_NEEDS if has_asked else ("replay",),
        )
        self._raise(item.violation for item in findings.violations)

    def _append(self, messages: Iterable[Message]) -> None:
        self.history = self.history.extended(messages)
        self._is_checked = False

    def _raise(self, violations: Iterable[Violation]) -> None:
        lines = [
            f"{item.rule}: {item.explanation} ({item.pointer or 'the whole view'})"
            for item in violations
            if item.rule not in self.ignored
        ]
        if lines:
            raise BrokenInvariantsError("\n".join(lines))


def _strategy_of(machine: type[CompactionMachine]) -> Strategy:
    # From the class itself, where a function has not become a method of the machine.
    given = next(vars(kind)["strategy"] for kind in machine.__mro__ if "strategy" in vars(kind))
    if given is None:
        raise TypeError(f"{machine.__name__} needs a class attribute `strategy`")
    return as_strategy(given, machine.__name__)
