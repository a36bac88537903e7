"""Conditions under which a comparison fails a build: `reach<-0.02`, `reach.low<-5%`, `inferior`.

A number is compared with candidate minus baseline as measured; `.low` and `.high` are the ends of
the interval that decides the verdict, and of the 95 % interval where there is no verdict.
`inferior` is a verdict, of one measure (`reach=inferior`) or of any. So `reach=inferior` fails once
the test of the verdict shows a loss beyond the margin, and `reach.low<-5%` until it shows that
there is none of 5 points. Both need sessions enough for a verdict, but what is the same on every
transcript is not inferior, however few they are.
"""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from evals.results import ResultsError
from evals.stats import MIN_CLUSTERS, Verdict
from reports.compare import Comparison
from reports.differences import Difference
from reports.measures import measure_named
from reports.wording import MISSING, amount

_OPERATORS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_NUMERIC: Final = re.compile(
    r"(?P<name>\w+)(?:\.(?P<end>low|high))?\s*(?P<op><=|>=|<|>)\s*(?P<number>[-+]?[\d.]+)(?P<percent>%?)"
)
_WORDED: Final = re.compile(r"(?:(?P<name>\w+)\s*=\s*)?(?P<verdict>[a-z][a-z -]*)")
EXAMPLE: Final = "write it like reach<-0.02, saving_fraction.low<-5% or reach=inferior"


@dataclass(frozen=True, slots=True)
class Gate:
    """What was asked of a comparison, and why it fails."""

    conditions: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    """Conditions that hold or cannot be judged; and, asked for or not, what the candidate newly
    failed on or broke, and what was not run."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One --fail-on."""

    text: str
    name: str | None
    """Measure; None: any."""
    end: str | None = None
    op: str = ""
    number: float = 0.0
    is_percent: bool = False
    verdict: str | None = None

    def is_met(self, found: Difference) -> bool:
        if self.name not in (None, found.measure.name):
            return False
        if self.verdict is not None:
            return found.verdict == self.verdict
        value = self._value(found)
        return value is not None and _OPERATORS[self.op](value, self.number)

    def reading(self, found: Difference) -> str:
        """Return what a condition that is met was about, in its own unit."""
        if self.verdict is None:
            return self._text(self._value(found))
        low, high = map(self._text, found.ends)
        return f"{self._text(found.difference)} (90 %: {low} to {high})"

    def _value(self, found: Difference) -> float | None:
        low, high = found.ends
        return {None: found.difference, "low": low, "high": high}[self.end]

    def _text(self, value: float | None) -> str:
        if value is None:
            return MISSING
        return f"{amount(100 * value)} %" if self.is_percent else amount(value)


def conditions(texts: Sequence[str]) -> tuple[Condition, ...]:
    """Read conditions.

    Raises:
        ResultsError: not a condition, or of an unknown measure; names the nearest one.
    """
    return tuple(map(_condition, texts))


def judge(
    wanted: Sequence[Condition], found: Sequence[Comparison], gaps: Iterable[str] = ()
) -> Gate:
    """Return what fails; `gaps` is what was not run (`reports.unmatched`)."""
    failed = [*met(wanted, found)]
    failed += [
        f"cannot be judged on these transcripts: {text}" for text in unmeasured(wanted, found)
    ]
    failed += gaps
    for each in found:
        failed += [f"failed in the candidate only: {name}" for name in each.new_failures]
        failed += [f"broke a rule that the baseline kept: {name}" for name in each.new_violations]
    return Gate(tuple(condition.text for condition in wanted), tuple(failed))


def met(wanted: Sequence[Condition], found: Sequence[Comparison]) -> Iterator[str]:
    """Yield a sentence for each condition and setting that meet."""
    for condition in wanted:
        for comparison in found:
            for each in comparison.differences:
                if condition.is_met(each):
                    yield (
                        f"{condition.text}: {each.measure.title} of {comparison.candidate} on the "
                        f"{comparison.provenance} transcripts: {condition.reading(each)}"
                    )


def unmeasured(wanted: Sequence[Condition], found: Sequence[Comparison]) -> Iterator[str]:
    """Yield conditions about something that no comparison has, and why: they cannot close."""
    for condition in wanted:
        known = [each for comparison in found for each in comparison.differences]
        is_open = not any(_can_tell(condition, each) for each in known)
        if is_open and not (_is_same(condition, known) or _is_untouched(condition, found)):
            yield f"{condition.text} ({_lack(condition, known)})"


def _is_same(condition: Condition, known: Sequence[Difference]) -> bool:
    """Whether a condition is of "inferior" and nothing that it is about differs anywhere."""
    about = [
        each
        for each in known
        if condition.name in (None, each.measure.name) and each.measure.margin is not None
    ]
    is_inferior = condition.verdict == "inferior"
    return is_inferior and bool(about) and not any(each.has_moved for each in about)


def _is_untouched(condition: Condition, found: Sequence[Comparison]) -> bool:
    """Whether a condition is of what is kept, and nothing was compacted that could be lost."""
    if condition.name is None or not measure_named(condition.name).is_share:
        return False
    if condition.verdict is None:
        can_pass = condition.end is None and not _OPERATORS[condition.op](0.0, condition.number)
    else:
        can_pass = condition.verdict == "inferior"
    return can_pass and all(each.is_idle for each in found)


def _can_tell(condition: Condition, found: Difference) -> bool:
    if condition.name not in (None, found.measure.name):
        return False
    if condition.verdict is not None:
        return found.verdict not in (None, "not supported")
    return condition.end is None or found.ends[0] is not None


def _lack(condition: Condition, known: Sequence[Difference]) -> str:
    """Say why no comparison can tell whether a condition holds."""
    of_name = [each for each in known if condition.name in (None, each.measure.name)]
    if of_name:
        has_margin = any(each.measure.margin is not None for each in of_name)
        is_unruled = condition.verdict is not None and not has_margin
        return "it has no margin" if is_unruled else f"fewer than {MIN_CLUSTERS} sessions have it"
    return "no transcript has it on both sides"


def _condition(text: str) -> Condition:
    if (numeric := _NUMERIC.fullmatch(text.strip())) is not None:
        name, end, op, number, percent = numeric.group("name", "end", "op", "number", "percent")
        try:
            value = float(number) / (100 if percent else 1)
        except ValueError:
            raise ResultsError(f"--fail-on {text!r}: {number!r} is no number") from None
        _check_possible(_known(name, text), value, text, is_percent=bool(percent))
        return Condition(text, name, end, op, value, bool(percent))
    worded = _WORDED.fullmatch(text.strip())
    if worded is None or worded["verdict"] not in get_args(Verdict):
        raise ResultsError(f"--fail-on {text!r} is no condition; {EXAMPLE}")
    name = worded["name"]
    return Condition(text, name and _known(name, text), verdict=worded["verdict"])


def _check_possible(name: str, value: float, text: str, *, is_percent: bool) -> None:
    """Refuse a condition on a share that no difference of two shares can meet, or that all meet.

    And percent of what is counted: a difference of tokens or calls is no share of anything.
    """
    measure = measure_named(name)
    if is_percent and not measure.is_fraction:
        raise ResultsError(
            f"--fail-on {text!r}: {name} is a count, so its difference is no percentage; give a "
            f"number, like {name}>0"
        )
    if measure.is_share and not -1 < value < 1:
        raise ResultsError(
            f"--fail-on {text!r}: {name} is a share, so its difference is between -1 and 1; two "
            f"percentage points less are {name}<-0.02 or {name}<-2%"
        )


def _known(name: str, text: str) -> str:
    try:
        return measure_named(name).name
    except ResultsError as error:
        raise ResultsError(f"--fail-on {text!r}: {error}") from None
