"""Compaction as other frameworks ship it, rebuilt from our tiers with their defaults.

A preset names source and version, and what of the original it leaves out. Parameters have our
names, so that one grid fits all; `reports.configuration` writes a setting in the framework's own.
Where the original can be installed, `tests/peers` compares what both keep.
"""

from collections.abc import Mapping
from typing import Final

TOKENS: Final[Mapping[str, str]] = {"unit": "tokens"}
"""Metadata of a size as the provider counts it."""
COUNTED_TOKENS: Final[Mapping[str, str]] = {"unit": "counted_tokens"}
"""Metadata of a size as the measuring counter has it."""


def check_not_negative(preset: object, *parameters: str) -> None:
    """Refuse what is below 0; None is not set.

    Raises:
        ValueError: names parameter and value.
    """
    for parameter in parameters:
        value = getattr(preset, parameter)
        if value is not None and value < 0:
            raise ValueError(f"{parameter} must be >= 0, got {value}")
