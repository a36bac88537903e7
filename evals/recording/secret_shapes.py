"""What a credential looks like in text, and the same text without it.

Shapes are those that issuers document; whatever the environment holds under a name such as
`OPENAI_API_KEY` is replaced too, whatever it looks like. A password without a shape is not found.
"""

import json
import os
import re
from typing import NamedTuple

REDACTED = "[REDACTED]"
MIN_KNOWN_CHARS = 12
"""A shorter value of an environment variable may be a word of the conversation."""
_KNOWN_NAMES = re.compile(r"(?:API_?KEY|ACCESS_KEY|SECRET_KEY|TOKEN|SECRET|PASSWORD)$")
# In JSON text a secret may follow an escape such as \n or \u00e9, which would hide its start.
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=\\u[0-9a-fA-F]{4}))"


class _Shape(NamedTuple):
    marks: tuple[str, ...]
    """One of them is in every text that has the shape: 0.1 ms per 300 kB, the pattern takes 5."""
    pattern: re.Pattern[str]
    clean: str = REDACTED


_PREFIXED = (
    *("sk-", "gsk_", "hf_", "npm_", "glpat-", "pypi-", "dop_v1_"),
    *("sk_live_", "sk_test_", "rk_live_", "rk_test_"),
)
_SHAPES = (
    _Shape(_PREFIXED, re.compile(rf"{_START}(?:{'|'.join(_PREFIXED)})[A-Za-z0-9_-]{{16,}}")),
    _Shape(
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        re.compile(_START + r"(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})"),
    ),
    _Shape(("AKIA", "ASIA"), re.compile(_START + r"A[KS]IA[0-9A-Z]{16}(?![0-9A-Za-z])")),
    _Shape(("AIza",), re.compile(_START + r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])")),
    _Shape(("xox",), re.compile(_START + r"xox[a-z]-[A-Za-z0-9-]{10,}")),
    _Shape(
        (".eyJ",),  # a JSON Web Token
        re.compile(_START + r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    ),
    _Shape(
        ("PRIVATE KEY-----",),
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
            r"(?:.*?-----END [A-Z ]*PRIVATE KEY-----|[A-Za-z0-9+/=\\\s]*)",
            re.DOTALL,
        ),
    ),
    _Shape(
        ("earer", "EARER"),
        re.compile(r"(?i)(bearer\s+)[A-Za-z0-9._~+/=-]{16,}"),
        rf"\1{REDACTED}",
    ),
    _Shape(
        ("uthorization", "UTHORIZATION"),
        re.compile(r"(?i)(authorization[\\\"']*\s*[:=]\s*[\\\"']*basic\s+)[A-Za-z0-9+/=]{8,}"),
        rf"\1{REDACTED}",
    ),
    _Shape(
        ("://",),
        re.compile(r"(://[^/\s:@\"'\\]{1,64}:)[^/\s@\"'\\]{3,}(?=@)"),
        rf"\1{REDACTED}",
    ),
)


def redact_secrets(text: str) -> str:
    """Replace what has the shape of a credential, and known values of the environment."""
    for value in _known_values():
        text = text.replace(value, REDACTED)
    for shape in _SHAPES:
        if any(mark in text for mark in shape.marks):
            text = shape.pattern.sub(shape.clean, text)
    return text


def _known_values() -> list[str]:
    """Return secrets of the environment, as they are and as JSON text has them, longest first."""
    values = {
        value
        for name, value in os.environ.items()
        if len(value) >= MIN_KNOWN_CHARS and _KNOWN_NAMES.search(name)
    }
    escaped = {json.dumps(value)[1:-1] for value in values}
    return sorted(values | escaped, key=lambda value: (-len(value), value))
