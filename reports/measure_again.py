"""The command that measures fixed sizes where a setting was tried with shares of the peak."""

import os
import re
import shlex
from collections.abc import Mapping
from typing import Any, Final

from reports.shares import Share

_PARAMETER: Final = re.compile(r"-|[A-Za-z_]\w*=", re.ASCII)
"""What the command line would take for a flag or a parameter."""


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
    words += [_as_path(path) for path in manifest.get("paths", ["PATH"])]
    words += [f"{name}={share.median}" for name, share in shares.items()]
    for name, value in parameters.items():
        if name not in shares:
            words += ["--set", f"{name}={value}"]
    words += [*manifest.get("flags", ()), "--min-reach", f"{min_reach:.12g}"]
    return shlex.join(words)


def _as_path(path: str) -> str:
    return f"./{path}" if _PARAMETER.match(path) else path
