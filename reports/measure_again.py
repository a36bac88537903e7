"""The command that measures fixed sizes where a setting was tried with shares of the peak."""

import os
from collections.abc import Mapping
from typing import Any

from evals.shell_words import path_argument, shell_line
from reports.shares import Share


def measure_command(
    manifest: Mapping[str, Any],
    strategy: str,
    parameters: Mapping[str, str],
    shares: Mapping[str, Share],
    *,
    min_reach: float,
) -> str | None:
    """Return a `sweep` over the paths of a run, with the flags that change its numbers.

    Args:
        manifest: Of the run.
        strategy: Its name.
        parameters: As set.
        shares: Those that were shares; the median is tried instead.
        min_reach: What `recommend` was asked for.

    Returns:
        None if no parameter was a share.
    """
    if not shares:
        return None
    # A config file could add values of its own.
    config = ["--config", os.devnull] if manifest.get("config") is not None else []
    words = ["compaction-evals", *config, "sweep", strategy]
    words += [path_argument(path) for path in manifest.get("paths", ["PATH"])]
    words += [f"{name}={share.median}" for name, share in shares.items()]
    for name, value in parameters.items():
        if name not in shares:
            words += ["--set", f"{name}={value}"]
    words += [*manifest.get("flags", ()), "--min-reach", f"{min_reach:.12g}"]
    return shell_line(words)
