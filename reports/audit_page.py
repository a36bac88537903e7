"""An audit as one self-contained HTML page: opens offline, loads nothing and runs no script.

It is made from `audit.json` alone. Everything in it is escaped; text of a conversation is in it
only if the audit was made with `--show-text`.
"""

from collections.abc import Mapping
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from reports.wording import clean, pieces

PAGE_FILE: Final = "audit.html"
MAX_SENTENCE_CHARS: Final = 4_000


def audit_html(audit: Mapping[str, Any]) -> str:
    """Return the page of an audit, from the value that `audit.json` holds."""
    environment = Environment(
        loader=PackageLoader("reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    first, *others = audit["sections"]
    return environment.get_template("audit.html.j2").render(
        clean=_sentence,
        first=first,
        footer=_footer(audit),
        pieces=pieces,
        sections=others,
        style=environment.get_template("page.css.j2").render(),
    )


def _sentence(text: object) -> str:
    return clean(text, MAX_SENTENCE_CHARS)


def _footer(audit: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in audit["versions"].items())
    hidden = "" if audit["show_text"] else " Names are shown with --show-text."
    return f"Made by {versions}.{hidden}"
