"""The pytest plugin: `--compaction-strategy`, the fixture `compaction_check`, a marker.

Loaded by every pytest run in an environment that has this package, so it imports pytest and the
standard library only; what checks is imported when there is something to check. Everything that it
puts into a namespace of pytest begins with `compaction`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from compaction.contract.search import Outcome, Plan
    from compaction.contract.targets import Candidate, Target

MARKER: Final = "compaction"
MARKER_KEYWORDS: Final = ("examples", "seed", "time_budget_seconds", "ignore")
_COLLECTORS: Final = pytest.StashKey[list["StrategyContract"]]()


class BrokenInvariant(Exception):
    """An invariant does not hold; the message is everything that is to be shown."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("compaction", "contracts of context compaction")
    group.addoption(
        "--compaction-strategy",
        action="append",
        default=[],
        metavar="SPEC",
        help="check this strategy, one test item per invariant: module:name, path.py:name or a "
        "name from `compaction-evals list strategies`; repeatable",
    )
    group.addoption(
        "--compaction-set",
        action="append",
        default=[],
        metavar="K=V",
        help="a parameter of the strategies; a size may be a share of each conversation: 50%%",
    )
    group.addoption(
        "--compaction-examples",
        type=int,
        default=100,
        metavar="N",
        help="generated conversations per strategy (default: 100)",
    )
    group.addoption(
        "--compaction-seed", type=int, default=0, metavar="N", help="of the generator (default: 0)"
    )
    group.addoption(
        "--compaction-time-budget",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="for one strategy (default: 60)",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARKER}({', '.join(MARKER_KEYWORDS)}): how the fixture compaction_check looks for "
        "broken invariants in this test",
    )
    config.stash[_COLLECTORS] = []


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the items before others look at the list, so that -k and --lf see them."""
    for spec in config.getoption("compaction_strategy"):
        contract = StrategyContract.from_parent(session, name=f"compaction[{spec}]", spec=spec)
        config.stash[_COLLECTORS].append(contract)
        contract.load()
        items.extend(session.genitems(contract))


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers(MARKER):
        unknown = sorted(set(mark.kwargs) - set(MARKER_KEYWORDS))
        if mark.args or unknown:
            wrong = f"{unknown[0]}=" if unknown else repr(mark.args[0])
            pytest.fail(
                f"the marker {MARKER!r} does not take {wrong}; "
                f"it takes {', '.join(f'{key}=' for key in MARKER_KEYWORDS)}",
                pytrace=False,
            )


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for contract in config.stash[_COLLECTORS]:
        if contract.has_run and hasattr(contract, "outcome"):
            terminalreporter.write_line(f"compaction: {contract.spec}: {contract.summary}")


class StrategyContract(pytest.Collector):
    """One strategy. The search runs once, when the first of its items does."""

    def __init__(self, *, spec: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.spec = spec
        self.has_run = False

    def load(self) -> None:
        """Find the strategy.

        Raises:
            pytest.UsageError: there is none.
        """
        from compaction.errors import CompactionError

        try:
            self._target.strategy_for(())
        except CompactionError as error:
            raise pytest.UsageError(f"--compaction-strategy: {error}") from error

    def collect(self) -> Iterator["InvariantItem"]:
        from compaction.contract.invariants import INVARIANTS

        for name in INVARIANTS:
            yield InvariantItem.from_parent(self, name=name)

    @cached_property
    def outcome(self) -> "Outcome":
        from compaction.contract.search import search

        self.has_run = True
        return search(self._target, _plan(self.config))

    @property
    def summary(self) -> str:
        from compaction.contract.report import summary

        return summary(self.outcome)

    @cached_property
    def _target(self) -> "Target":
        from compaction.contract.targets import Target

        pairs = [item.partition("=") for item in self.config.getoption("compaction_set")]
        if bad := [key for key, equals, _ in pairs if not equals]:
            raise pytest.UsageError(f"--compaction-set takes K=V, got {bad[0]!r}")
        parameters = {key: value for key, _, value in pairs}
        return Target(self.spec, parameters, folder=self.config.invocation_params.dir)


class InvariantItem(pytest.Item):
    """One invariant of one strategy."""

    parent: StrategyContract

    def runtest(self) -> None:
        from compaction.contract.report import described

        outcome = self.parent.outcome
        if self.name in outcome.broken:
            raise BrokenInvariant(described(outcome.broken[self.name]))
        if self.name not in outcome.applicable:
            pytest.skip(f"not applicable: {outcome.reasons.get(self.name, 'nothing to check')}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, BrokenInvariant):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.path, None, f"{self.parent.spec}: {self.name}"


@pytest.fixture
def compaction_check(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Check a compactor: `compaction_check(compact)` fails with the shrunk conversation.

    It takes a callable, a class, a strategy or a spec (`module:name`), and `promises=`, a mapping
    of what the compactor promises beyond what everyone must keep. How long it looks is said by
    the marker `compaction`, else by the options `--compaction-...`.
    """
    marked: dict[str, Any] = {}
    for mark in request.node.iter_markers(MARKER):
        marked = {**mark.kwargs, **marked}

    def check(strategy: Any, *, promises: Mapping[str, Any] | None = None) -> None:
        from compaction.contract.report import described, summary
        from compaction.contract.search import search

        target = _candidate(strategy, promises, request.config)
        outcome = search(target, _plan(request.config, marked))
        if outcome.broken:
            texts = [described(broken) for broken in outcome.broken.values()]
            pytest.fail("\n\n".join([*texts, summary(outcome)]), pytrace=False)

    return check


def _candidate(
    strategy: Any, promises: Mapping[str, Any] | None, config: pytest.Config
) -> "Candidate":
    from compaction.contract.callables import as_strategy
    from compaction.contract.targets import Given, Target, promises_of

    declared = None if promises is None else promises_of(promises)
    if isinstance(strategy, str):
        return Target(strategy, promises=declared, folder=config.invocation_params.dir)
    return Given(as_strategy(strategy, promises=declared))


def _plan(config: pytest.Config, marked: Mapping[str, Any] | None = None) -> "Plan":
    from compaction.contract.search import Plan

    wanted: Mapping[str, Any] = marked or {}
    ignored: Sequence[str] = wanted.get("ignore", ())
    return Plan(
        examples=wanted.get("examples", config.getoption("compaction_examples")),
        seed=wanted.get("seed", config.getoption("compaction_seed")),
        budget_seconds=wanted.get(
            "time_budget_seconds", config.getoption("compaction_time_budget")
        ),
        ignored=known_invariants([ignored] if isinstance(ignored, str) else ignored),
    )


def known_invariants(names: Sequence[str]) -> frozenset[str]:
    """Return the names as a set.

    Raises:
        pytest.UsageError: one of them is no invariant.
    """
    from compaction.contract.invariants import INVARIANTS

    if unknown := sorted(set(names) - set(INVARIANTS)):
        raise pytest.UsageError(
            f"there is no invariant {unknown[0]!r}; known: {', '.join(INVARIANTS)}"
        )
    return frozenset(names)
