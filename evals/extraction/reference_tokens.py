"""What one token of a text refers to: a path, a UUID, a hash, an identifier, or nothing.

A token is a run of characters without spaces, quotes, brackets or other delimiters; how a text is
cut into tokens, and the references that span tokens, are in `evals.extraction.references`. Each
rule drops rather than keeps when in doubt: a false reference costs more than a missed one.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final, Literal, NamedTuple

from evals.extraction.common_names import is_common_name
from evals.extraction.reference_codes import is_code

ReferenceClass = Literal["path", "url", "uuid", "hash", "identifier", "key_value", "error_line"]


class Reference(NamedTuple):
    """A thing that a text names, in canonical form; two mentions of it are equal."""

    kind: ReferenceClass
    value: str


CJK: Final = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
"""Scripts written without spaces, as the inside of a character class."""

MAX_TOKEN_CHARS: Final = 300
"""Longer tokens are data (base64, minified code, repeated characters), never names."""

MIN_IDENTIFIER_CHARS: Final = 6

_EXTENSIONS: Final = """
astro avi bak bash bat bib bin bmp c cc cfg cjs class cmake cmd conf cpp cs css csv cts cu
cxx dart db dcm diff dll doc docx dylib ejs el env erb ex exe exs f90 fish gif go gradle graphql
gz h hbs hcl hpp hs htm html ico ini ipynb jar java jpeg jpg js json json5 jsonc jsonl jsx kt
kts less lock log lua m4 map md mdc mdx mjs ml mov mp3 mp4 mts nix npy npz o onnx out parquet
patch pb pdf pem php pkl pl plist png po ppt pptx prisma properties proto ps1 psd pxd py pyc pyi
pyx r rake rar rb rmd rs rst rtf sass sbt scala scm scss sh snap so sol sql sqlite sqlite3 srt
svelte svg swift tar tcl tex tf tgz tiff tmp tmpl toml traj ts tsbuildinfo tsv tsx ttf txt vim
vue wasm wav webm webp woff woff2 xls xlsx xml xsd xz yaml yml zig zip zsh zst
"""
EXTENSIONS: Final = frozenset(_EXTENSIONS.split())

_TOP_FOLDERS: Final = """
.ci .claude .git .github .vscode app apps assets bin cmd components configs dataset datasets dist
doc docs etc examples fixtures hooks internal lib libs migrations node_modules packages pages pkg
plugins public scripts skills spec specs src static styles templates tests tools utils vendor
"""
TOP_FOLDERS: Final = frozenset(_TOP_FOLDERS.split())
"""A slash word of two or three parts of letters alone is prose (`and/or`) without one of these."""

_MIME: Final = re.compile(
    r"(?:application|audio|chemical|font|image|message|model|multipart|text|video)/[\w.+*-]+"
)
_UUID: Final = re.compile(
    r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9A-F]{8}-(?:[0-9A-F]{4}-){3}[0-9A-F]{12}"
)
_HASH: Final = re.compile(
    r"(?!\d+[eE]\d+$)(?=\D*\d)(?=\d*[A-Fa-f])(?:[0-9a-f]{7,64}|[0-9A-F]{7,64})"
)
_SNAKE: Final = re.compile(r"_*[A-Za-z][A-Za-z0-9]*(?:_+[A-Za-z0-9]+)+_*|_+[A-Za-z][A-Za-z0-9]+")
_CAMEL: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_HUMP: Final = re.compile(r"[a-z0-9][A-Z][a-z]|[A-Z]{2}[a-z]{2}|[a-z]{2}[A-Z]{2}")
_DOTTED: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", re.ASCII)
_PLAIN: Final = re.compile(r"[A-Za-z][a-z]*|[A-Z]+|[\d.\-+~$/]*")
_RECEIVER: Final = re.compile(r"(?:(?:self|this|cls|super)\.)+")
_PIECES: Final = re.compile(rf"[-+~@$\\/{CJK}]+|\.\.+")
_CJK_RUN: Final = re.compile(rf"[{CJK}]+")
ESCAPE: Final = re.compile(r"\\+(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[nrtbf](?![:\\]))?")
_WINDOWS: Final = re.compile(r"(?:\.{1,2}|\w+(?=\\[^nrtbf\\]))(?:\\+[\w.@ +-]+)+")
_FILE: Final = re.compile(r"\.?[^\W_][\w.+-]*\.(\w{1,11})|\.[a-z][\w-]*\.(\w{1,11})")
_CJK_PUNCTUATION: Final = re.compile(
    "[\u3000-\u3004\u3008-\u3020\uff01-\uff0f\uff1a-\uff20…“”‘’—–→│├└─•]"
)
_AFTER_EXTENSION: Final = re.compile(rf"(?<=\.)([A-Za-z][A-Za-z0-9]{{0,10}})[{CJK}].*")
_BEFORE_ASCII: Final = re.compile(rf"^[{CJK}]+(?=[A-Za-z0-9./~@_])(?!/)")
_GREP_CONTEXT: Final = re.compile(r"(\.([A-Za-z]{1,6}))-\d+(?:-.*)?$")
_BASE64_LINE: Final = re.compile(r"[A-Za-z0-9+/]{60,}")
_ODD_PAIR: Final = re.compile(r"[A-Z][A-Z0-9]|[0-9][A-Za-z]|[a-z][0-9]")
_NUMERIC_PART: Final = re.compile(r"v?\d[\d.,:_-]*[a-z%]{0,3}")
_PROSE_PART: Final = re.compile(rf"[A-Za-z{CJK}][A-Za-z'’{CJK}-]*")
_PATH_PART: Final = re.compile(r"[\w.@+~$ -]+")
_REGEX_FLAGS: Final = re.compile(r"/[^/]*/[dgimsuy]{1,4}")


_LIBRARIES: Final = ("np.", "numpy.", "pd.", "plt.", "tf.", "torch.", "React.", "std.", "java.")
"""Everything below these is a library's name."""


def is_blob(token: str) -> bool:
    """Tell encoded data (base64, random keys) from a name by its mixture of character kinds.

    In random base64 some 30 % of the characters begin a pair that names rarely have (two capitals,
    a digit beside a letter) and capitals, small letters and digits all occur.
    """
    if len(token) < 16:
        return False
    if "+" in token and _BASE64_LINE.fullmatch(token):
        return True
    if token.startswith("eyJ"):
        return True
    if len(token) > 100 and any(len(part) > 100 for part in token.split("/")):
        return True
    odd_pairs = len(_ODD_PAIR.findall(token))
    if odd_pairs < len(token) * (0.2 if len(token) < 40 else 0.14):
        return False
    upper = sum(map(str.isupper, token))
    lower = sum(map(str.islower, token))
    has_digit = any(map(str.isdigit, token))
    return min(upper, lower) >= len(token) * 0.15 and (has_digit or len(token) >= 40)


def has_known_extension(name: str) -> bool:
    """Tell whether a base name ends in an extension of files, as in `main.py` or `.env.txt`."""
    stem, dot, extension = name.rpartition(".")
    return bool(dot and stem.strip(".")) and extension.lower() in EXTENSIONS


def references_of_token(token: str) -> tuple[Reference, ...]:
    """Return what one token refers to; it is canonical and in NFC."""
    if not 4 <= len(token) <= MAX_TOKEN_CHARS or _PLAIN.fullmatch(token):
        return ()
    if "\\" in token:
        return _references_of_backslashes(token)
    if not token.isascii():
        token = unicodedata.normalize("NFC", token)
        if _CJK_PUNCTUATION.search(token):
            pieces = _CJK_PUNCTUATION.split(token)
            return tuple(found for piece in pieces for found in references_of_token(piece))
        token = _without_adjoining_cjk(token)
    if "-" in token:
        token = _GREP_CONTEXT.sub(_without_line, token)
    token = token.strip("+$").rstrip(".-@~").lstrip("-")
    if "/" in token:
        return _references_of_slashes(token)
    return _references_without_slash(token)


def _references_without_slash(token: str) -> tuple[Reference, ...]:
    if "@" in token.lstrip("@"):
        return ()
    if _UUID.fullmatch(token):
        return (Reference("uuid", token),)
    token = token.lstrip("@~")
    if is_code(token) and not _HASH.fullmatch(token):
        return (Reference("identifier", token),)
    if is_blob(token):
        return ()
    if _FILE.fullmatch(token) and has_known_extension(token):
        return () if is_common_name(token) else (Reference("path", token),)
    return _references_of_names(token)


def _without_line(match: re.Match[str]) -> str:
    """Cut what `grep -C` puts behind a file name: `-12-` and the line."""
    return match[1] if match[2].lower() in EXTENSIONS else match[0]


def _without_adjoining_cjk(token: str) -> str:
    token = _AFTER_EXTENSION.sub(
        lambda match: match[1] if match[1].lower() in EXTENSIONS else match[0], token
    )
    return _BEFORE_ASCII.sub("", token)


def _references_of_backslashes(token: str) -> tuple[Reference, ...]:
    r"""Read backslashes as Windows separators where the token looks like it, else as escapes.

    `src\new.py` may be a path or an escaped line break: without a leading `.` or a first part
    followed by an unambiguous one it is read as escapes.
    """
    if "/" not in token and _WINDOWS.fullmatch(token):
        path = re.sub(r"\\+", "/", token)
        if has_known_extension(path.rpartition("/")[2]):
            return _references_of_slashes(path)
    found: list[Reference] = []
    for piece in ESCAPE.split(token):
        if piece:
            found.extend(references_of_token(piece))
    return tuple(found)


def _references_of_slashes(token: str) -> tuple[Reference, ...]:
    path = canonical_path(token)
    if path is None:
        return ()
    parts = path.split("/")
    if path[0] not in "/.~" and (all(map(has_known_extension, parts)) or all(map(is_code, parts))):
        return tuple(found for part in parts for found in references_of_token(part))
    if _is_path(path):
        return () if is_common_name(path) or is_blob(path) else (Reference("path", path),)
    if is_blob(token) or _MIME.fullmatch(path):
        return ()
    return _references_of_names(token)


def canonical_path(path: str) -> str | None:
    """Strip `./`, the `a/` and `b/` of a diff, doubled and trailing slashes; None if none is left.

    Trailing punctuation and `:line:column` are delimiters and gone before.
    """
    path = re.sub(r"/{2,}", "/", path) if "//" in path[1:] and not path.startswith("//") else path
    while path.startswith("./"):
        path = path[2:]
    path = path.removeprefix(".../").rstrip("/.")
    if path[:2] in {"a/", "b/"} and path.count("/") >= 1 and has_known_extension(path):
        path = path[2:]
    return path or None


def _is_path(path: str) -> bool:
    """Apply the documented rules to a canonical token; see the table in the tests."""
    head, *rest = parts = path.strip("/").split("/")
    last = parts[-1]
    if path.startswith("//") or not all(map(_PATH_PART.fullmatch, parts)):
        return False
    if has_known_extension(last):
        return True
    if _MIME.fullmatch(path) or all(map(_NUMERIC_PART.fullmatch, parts)):
        return False
    if path.startswith("/"):
        specific = re.search(r"[\w-]*[-_\d][\w-]*", last)
        return bool(rest or specific) and not _REGEX_FLAGS.fullmatch(path) and len(path) > 4
    if not rest or (head == "s" and len(parts) > 2) or len(path) < 5:
        return False
    if head in TOP_FOLDERS or head.startswith("~") or head == "..":
        return True
    return _is_specific(parts)


def _is_specific(parts: list[str]) -> bool:
    """Tell `my_pkg/io2` from prose (`and/or/not`), units (`12ms/op`) and numbers (`1.2/x`)."""
    if all(map(_PROSE_PART.fullmatch, parts)):
        return len(parts) > 3 or not TOP_FOLDERS.isdisjoint(parts[:-1])
    if len(parts) > 2:
        return True
    head, last = parts
    return not (_NUMERIC_PART.fullmatch(head) or _NUMERIC_PART.fullmatch(last))


def _references_of_names(token: str) -> tuple[Reference, ...]:
    found = []
    if not token.isascii():
        found = [Reference("identifier", part) for part in _CJK_RUN.split(token) if is_code(part)]
    for piece in [token] if token.isascii() and token.isidentifier() else _PIECES.split(token):
        reference = _reference_of_name(piece.strip("."))
        if reference is not None and reference not in found:
            found.append(reference)
    return tuple(found)


def _reference_of_name(name: str) -> Reference | None:
    if _HASH.fullmatch(name):
        return Reference("hash", name)
    if "." in name:
        name = _specific_part(name)
    if len(name) < MIN_IDENTIFIER_CHARS or is_common_name(name) or is_blob(name):
        return None
    if "." in name:
        return Reference("identifier", name) if _DOTTED.fullmatch(name) else None
    if _SNAKE.fullmatch(name) or (_CAMEL.fullmatch(name) and _HUMP.search(name)):
        return Reference("identifier", name)
    return None


def _specific_part(dotted: str) -> str:
    """Drop `self.`, a trailing common member (`.split`) and a wholly common name."""
    dotted = _RECEIVER.sub("", dotted, count=1) if _RECEIVER.match(dotted) else dotted
    if dotted.startswith(_LIBRARIES):
        return ""
    while "." in dotted:
        if is_common_name(dotted):
            return ""
        owner, _, member = dotted.rpartition(".")
        if not (is_common_name(member) or is_common_name(member.lower())):
            return dotted
        dotted = owner
    return dotted
