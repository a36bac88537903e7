"""Scenario files: a conversation to record, as a person writes it.

    name: settlement-incident
    model: scripted-agent         # the name that authored answers carry, by which they are known
    created: 1774855200           # Unix time before the first answer
    project: project              # copied to a scratch folder, where the tools work
    generator: generate_data.py   # optional: run there once, before the first request
    tools: tools.py               # optional: own tools (`evals.recording.scenario_tools`)
    builtin_tools: [grep]         # optional: which of the scratch tools; absent means all
    system: You are a coding agent ...
    steps:
    - user: The suite is red. Find out why.
    - say: I look around first.
      calls: [{list_files: {}}, {run_tests: {}}]
    - user: {text: Does it look like this?, images: [assets/screen.png]}
    - say: Yes.

A step is what the user says, or one authored answer: text, calls, or both. `calls` are answered by
the tools (`evals.recording.scratch_tools`). Paths are relative to the file, images to the scratch
folder.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compaction.errors import TranscriptError
from evals.recording.scripted_answers import Reply, quarter_of_chars
from evals.transcripts import AUTHORED_MODELS, is_authored_model

Json = dict[str, Any]
USER_PAUSE_SECONDS = 240
OUTPUT_TOKENS_PER_SECOND = 40
_REQUIRED = ("name", "model", "created", "system", "project", "steps")
_OPTIONAL = ("generator", "tools", "builtin_tools")


class ScenarioError(TranscriptError):
    """A scenario that cannot be recorded; the text names the file and the step."""


@dataclass(frozen=True, slots=True)
class UserTurn:
    """What the user says at once."""

    text: str
    images: tuple[str, ...] = ()
    """Paths in the scratch folder."""


@dataclass(frozen=True, slots=True)
class Step:
    """What the user says before a request (if anything), and what the agent answers."""

    user: UserTurn | None
    reply: Reply


@dataclass(frozen=True, slots=True)
class Scenario:
    """A conversation to record and the project it happens in."""

    name: str
    model: str
    created: int
    system: str
    project: Path
    steps: tuple[Step, ...]
    generator: Path | None = None
    """A Python script that is run once in the scratch folder, before the first request."""
    tools: Path | None = None
    """A Python file whose functions are tools."""
    builtin_tools: tuple[str, ...] | None = None
    """Names of the scratch tools that are offered; None means all."""


def load_scenario(path: Path) -> Scenario:
    """Read a scenario file.

    Raises:
        ScenarioError: not a scenario, or a step that is neither `user` nor `say` nor `calls`.
    """
    import yaml

    if not path.is_file():
        raise ScenarioError(f"{path}: no file there; name a scenario.yaml")
    try:
        data = yaml.safe_load(path.read_text("utf-8"))
        return _scenario(path.parent, data)
    except (OSError, KeyError, TypeError, ValueError, AttributeError, yaml.YAMLError) as error:
        problem = " ".join(str(error).split())
        raise ScenarioError(
            f"{path}: not a scenario ({problem}); "
            "the format is described in evals/recording/scenarios.py"
        ) from error


def _scenario(folder: Path, data: Json) -> Scenario:
    unknown = set(data) - {*_REQUIRED, *_OPTIONAL}
    missing = [key for key in _REQUIRED if key not in data]
    if unknown or missing:
        raise ValueError(f"unknown keys {sorted(unknown)}, missing keys {missing}")
    if not is_authored_model(data["model"]):
        raise ValueError(
            f"model {data['model']!r} must begin with {' or '.join(AUTHORED_MODELS)}, so that what "
            "is recorded of the authored answers is not taken for a real model's"
        )
    builtin = data.get("builtin_tools")
    return Scenario(
        name=data["name"],
        model=data["model"],
        created=data["created"],
        system=data["system"],
        project=folder / data["project"],
        steps=tuple(_steps(data["steps"])),
        generator=folder / data["generator"] if "generator" in data else None,
        tools=folder / data["tools"] if "tools" in data else None,
        builtin_tools=None if builtin is None else tuple(builtin),
    )


def _steps(rows: Sequence[Json]) -> Iterator[Step]:
    user: UserTurn | None = None
    index = 0
    for row in rows:
        unknown = set(row) - {"user", "say", "calls"}
        if unknown or not row:
            raise ValueError(f"step {index}: unknown keys {sorted(unknown)}")
        if "user" in row:
            if user is not None or len(row) > 1:
                raise ValueError(f"step {index}: a user message stands alone, and is answered")
            user = _user_turn(index, row["user"])
            continue
        calls = tuple(_call(index, k, call) for k, call in enumerate(row.get("calls", ())))
        text = _text(index, row["say"]) if "say" in row else None
        yield Step(user, Reply(text, calls, _elapsed_seconds(text, calls, user)))
        user, index = None, index + 1
    if user is not None:
        raise ValueError("the last user message has no answer")
    if not index:
        raise ValueError("there is no step")


def _user_turn(index: int, value: object) -> UserTurn:
    if not isinstance(value, dict):
        return UserTurn(_text(index, value))
    unknown = set(value) - {"text", "images"}
    if unknown:
        raise ValueError(f"step {index}: unknown keys of the user message {sorted(unknown)}")
    return UserTurn(_text(index, value["text"]), tuple(value.get("images", ())))


def _text(index: int, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"step {index}: {value!r} is no text; YAML wants quotes around it")
    return value.strip()


def _call(index: int, position: int, call: Json) -> Json:
    ((name, arguments),) = call.items()
    seed = f"{index}.{position}.{name}"
    return {
        "id": f"call_{hashlib.sha256(seed.encode()).hexdigest()[:24]}",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)},
    }


def _elapsed_seconds(text: str | None, calls: Sequence[Json], user: UserTurn | None) -> int:
    chars = len(text or "") + sum(len(call["function"]["arguments"]) for call in calls)
    pause = USER_PAUSE_SECONDS if user else 0
    return pause + 3 + quarter_of_chars("x" * chars) // OUTPUT_TOKENS_PER_SECOND
