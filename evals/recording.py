"""Record a scenario: its authored agent, real tools, the real client, a cassette.

`python -m evals.recording SCENARIO.yaml --out FOLDER` writes `FOLDER/cassette.json`. The same
scenario gives the same bytes on the same Python version.
"""

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from compaction.errors import CompactionError, TranscriptError
from compaction.llm import ModelCall, OpenAIChat
from compaction.messages import Message
from compaction.tokens import TiktokenCounter
from evals.cassettes import recorder
from evals.scratch_tools import ScratchTools, tool_schemas
from evals.scripted_endpoint import Reply, quarter_of_chars, serve_script

Json = dict[str, Any]
USER_PAUSE_SECONDS = 240
OUTPUT_TOKENS_PER_SECOND = 40


class ScenarioError(TranscriptError):
    """A scenario file that cannot be recorded; the text names the file and the step."""


@dataclass(frozen=True, slots=True)
class Step:
    """What the user says before a request (if anything), and what the agent answers."""

    user: str | None
    reply: Reply


@dataclass(frozen=True, slots=True)
class Scenario:
    """A conversation to record and the project it happens in."""

    name: str
    model: str
    created: int
    system: str
    project: Path
    generator: Path | None
    """A Python script that is run once in the scratch folder, before the first request."""
    steps: tuple[Step, ...]


class Recorded(NamedTuple):
    """What one recording wrote."""

    cassette: Path
    sha256: str
    """Of the cassette file."""
    requests: int


def load_scenario(path: Path) -> Scenario:
    """Read a scenario file; its `project` and `generator` are relative to the file.

    Raises:
        ScenarioError: not a scenario, or a step that is neither `user` nor `say` nor `calls`.
    """
    import yaml

    try:
        data = yaml.safe_load(path.read_text("utf-8"))
        generator = path.parent / data["generator"] if "generator" in data else None
        return Scenario(
            name=data["name"],
            model=data["model"],
            created=data["created"],
            system=data["system"],
            project=path.parent / data["project"],
            generator=generator,
            steps=tuple(_steps(data["steps"])),
        )
    except (OSError, KeyError, TypeError, ValueError, yaml.YAMLError) as error:
        problem = " ".join(str(error).split())
        raise ScenarioError(f"{path}: not a scenario ({problem}); see {__doc__}") from error


def _steps(rows: Sequence[Json]) -> Iterator[Step]:
    user: str | None = None
    index = 0
    for row in rows:
        unknown = set(row) - {"user", "say", "calls"}
        if unknown or not row:
            raise ValueError(f"step {index}: unknown keys {sorted(unknown)}")
        if "user" in row:
            user = row["user"].strip()
            continue
        calls = tuple(_call(index, k, call) for k, call in enumerate(row.get("calls", ())))
        text = row["say"].strip() if "say" in row else None
        yield Step(user, Reply(text, calls, _elapsed_seconds(text, calls, user)))
        user, index = None, index + 1
    if user is not None:
        raise ValueError("the last user message has no answer")


def _call(index: int, position: int, call: Json) -> Json:
    ((name, arguments),) = call.items()
    seed = f"{index}.{position}.{name}"
    return {
        "id": f"call_{hashlib.sha256(seed.encode()).hexdigest()[:24]}",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)},
    }


def _elapsed_seconds(text: str | None, calls: Sequence[Json], user: str | None) -> int:
    chars = len(text or "") + sum(len(call["function"]["arguments"]) for call in calls)
    pause = USER_PAUSE_SECONDS if user else 0
    return pause + 3 + quarter_of_chars("x" * chars) // OUTPUT_TOKENS_PER_SECOND


def record_scenario(
    scenario: Scenario, cassette: Path, *, count_tokens: Callable[[str], int] = quarter_of_chars
) -> Recorded:
    """Run the scenario once and write its cassette; an existing one is replaced if all went well.

    Raises:
        ScenarioError: the generator failed.
    """
    with (
        tempfile.TemporaryDirectory(prefix="recording-") as scratch,
        serve_script(
            (step.reply for step in scenario.steps),
            model=scenario.model,
            created=scenario.created,
            count_tokens=count_tokens,
        ) as endpoint,
        recorder(cassette, mode="record"),
    ):
        root = Path(scratch).resolve() / scenario.project.resolve().parent.name
        _prepare(scenario, root)
        _converse(scenario, ScratchTools(root), endpoint.base_url)
    digest = hashlib.sha256(cassette.read_bytes()).hexdigest()
    return Recorded(cassette, digest, len(scenario.steps))


def _prepare(scenario: Scenario, root: Path) -> None:
    shutil.copytree(scenario.project, root, ignore=shutil.ignore_patterns("__pycache__"))
    if scenario.generator is None:
        return
    command = [sys.executable, str(scenario.generator.resolve())]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ScenarioError(f"{scenario.generator}: failed; {done.stderr.strip()[-300:]}")


def _converse(scenario: Scenario, tools: ScratchTools, base_url: str) -> None:
    model = OpenAIChat(scenario.model, base_url=base_url, max_retries=0, temperature=0.0)
    schemas = tuple(tool_schemas())
    messages = [Message("system", scenario.system.strip())]
    for step in scenario.steps:
        if step.user is not None:
            messages.append(Message("user", step.user))
        reply = model.complete(ModelCall(tuple(messages), purpose="agent", tools=schemas))
        messages.append(reply.as_message())
        for call in reply.tool_calls:
            result = tools.call(call.name, json.loads(call.arguments))
            messages.append(Message("tool", result, tool_call_id=call.call_id))


def main(arguments: Sequence[str] | None = None) -> int:
    """Record one scenario and say what was written."""
    parser = argparse.ArgumentParser(prog="python -m evals.recording", description=__doc__)
    parser.add_argument("scenario", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="folder of cassette.json")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    cassette = options.out / "cassette.json"
    count_tokens = TiktokenCounter().count_text
    try:
        scenario = load_scenario(options.scenario)
        done = record_scenario(scenario, cassette, count_tokens=count_tokens)
    except CompactionError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"{done.cassette}: {done.requests} requests, sha256 {done.sha256}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
