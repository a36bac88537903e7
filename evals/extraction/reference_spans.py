"""References that span tokens: URLs, assignments (`key=value`) and error lines.

Each is found from a rare character or word on, so that a text without it costs next to nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from evals.extraction.common_names import is_common_name
from evals.extraction.reference_tokens import Reference, has_known_extension, references_of_token

MAX_ERROR_CHARS: Final = 200

_SHAPE: Final = (
    bytes(
        {":": 58, "=": 58, " ": 32, "\t": 32, "\\": 48, "-": 48, '"': 34, "'": 34, "`": 34}.get(
            chr(byte), 48 if 48 <= byte <= 57 else 97 if chr(byte).isalpha() or byte == 95 else 44
        )
        for byte in range(128)
    )
    + b"," * 128
)
"""Each byte as its kind: separator, space, digit (or what may begin a value), quote, letter."""

_PAIR_SHAPE: Final = re.compile(rb":(?<=[a0\" ]:) {0,16}[0\"]")
_URL_TAIL: Final = re.compile(r"(?:[\w.~:/?#@!$&*+=%-]|[,;](?=\w)|\([\w./-]{0,64}\))+", re.ASCII)
_SCHEME: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+]{1,15})\Z")
_VALUE: Final = re.compile(
    rb"""[ \t]{0,16}(?:
      (-?\d{1,3}(?:[,_]\d{3})+(?:\.\d+)?|-?\d{1,18}(?:\.\d{1,18})?(?:e[+-]?\d{1,3})?)
      (ms|[smhd]|[kKMGT]i?B?|B|%|px|r?em)?(?![\w%\x80-\xff]|[.:/,@+-]\w)
    | (?P<escape>\\?)(?P<quote>["'])((?:(?!(?P=quote))[^\\\n]){1,64})(?P=escape)(?P=quote))""",
    re.VERBOSE,
)
_KEY_REVERSED: Final = re.compile(
    rb"[ \t]{0,16}(?:[\"'`]\\?)?([A-Za-z0-9_][\w.-]{0,39})(?![\w.\-/\\$@])"
)
_TAG_VALUE: Final = re.compile(rb':\\{0,3}"')
_ERROR_HINTS: Final = {
    "rror": ("rror:", "rror[E", "rror TS", "rror C", "Error [", "pm error"),
    "xception": ("xception:",),
    "ERR": ("ERROR", "ERR!"),
    "FATAL": ("FATAL",),
    "FAILED": ("FAILED",),
    "fatal": ("fatal:",),
    "panic": ("panic:", "panicked"),
}
"""What to look for in a text that has a word with the stem."""

ERROR_WORD: Final = re.compile(
    rb"[rxpfEF](?:(?<=r)ror|(?<=x)ception|(?<=p)anic|(?<=f)atal|(?<=E)RR|(?<=F)(?:ATAL|AILED))"
)
"""A word with one of the stems above; it begins with a class because that is searched faster."""

_ERROR: Final = re.compile(
    r"""^(?P<prefix>[^(){};=`]{0,120}?)(?<![\w.'"])(?P<error>
      (?:(?:\w{1,40}\.){0,6}[A-Z]\w{0,80})?(?:Error|Exception)(?:\s\[\w+\])?:\s
        (?!new\s|pass\b)\S.+
    | (?:ERROR|FATAL|FAILED)\b[\]:\s|-]{1,8}[\w/<'"\[].{4,}
    | panic:\s.{4,}
    | (?:(?<=:\ )|(?<!.))(?:fatal\ )?(?:error|fatal):\s\S+\s\S.{2,}
    | thread\ '[^']{0,60}'\ panicked\ at.+
    | (?:npm|pnpm)\ (?:ERR!|error)\s(?!code|path|location|workspace|A\ complete).{6,})
    | ^.{0,200}?\b(?P<compiler>error(?:\[E\d+\]|\ [A-Z]{1,4}\d+):\s.{4,})""",
    re.VERBOSE,
)
_SOURCE_LINE: Final = re.compile(r"\b(?:except|raises?|throws?|catch)\s*$")
_VOLATILE: Final = re.compile(
    r"0x[0-9a-fA-F]+|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
    r"|(?<![A-Za-z_\d])\d+(?:[.,:/T_-]\d+)*"
)
_ESCAPED_BREAK: Final = re.compile(r"\\+[nr].*")
_TYPE_NAMES: Final = frozenset(
    b"any bool boolean bytes case date default dict else false float int list none null number "
    b"object or return str string true type undefined unknown yield and not".split()
)
_NO_KEYS: Final = (b"Error", b"Exception")


def cut_urls(text: str, found: set[Reference]) -> str:
    """Add the URLs and return the text without them: their paths are not references too."""
    pieces: list[str] = []
    start = 0
    while (middle := text.find("://", start)) >= 0:
        scheme = _SCHEME.search(text, max(start, middle - 16), middle)
        tail = _URL_TAIL.match(text, middle + 3) if scheme else None
        if scheme is None or tail is None:
            pieces.append(text[start:middle])
            start = middle + 3
            continue
        url = text[scheme.start() : tail.end()].rstrip(".,;:!?$*&=/#-@%")
        if len(url) > middle + 3 - scheme.start() and len(url) <= 400 and not is_common_name(url):
            found.add(Reference("url", url))
        pieces.append(text[start : scheme.start()])
        start = tail.end()
    pieces.append(text[start:])
    return " ".join(pieces)


def add_pairs(data: bytes, found: set[Reference]) -> None:
    """Add the assignments; the tags of Go's struct fields (`json:"name"`) are none."""
    tag_end = -9
    for shape in _PAIR_SHAPE.finditer(data.translate(_SHAPE)):
        start = shape.start()
        match = _VALUE.match(data, start + 1)
        if match is None or start < tag_end:
            continue
        reversed_key = _KEY_REVERSED.match(data[max(0, start - 64) : start][::-1])
        if reversed_key is None:
            continue
        key = reversed_key[1][::-1].lstrip(b"-.")
        if not key[:1].isalpha() and key[:1] != b"_":
            continue
        key_start = start - reversed_key.end(1)
        if _TAG_VALUE.match(data, start) and (
            data[key_start - 1 : key_start] == b"`" or key_start - tag_end == 1
        ):
            tag_end = match.end()
            continue
        number, unit, _, _, quoted = match.groups()
        pair = _key_value(key, number, unit, quoted)
        if pair is not None:
            found.add(pair)


@lru_cache(maxsize=65_536)
def _key_value(
    key: bytes, number: bytes | None, unit: bytes | None, quoted: bytes | None
) -> Reference | None:
    """Return `key=value`, or None for a loop variable, a type, or a value without weight.

    Without weight are 0 and 1 under a common key, a common word, and what is a reference of its
    own already (a path, hash or identifier).
    """
    name = key.decode("ascii")
    if (
        len(key) < 3
        or key.endswith(_NO_KEYS)
        or key.lower() in _TYPE_NAMES
        or has_known_extension(name)
    ):
        return None
    if number is not None:
        digits = number.replace(b",", b"").replace(b"_", b"").decode("ascii")
        if digits in {"0", "1"} and unit is None and is_common_name(name):
            return None
        return Reference("key_value", f"{name}={digits}{(unit or b'').decode('ascii')}")
    value = unicodedata.normalize("NFC", (quoted or b"").decode("utf-8", "replace")).strip()
    if not any(map(str.isalnum, value)) or "/" in value or is_common_name(value):
        return None
    if value[0] in " ,;:)]}>|" or value[-1] in "({[,=" or "${" in value or "{{" in value:
        return None
    return None if references_of_token(value) else Reference("key_value", f"{name}={value}")


def error_lines(text: str, error_words: set[bytes]) -> Iterator[str]:
    """Yield the normalised error messages, one per line that has one."""
    if not error_words:
        return
    words = b" ".join(error_words).decode("utf-8", "replace")
    hints = [hint for stem, group in _ERROR_HINTS.items() if stem in words for hint in group]
    for line in set(_lines_with_any(text, hints)):
        match = _ERROR.search(line)
        if match is None or _SOURCE_LINE.search(match["prefix"] or ""):
            continue
        message = _ESCAPED_BREAK.sub("", match["error"] or match["compiler"])
        message = " ".join(_VOLATILE.sub("#", message).split())[:MAX_ERROR_CHARS].rstrip(" .,;")
        if len(message) >= 8:
            yield message


def _lines_with_any(text: str, hints: list[str]) -> Iterator[str]:
    for hint in hints:
        position = text.find(hint)
        while position >= 0:
            start = text.rfind("\n", 0, position) + 1
            end = text.find("\n", position)
            end = len(text) if end < 0 else end
            yield text[start : min(end, start + 1000)]
            position = text.find(hint, end)
