"""The shipped list of names that are too common to be references.

How the list is made, and from what, is told by `.ci/build_common_names.py`.
"""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path
from typing import NamedTuple

COMMON_NAMES_VERSION = "2"
"""Stored needs depend on the list: it changes with every rebuild."""


class CommonNames(NamedTuple):
    exact: frozenset[str]
    folders: tuple[str, ...]
    """Each ends in `/`; everything below such a folder is common."""


@cache
def load_common_names() -> CommonNames:
    """Read the list once per process (about 20 ms)."""
    packed = Path(__file__).with_name("common_names.txt.gz").read_bytes()
    lines = gzip.decompress(packed).decode("utf-8").splitlines()
    names = [line for line in lines if not line.startswith("#")]
    folders = tuple(name for name in names if name.endswith("/"))
    return CommonNames(frozenset(names), folders)


def is_common_name(name: str) -> bool:
    """Tell whether an identifier, file name or path is in the list or below a common folder."""
    exact, folders = load_common_names()
    return name in exact or ("/" in name and name.startswith(folders))
