"""What an agent read or ran again after a compaction although it had had it before.

The price of forgetting on real logs: after a compaction agents mostly read again what they had
(DESIGN section 8, Recorded compactions). A call is a re-acquisition if all of this holds:

- An earlier call before the boundary had the same subject: the same file, address, search or
  command, or for another reading tool the same name and arguments (see `subject_of`). A command
  that shows one file reads that file (`evals.audit.shell_reads`).
- At least `MIN_KNOWN_FRACTION` of its result, by lines, stood in results of that subject that were
  no longer there, and not in one that was still sent whole: another part of the file may be.
- Nothing had changed it since: no call wrote to the file; for a command, no call wrote to any file.
  What shell commands do to files is not seen.
- Those lines had not been fetched again after the boundary before.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from compaction.messages import Message, Messages, ToolCall, canonical_json
from compaction.pairing import Pairing
from evals.audit.shell_reads import file_shown_by
from evals.extraction.file_calls import (
    arguments_of,
    changed_by,
    failed_calls,
    is_change,
    is_patch,
    named_file,
    text_argument,
)
from evals.extraction.quotes import without_line_numbers
from evals.extraction.tool_names import is_read_only

Kind = Literal["file", "search", "url", "command", "call"]
KINDS: Final[tuple[Kind, ...]] = ("file", "search", "url", "command", "call")

MIN_KNOWN_FRACTION: Final = 0.5
"""Of the characters of a result, in lines that stood in earlier results of the subject. Less is
another part of a file or another state of the world. This project's choice."""

_COMMANDS: Final = ("command", "cmd", "script")
_PLACES: Final = ("workdir", "cwd")
_SEARCHES: Final = ("pattern", "query", "regex", "glob", "search")
_NOISE: Final = frozenset(
    {"description", "explanation", "timeout", "timeout_ms", "yield_time_ms", "max_output_tokens"}
)
"""Arguments that do not change what is fetched."""


class Subject(NamedTuple):
    """What a call fetches."""

    kind: Kind
    text: str
    """Path, address, command, or name and arguments; calls with equal subjects fetch the same."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """One call that fetched again what was known before the boundary."""

    subject: Subject
    call: ToolCall
    caller: int
    """Index in the log of the message that called."""
    result: int
    """Index in the log of the result."""
    first: int
    """Index in the log of the newest earlier result of the subject."""
    known_fraction: float
    """Of the result's characters, those in lines that were known."""


def subject_of(call: ToolCall) -> Subject | None:
    """Return what a call fetches, or None if it changes something or nobody can say."""
    arguments = arguments_of(call)
    if arguments is None or is_patch(call) or is_change(call, arguments):
        return None
    command = _first(arguments, _COMMANDS)
    path = named_file(arguments)
    if command is not None and not (command == "view" and path):
        place = text_argument(arguments, _PLACES)
        if (shown := file_shown_by(command, place)) is not None:
            return Subject("file", shown)
        return Subject("command", canonical_json([command, place]) if place else _shown(command))
    if (url := text_argument(arguments, ("url", "uri"))) is not None:
        return Subject("url", url)
    told = {key: value for key, value in arguments.items() if key not in _NOISE}
    if text_argument(arguments, _SEARCHES) is not None:
        return Subject("search", f"{call.name} {canonical_json(told)}")
    if path is not None and (is_read_only(call.name) or command == "view"):
        return Subject("file", path)
    return (
        Subject("call", f"{call.name} {canonical_json(told)}") if is_read_only(call.name) else None
    )


def repeats_after(log: Messages, boundary: int, kept: Sequence[Message]) -> list[Repeat]:
    """Return the re-acquisitions after a boundary, in order.

    Args:
        log: Everything that was said, each message once.
        boundary: So many messages were said before it.
        kept: What was sent on unchanged after the boundary.
    """
    return list(_Search(log, boundary, frozenset(kept)).run())


class _Search:
    def __init__(self, log: Messages, boundary: int, kept: frozenset[Message]) -> None:
        self._log = log
        self._boundary = boundary
        self._kept = kept
        self._known: defaultdict[Subject, list[int]] = defaultdict(list)
        """Subject -> results since it was last changed."""
        self._call_of: Mapping[int, tuple[int, ToolCall]] = {
            at: (caller, call)
            for at, (caller, call) in Pairing(log).call_of.items()
            if caller is not None
        }
        self._failed = failed_calls(log, self._call_of)

    def run(self) -> Iterator[Repeat]:
        for at, message in enumerate(self._log):
            for call in message.tool_calls:
                if (at, call) not in self._failed:
                    self._forget_changed(call)
            made = self._call_of.get(at)
            if made is None or made in self._failed:
                continue
            caller, call = made
            subject = subject_of(call)
            if subject is None:
                continue
            if caller >= self._boundary:
                found = self._repeat(subject, call, caller, at)
                if found is not None:
                    yield found
            self._known[subject].append(at)

    def _repeat(self, subject: Subject, call: ToolCall, caller: int, at: int) -> Repeat | None:
        known_results = self._known.get(subject, [])
        earlier = [each for each in known_results if each < self._boundary]
        gone = [each for each in earlier if self._log[each] not in self._kept]
        if not gone:
            return None
        known = known_fraction(
            self._log[at].text,
            [self._log[each].text for each in gone],
            standing=[self._log[each].text for each in known_results if each not in gone],
        )
        if known < MIN_KNOWN_FRACTION:
            return None
        return Repeat(subject, call, caller, at, gone[-1], known)

    def _forget_changed(self, call: ToolCall) -> None:
        changed = changed_by(call)
        if not changed:
            return
        for subject in list(self._known):
            is_file = subject.kind == "file" and any(_is_same(subject.text, f) for f in changed)
            if is_file or subject.kind == "command":
                del self._known[subject]


def _is_same(one: str, other: str) -> bool:
    """Whether two paths may be of one file: patches and commands name it from different folders."""
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")


def known_fraction(text: str, earlier: Sequence[str], *, standing: Sequence[str] = ()) -> float:
    """Return the share of a text's characters in lines that an earlier text has; 0 if it has none.

    Lines of a text that still stands do not count. Line numbers of viewers and blanks at both ends
    of a line are left out.
    """
    known = {line for each in earlier for line in _lines(each)}
    known -= {line for each in standing for line in _lines(each)}
    own = list(_lines(text))
    total = sum(map(len, own))
    return sum(len(line) for line in own if line in known) / total if total else 0.0


def _lines(text: str) -> Iterator[str]:
    for line in without_line_numbers(text).split("\n"):
        if stripped := line.strip():
            yield stripped


def _first(arguments: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((arguments[name] for name in names if arguments.get(name)), None)


def _shown(command: Any) -> str:
    return command if isinstance(command, str) else canonical_json(command)
