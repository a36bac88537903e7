"""Codes: order numbers, tickets, flights, diagnostics (`WO-58134`, `JIRA-1234`, `HAT229`).

Capitals and digits only, six characters at least. Standards, encodings and sizes have the same
shape (`SHA-256`, `ES2022`); they are known by how they begin.
"""

from __future__ import annotations

import re
from typing import Final

MIN_CODE_CHARS: Final = 6
MAX_CODE_CHARS: Final = 32

_HYPHENATED: Final = re.compile(r"[A-Z][A-Z0-9]{0,9}(?:-[A-Z0-9]{1,12}){1,4}")
_NUMBER_GROUP: Final = re.compile(r"-\d{2,12}(?![A-Z0-9])")
"""Without one it is a range or a heading (`A10-B20`, `MULTI-PART`)."""
_COMPACT: Final = re.compile(r"[A-Z]{2,5}\d{3,8}|[A-Z]\d{6,10}")
_LOCATOR: Final = re.compile(r"(?=.*\d[A-Z])(?=.*[A-Z]\d)(?![0-9A-F]+$)[A-Z0-9]{6,10}")
"""A record locator mixes letters and digits (`YAX4DR`); a colour (`60A5FA`) is none."""
_TIME: Final = re.compile(r"\d*T\d+Z?")
_STANDARD: Final = re.compile(
    r"""(?:AES|ANSI|ARM|ASCII|AVX|BASE|BF|BIG|CC|CMYK|COVID|CP|CRC|CSS|CY|DES|EAN|ECMA|EIA|ES|EUC|FIPS
    |FLOAT|FP|FY|GB|GPT|HMAC|HTML|HTTP|IEC|IEEE|IMAP|INT|IP|IPV|ISBN|ISO|JIS|KOI|LATIN|LEVEL|MD|MPEG
    |PART|PBKDF|PEP|PHASE|PKCS|POP|POSIX|PY|PYTHON|RFC|RGB|RSA|RTX|SHA|SQL|SSE|SSL|STEP|TIER|TLS|TOP
    |UCS|UINT|UPC|USB|UTF|WIN|X|XP)-?\d.*""",
    re.VERBOSE,
)


def is_code(token: str) -> bool:
    """Tell whether a whole token is a code of a record; common standards are none."""
    if not token.isupper() or not MIN_CODE_CHARS <= len(token) <= MAX_CODE_CHARS:
        return False
    if "-" in token:
        shaped = bool(_HYPHENATED.fullmatch(token) and _NUMBER_GROUP.search(token))
    else:
        shaped = bool(_COMPACT.fullmatch(token) or _LOCATOR.fullmatch(token))
    return shaped and not _STANDARD.fullmatch(token) and not _TIME.fullmatch(token)


_BESIDE: Final = re.compile(r"-[A-Z0-9]")


def continues_code(text: str, start: int, end: int) -> bool:
    """Tell whether a part of a text belongs to a longer code, as `WO-58134` in `WO-58134-2`."""
    before = text[max(0, start - 2) : start]
    return bool(_BESIDE.match(text, end)) or (
        len(before) == 2 and before[1] == "-" and (before[0].isupper() or before[0].isdigit())
    )
