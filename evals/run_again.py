"""The flags of a run that change its numbers, for the command that measures something beside it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from evals.running import RunRequest

_FLAGS: Final[Mapping[str, str]] = {
    "model": "--model",
    "base_url": "--base-url",
    "seed": "--seed",
    "timeout_seconds": "--timeout",
    "cell_seconds": "--cell-timeout",
    "price": "--price",
    "price_file": "--price-file",
}
"""Field of `RunRequest` -> flag of `run` and `sweep`."""


def flags_again(asked: "RunRequest") -> list[str]:
    """Return the flags that were given; strategies, parameters and paths are none."""
    return [
        word
        for name, flag in _FLAGS.items()
        if (value := getattr(asked, name)) != getattr(type(asked), name)
        for word in (flag, str(value))
    ]
