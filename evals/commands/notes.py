"""What a command that reads a run says beside its result."""

import sys
from pathlib import Path

from compaction.errors import one_line


def say_incomplete(path: Path, lacks: str | None) -> None:
    """Say on standard error that rows of a run are missing, where some are."""
    if lacks is not None:
        sys.stderr.write(f"{one_line(f'{path}: {lacks}')}\n")
