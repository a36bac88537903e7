"""`compaction-evals.toml`: the flags of each command, kept in a file.

A table per command, a key per flag without its dashes; `set`, `grid` and `margin` may be tables.
What stands on the command line comes before the file. Paths mean the same as on the command line.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from compaction.errors import CompactionError

CONFIG_FILE: Final = "compaction-evals.toml"
"""Read from the folder where a command is started, unless --config names another."""
MAX_BYTES: Final = 1_000_000
"""A longer file is no config file."""
Value = str | int | float | bool


class ConfigError(CompactionError):
    """A config file that cannot be used; the text names the file and the key."""


@dataclass(frozen=True, slots=True)
class Flag:
    """What the command line knows of one parameter of a command."""

    parameter: str
    """Name in the command's function."""
    takes_many: bool
    is_switch: bool


@dataclass(frozen=True, slots=True)
class Config:
    """The contents of a file, ready to be defaults of the commands."""

    path: Path
    defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Command -> parameter -> value."""

    def as_json(self, command: str) -> dict[str, Any]:
        """Return what a run's manifest says of the file."""
        return {"file": str(self.path), "flags": dict(self.defaults.get(command, {}))}


def read_config(path: Path, commands: Mapping[str, Mapping[str, Flag]]) -> Config:
    """Read a file and check every key against the flags of its command.

    Args:
        path: Of the TOML file.
        commands: Command -> flag without dashes -> what it takes.

    Raises:
        ConfigError: not readable, not TOML, or a key or kind of value that no flag has.
    """
    try:
        with path.open("rb") as file:  # a device or a pipe has no size to ask for
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ConfigError(f"{path} is too large for a config file")
        content = tomllib.loads(data.decode("utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is no TOML: {error}") from error
    defaults: dict[str, dict[str, Any]] = {}
    for command, table in content.items():
        if not command.strip():
            raise ConfigError(f"{path}: a table has an empty name; it must be that of a command")
        where = f"{path}: [{command}]"
        if not isinstance(table, dict) and (takers := _takers(command, commands)):
            raise ConfigError(
                f"{path}: {command} stands in no table; put it below that of its command: "
                f"{', '.join(f'[{name}]' for name in takers)}"
            )
        if command not in commands:
            raise ConfigError(f"{where} is no command{_nearest(command, commands)}")
        if not isinstance(table, dict):
            raise ConfigError(f"{where} must be a table of flags, not {_kind(table)}")
        defaults[command] = dict(
            _default(where, key, value, commands[command], commands) for key, value in table.items()
        )
    return Config(path, defaults)


def _default(
    where: str,
    key: str,
    value: Any,
    flags: Mapping[str, Flag],
    commands: Mapping[str, Mapping[str, Flag]],
) -> tuple[str, Any]:
    if not key.strip():
        raise ConfigError(f"{where} has a flag with an empty name{_nearest(key, flags)}")
    name = key.replace("_", "-")
    flag = flags.get(name)
    if flag is None:
        raise ConfigError(f"{where} has no flag {key!r}{_nearest_flag(name, flags, commands)}")
    place = f"{where} {key}"
    if flag.is_switch:
        if not isinstance(value, bool):
            raise ConfigError(f"{place} must be true or false, not {_kind(value)}")
        return flag.parameter, value
    if not flag.takes_many:
        if isinstance(value, bool):  # which would pass for the number 1
            raise ConfigError(f"{place} must be text or a number, not {_kind(value)}")
        return flag.parameter, _scalar(place, value)
    if isinstance(value, dict):
        if any(not item.strip() for item in value):
            raise ConfigError(f"{place} has an empty name; write {key} = {{NAME = VALUE}}")
        return flag.parameter, [f"{name}={_joined(place, item)}" for name, item in value.items()]
    if isinstance(value, bool):
        raise ConfigError(f"{place} must be text or a list, not {_kind(value)}")
    items = value if isinstance(value, list) else [value]
    return flag.parameter, [str(_scalar(place, item)) for item in items]


def _joined(place: str, value: Any) -> str:
    """Return the values of a grid as the command line writes them."""
    items = value if isinstance(value, list) else [value]
    texts = [_text(_scalar(place, item)) for item in items]
    if isinstance(value, list) and (odd := next((text for text in texts if "," in text), None)):
        raise ConfigError(f"{place}: a value of a list cannot have a comma, as {odd!r} has")
    return ",".join(texts)


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _scalar(place: str, value: Any) -> Value:
    if isinstance(value, str) and not value.strip():
        raise ConfigError(f"{place} is empty; give a value or leave it out")
    if isinstance(value, (str, int, float, bool)):
        return value
    raise ConfigError(f"{place} must be text or a number, not {_kind(value)}")


def _takers(key: str, commands: Mapping[str, Mapping[str, Flag]]) -> list[str]:
    flag = key.replace("_", "-").removeprefix("no-")
    return [name for name, flags in commands.items() if flag in flags]


def _nearest_flag(
    given: str, known: Mapping[str, Flag], commands: Mapping[str, Mapping[str, Flag]]
) -> str:
    turned_off = given.removeprefix("no-")
    if turned_off != given and turned_off in known and known[turned_off].is_switch:
        return f"; write {turned_off} = false"
    if takers := _takers(given, commands):
        return f"; it is one of {', '.join(f'[{name}]' for name in takers)}"
    return _nearest(given, known)


def _nearest(given: str, known: Mapping[str, Any]) -> str:
    close = get_close_matches(given, known, n=1)
    meant = f" (did you mean {close[0]!r}?)" if close else ""
    return f"{meant}; known: {', '.join(known)}"


def _kind(value: Any) -> str:
    names = {dict: "a table", list: "a list", bool: "true or false", str: "text"}
    return names.get(type(value), type(value).__name__)
