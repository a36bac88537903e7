"""What an agent did to which file, as the whole history tells it and as a view tells it.

A file's state is the last thing that a call did to it (`evals.extraction.file_calls`): read,
modified or deleted. A call that failed did nothing. Source: reference/methods.md section 5, F6.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, Literal

from compaction.messages import Message, ToolCall
from compaction.pairing import Pairing
from compaction.tiers.file_ledger import split_footprint
from evals.extraction import file_calls
from evals.extraction.file_calls import actions_of, canonical_file
from evals.extraction.references import occurs_in

State = Literal["read", "modified", "deleted"]
Survival = Literal["kept", "stale", "lost"]

_SAYS: Final[Mapping[State, re.Pattern[str]]] = {
    "deleted": re.compile(r"delet|remov|dropp|unlink|删除|移除|gelösch", re.IGNORECASE),
    "modified": re.compile(
        r"modif|edit|chang|updat|creat|writ|wrote|add|fix|replac|implement|refactor|patch|rewr"
        r"|修改|新增|新建|创建|更新|编辑|写入|修复|geänder|erstell",
        re.IGNORECASE,
    ),
    "read": re.compile(r""),
}
"""Words by which a written line tells a state; of a file that was only read, its name is enough."""


def failed_calls(messages: Sequence[Message]) -> frozenset[ToolCall]:
    """Return the calls whose results are marked as errors."""
    return frozenset(
        call for _, call in file_calls.failed_calls(messages, Pairing(messages).call_of)
    )


def states_of(messages: Iterable[Message], failed: frozenset[ToolCall]) -> dict[str, State]:
    """Return path -> what was done to it last, in the order of first use."""
    states: dict[str, State] = {}
    for message in messages:
        for call in message.tool_calls:
            if call not in failed:
                for path, action in actions_of(call).items():
                    if action != "named":
                        states[path] = action
    return states


def survival_of(
    true_states: Mapping[str, State],
    seen_states: Mapping[str, State],
    written: Sequence[str],
    named: Collection[str] = (),
) -> dict[str, Survival]:
    """Say for each file whether a view still tells its state.

    Args:
        true_states: By the whole history.
        seen_states: By the calls that the view shows.
        written: Texts that the strategy wrote into the view.
        named: Files that any other text of the view names.

    Returns:
        Path -> `kept` (the last call on it, or a written line that tells its state), `stale` (the
        view names the file and an older state, or none), or `lost` (the view does not name it).
    """
    names = names_of(true_states)
    return {
        path: _survival(path, names[path], state, seen_states.get(path), written, named)
        for path, state in true_states.items()
    }


def names_of(paths: Collection[str]) -> dict[str, str]:
    """Return path -> the name by which a text may speak of it.

    People and models write `src/a.py` for `/home/me/project/src/a.py`: the last folder and name,
    or the whole path where two files share these.
    """
    shared = Counter(map(_short, paths))
    return {path: short if shared[short := _short(path)] == 1 else path for path in paths}


def _short(path: str) -> str:
    return "/".join(path.split("/")[-2:])


def _survival(
    path: str,
    name: str,
    state: State,
    seen: State | None,
    written: Sequence[str],
    named: Collection[str],
) -> Survival:
    if seen == state:
        return "kept"
    lines = [line for text in written for line in _lines_naming(path, name, text)]
    if any(_SAYS[state].search(line) for line in lines):
        return "kept"
    return "stale" if seen is not None or lines or path in named else "lost"


@lru_cache(maxsize=16_384)
def _lines_naming(path: str, name: str, text: str) -> tuple[str, ...]:
    """Return the lines of a text that name a file, each after its heading's words."""
    if name not in text:
        return ()
    rest, footprint = split_footprint(text)
    found = [f"{heading} {line}" for heading, line in _headed(rest) if occurs_in(name, line)]
    found += ["modified"] * (path in map(canonical_file, footprint.modified))
    found += ["read"] * (path in map(canonical_file, footprint.read))
    return tuple(found)


def _headed(text: str) -> Iterable[tuple[str, str]]:
    """Yield (heading, line): a list below "Files modified:" tells the state of its files."""
    heading = ""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("#") or stripped.endswith((":", "：")):
            heading = stripped
        elif not stripped:
            continue
        yield heading, line
