"""Which lines of a conversation are worth keeping, and as what: the rules behind `extractive`.

goal         what users wrote, the first and the latest message before those between
constraints  lines of users with a directive word (must, never, only; 必须, 不要, ...); without
             a heading for them they belong to the goal
system       lines of system and developer messages
facts        lines anywhere with specific values: numbers with keys, paths, ids, addresses
files        paths named in the arguments of calls, then lines that name a path
errors       lines of results that report a failure, the latest first
decisions    lines of the assistant that decide or explain, the latest first
open         lines of the assistant about what is left to do, the latest first
progress     what the assistant said last

A line of the previous summary belongs to the kind of the heading it stands under, and goes before
new lines. Lines that hold a word of the focus go before all others.
"""

import heapq
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from compaction.llm import ModelCall
from compaction.messages import INSTRUCTION_ROLES, Message

Kind = Literal[
    "goal",
    "constraints",
    "facts",
    "files",
    "errors",
    "decisions",
    "progress",
    "open",
    "system",
]

MAX_LINE_CHARS: Final = 300
"""Longer lines are looked at in pieces of this length, each a candidate of its own."""
MAX_CANDIDATES: Final = 400
"""Of one kind; what ranks below this would not fit any summary."""

_HEADINGS: Final[tuple[tuple[str, Kind], ...]] = (
    (r"system|persona|系统", "system"),
    (r"constraint|preference|directive|instruction|rule|约束|偏好|要求|指令", "constraints"),
    (r"goal|overview|request|intent|objective|目标|概述|请求", "goal"),
    (r"error|block|fail|bug|problem|错误|阻塞|问题", "errors"),
    (r"next|pending|to-?do|open|task|question|remaining|下一步|待办|未决|剩余", "open"),
    (r"decision|决定|决策", "decisions"),
    (r"file|path|artifact|文件|路径", "files"),
    (r"progress|done|status|recent|tone|进展|完成|进度", "progress"),
)
_DIRECTIVE: Final = re.compile(
    r"\b(must|never|always|only|do not|don['’]t|should|shall|avoid|without|prefer|require[ds]?"
    r"|at (most|least)|no more than|make sure|ensure|keep|limit|deadline|budget|instead|use)\b"
    r"|必须|不要|不得|不能|禁止|只能|只用|务必|一定|总是|优先|不超过|至少|最多|请用|请勿|避免",
    re.IGNORECASE,
)
_ERROR: Final = re.compile(
    r"(?i:\b(error|exception|traceback|fail(ed|ure|s)?|fatal|panic|not found|denied|refused"
    r"|timed? ?out|undefined|cannot)\b|错误|失败|异常)|\w(Error|Exception)\b"
)
_DECISION: Final = re.compile(
    r"\b(decid(e|ed|ing)|decision|chose|choose|instead of|because|root cause|turns out|switch(ed)?"
    r"|agreed|will use|going with|conclu(de|sion)|so that|the fix)\b"
    r"|决定|选择|改用|采用|因为|原因",
    re.IGNORECASE,
)
_OPEN: Final = re.compile(
    r"\b(to-?do|next|remaining|pending|still (need|have|to)|not yet|left to|need to|follow-?up)\b"
    r"|- \[ \]|待办|下一步|还需|尚未|接下来|剩余",
    re.IGNORECASE,
)
_PATH: Final = re.compile(
    r"(?<![\w.])(?:~|\.{1,2}|[\w.-]{1,60})?(?:/[\w.@+-]{1,80}){1,20}"
    r"|\b[\w-]{1,60}\.(?:py|js|tsx?|jsx|json|ya?ml|toml|md|txt|rs|go|java|c|h|cpp|sh|sql|html|css"
    r"|csv|log|ini|cfg|lock)\b"
)
_SPECIFIC: Final = re.compile(
    r"https?://\S{1,200}"
    r"|\b[A-Za-z_][\w.-]{0,40}[\"']?\s{0,2}[=:]\s{0,2}[\"']?[^\s\"',;]{0,30}\d"
    r"|\b(?=[0-9a-f-]{0,35}\d)[0-9a-f]{7,40}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-"
    r"|\b[A-Z][A-Z0-9]{1,20}[-_][A-Z0-9_-]{1,40}\b"
    r"|[$€£¥]\s?\d|\d[\d,.]{0,20}\s?(?:%|ms|s|MB|GB|KB|px|tokens?|usd|元|个|条|天)"
)
_MAY_BE_SPECIFIC: Final = re.compile(r"[\d/]|\.\w|[A-Z0-9][-_][A-Z0-9]")
_PATH_ARGUMENT: Final = re.compile(
    r'"(?:path|file|file_?path|filename|target_file|notebook_path)"\s{0,4}:\s{0,4}"([^"\\\n]{1,300})"'
)
_WORD: Final = re.compile(r"[\w./-]{3,}|[\u4e00-\u9fff]{2}")
_HEADING: Final = re.compile(r"#{1,6}\s+\S|\[?[a-z_]{3,30}\]?:?$")


class Extract(NamedTuple):
    """A candidate line."""

    text: str
    order: int
    """Position among all lines read, the previous summary first."""
    score: float
    is_previous: bool


class Extracts:
    """The candidates of one call, by kind."""

    def __init__(self, call: ModelCall, headings: tuple[str, ...]) -> None:
        self.first_line = _first_line(call)
        """What is left if nothing else fits."""
        self._by_kind: defaultdict[Kind, list[Extract]] = defaultdict(list)
        self._seen: set[tuple[Kind, str]] = set()
        self._order = 0
        self._headings = frozenset(headings)
        self._constraints_wanted = any(kind_of(heading) == "constraints" for heading in headings)
        self._focus = frozenset(word.lower() for word in _WORD.findall(call.focus or ""))
        self._read_previous(call.previous_summary or "", fixed_headings=bool(call.sections))
        users = [i for i, message in enumerate(call.subject) if message.role == "user"]
        for index, message in enumerate(call.subject):
            recency = (index + 1) / len(call.subject)
            if message.role == "user":
                outer = index in (users[0], users[-1])
                self._read_user(message, recency + (2 if outer else 0))
            elif message.role in INSTRUCTION_ROLES:
                self._read_system(message)
            elif message.is_result:
                self._read_result(message, recency)
            else:
                self._read_assistant(message, recency)

    def ranked(self, kind: Kind) -> list[Extract]:
        """Return the candidates of a kind, best first."""
        lines = self._by_kind[kind]
        best: list[Extract] = []
        for is_previous in (True, False):
            same = (line for line in lines if line.is_previous is is_previous)
            best += heapq.nsmallest(MAX_CANDIDATES, same, key=_rank)
        return sorted(best, key=_rank)

    def _read_previous(self, summary: str, *, fixed_headings: bool) -> None:
        kind: Kind = "facts"
        for line in summary.splitlines():
            text = line.strip()
            if text in self._headings or (not fixed_headings and is_heading(text)):
                kind = kind_of(text)
            elif text := text.lstrip("#").strip():
                self._add(kind, text[:MAX_LINE_CHARS], 3.0, is_previous=True)

    def _read_user(self, message: Message, weight: float) -> None:
        for at, text in enumerate(_lines(message.text)):
            directive = _DIRECTIVE.search(text) is not None
            if not (directive and self._constraints_wanted):
                self._add("goal", text, weight - min(at, 100) / 100)
            if directive:
                self._add("constraints", text, 1 + specificity(text))
            self._add_specific(text, 1.0)

    def _read_system(self, message: Message) -> None:
        for text in _lines(message.text):
            self._add("system", text, 1.0 + bool(_DIRECTIVE.search(text)))

    def _read_result(self, message: Message, recency: float) -> None:
        for text in _lines(message.text):
            value = specificity(text)
            if _ERROR.search(text):
                self._add("errors", text, recency + min(value, 3) / 3)
            if value:
                self._add("facts", text, value + recency / 2)
                if _PATH.search(text):
                    self._add("files", text, recency / 2)

    def _read_assistant(self, message: Message, recency: float) -> None:
        for text in _lines(message.text):
            self._add("progress", text, recency)
            if _DECISION.search(text):
                self._add("decisions", text, recency + min(specificity(text), 3) / 3)
            if _OPEN.search(text):
                self._add("open", text, recency)
            self._add_specific(text, recency)
        for call in message.tool_calls:
            for found in _PATH_ARGUMENT.finditer(call.arguments):
                self._add("files", found[1], 1 + recency)

    def _add_specific(self, text: str, bonus: float) -> None:
        value = specificity(text)
        if value:
            self._add("facts", text, value + bonus)

    def _add(self, kind: Kind, text: str, score: float, *, is_previous: bool = False) -> None:
        if (kind, text) in self._seen or text in self._headings:
            return
        self._seen.add((kind, text))
        if self._focus and any(word in text.lower() for word in self._focus):
            score += 10
        self._order += 1
        self._by_kind[kind].append(Extract(text, self._order, score, is_previous))


def _first_line(call: ModelCall) -> str:
    """Return the first line that says anything; heading marks go, as in every other line."""
    texts = [*(message.text for message in call.subject), call.previous_summary or ""]
    lines = (line for text in texts for line in text.splitlines())
    said = (line[:MAX_LINE_CHARS].strip().lstrip("#").strip() for line in lines)
    return next((line for line in said if line), "")


def _rank(line: Extract) -> tuple[float, int]:
    return -line.score, line.order


def kind_of(heading: str) -> Kind:
    """Return what belongs under a heading; unknown headings hold facts."""
    found = (kind for pattern, kind in _HEADINGS if re.search(pattern, heading, re.IGNORECASE))
    return next(found, "facts")


def is_heading(line: str) -> bool:
    """Whether a line of a summary is a heading: `#` marks, or one bare lower-case name."""
    return _HEADING.match(line) is not None


def specificity(text: str) -> int:
    """Count the specific values in a line, at most 4, so that a dump of numbers does not win."""
    if not _MAY_BE_SPECIFIC.search(text):
        return 0
    return min(len(_SPECIFIC.findall(text)) + len(_PATH.findall(text)), 4)


def _lines(text: str) -> Iterator[str]:
    """Yield the non-blank lines without their margins, long ones in pieces.

    Leading `#` marks go, so that no line can pass for a heading. Pieces without any gap are data,
    not language, and are left out.
    """
    for line in text.splitlines():
        for start in range(0, len(line), MAX_LINE_CHARS):
            piece = line[start : start + MAX_LINE_CHARS].strip().lstrip("#").strip()
            readable = len(piece) < 100 or any(gap in piece for gap in " ,，。；")
            if piece and readable:
                yield piece
