"""The page of `explain`: one request, history and view side by side, in full.

It shows text of the conversation, all of it escaped; it has no script and loads nothing.
"""

import difflib
from collections.abc import Mapping
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from reports.wording import clean

MAX_TEXT_CHARS: Final = 200_000
"""Of one message on one side."""


def page(explanation: Mapping[str, Any]) -> str:
    """Return the page for the fields of an `Explanation`, as `dataclasses.asdict` gives them."""
    environment = Environment(
        loader=PackageLoader("reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pairs = [_pair(pair) for pair in explanation["pairs"]]
    return environment.get_template("explain.html.j2").render(
        clean=clean,
        found=explanation,
        pairs=pairs,
        style=environment.get_template("page.css.j2").render(),
    )


def _pair(pair: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **pair,
        "before": _cut(pair["before"]),
        "after": _cut(pair["after"]),
        "pieces": _pieces(pair) if pair["fate"] == "edited" else (),
    }


def _pieces(pair: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (`same`, `removed` or `added`, line) of an edited message."""
    lines = difflib.ndiff(_cut(pair["before"]).splitlines(), _cut(pair["after"]).splitlines())
    kinds = {"  ": "same", "- ": "removed", "+ ": "added"}
    return [(kinds[line[:2]], line[2:]) for line in lines if line[:2] in kinds]


def _cut(text: str) -> str:
    if len(text) <= MAX_TEXT_CHARS:
        return text
    return f"{text[:MAX_TEXT_CHARS]}\n[{len(text) - MAX_TEXT_CHARS:,} more characters]"
