"""The command that measures fixed sizes where a setting was tried with shares of the peak."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from evals.shell_words import path_argument, shell_line
from reports.shares import resolved_and_shares


def measure_command(
    manifest: Mapping[str, Any],
    strategy: str,
    parameters: Mapping[str, str],
    sizes: Mapping[str, Sequence[int]],
    *,
    min_reach: float,
) -> str | None:
    """Return a `sweep` over the paths of a run, with the flags that change its numbers.

    Args:
        manifest: Of the run.
        strategy: Its name.
        parameters: As set.
        sizes: What to try in the place of those that were shares.
        min_reach: What `recommend` was asked for.

    Returns:
        None if no parameter was a share.
    """
    if not sizes:
        return None
    # A config file could add values of its own.
    config = ["--config", os.devnull] if manifest.get("config") is not None else []
    words = ["compaction-evals", *config, "sweep", strategy]
    words += [path_argument(path) for path in manifest.get("paths", ["PATH"])]
    words += [f"{name}={','.join(map(str, each))}" for name, each in sizes.items()]
    for name, value in parameters.items():
        if name not in sizes:
            words += ["--set", f"{name}={value}"]
    words += [*manifest.get("flags", ()), "--min-reach", f"{min_reach:.12g}"]
    return shell_line(words)


def measured_sizes(
    rows: pd.DataFrame, strategy: str, parameters: Mapping[str, str]
) -> dict[str, tuple[int, ...]]:
    """Return the fixed sizes that a run tried in the place of each parameter of a setting.

    Args:
        rows: Of the run.
        strategy: Of the setting.
        parameters: As set; all but the one in question are the same.
    """
    found: dict[str, set[int]] = {}
    for _, group in rows[rows["strategy"] == strategy].groupby("label", sort=False):
        if not group["scored"].all():
            continue
        others = dict(group.iloc[0]["parameters"])
        names = {*parameters, *others}
        differing = {name for name in names if parameters.get(name) != others.get(name)}
        resolved, shares = resolved_and_shares(list(group["resolved"]), others)
        for name, value in resolved.items():
            if differing <= {name} and name not in shares and type(value) is int:
                found.setdefault(name, set()).add(value)
    return {name: tuple(sorted(sizes)) for name, sizes in found.items()}
