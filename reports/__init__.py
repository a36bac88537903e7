"""Run folders as frames, tables, charts and pages.

In a notebook: `reports.load(path)` and `reports.charts`; importing `reports` alone loads neither
pandas nor Altair.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reports import charts as charts
    from reports.frames import load as load

__all__ = ["charts", "load"]


def __getattr__(name: str) -> object:
    if name == "charts":
        return import_module("reports.charts")
    if name == "load":
        return import_module("reports.frames").load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
