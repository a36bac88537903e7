"""Record a scenario: its authored agent, real tools, the real client, a cassette.

`python -m evals.recording SCENARIO.yaml --out FOLDER` writes `FOLDER/cassette.json`. The same
scenario gives the same bytes on the same Python version.
"""

import argparse
import base64
import hashlib
import mimetypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from compaction.agent_tools import Tool, Toolbox, result_message
from compaction.errors import CompactionError
from compaction.llm import ModelCall, OpenAIChat
from compaction.messages import Message, Part
from compaction.tokens import TiktokenCounter
from evals.recorder import recorder
from evals.scenario_tools import own_tools
from evals.scenarios import Scenario, ScenarioError, UserTurn, load_scenario
from evals.scratch_tools import scratch_tools
from evals.scripted_answers import quarter_of_chars
from evals.scripted_endpoint import serve_script


class Recorded(NamedTuple):
    """What one recording wrote."""

    cassette: Path
    sha256: str
    """Of the cassette file."""
    requests: int


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
        _converse(scenario, root, endpoint.base_url)
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


def tools_at(scenario: Scenario, root: Path) -> list[Tool]:
    """Return what the scenario offers its agent: scratch tools first, then its own.

    Raises:
        ScenarioError: an unknown scratch tool, or two tools of one name.
    """
    builtin = {tool.name: tool for tool in scratch_tools(root)}
    wanted = builtin.keys() if scenario.builtin_tools is None else scenario.builtin_tools
    unknown = sorted(set(wanted) - builtin.keys())
    if unknown:
        names = ", ".join(builtin)
        raise ScenarioError(f"builtin_tools: no {', '.join(unknown)}; there are {names}")
    own = own_tools(scenario.tools, root) if scenario.tools else []
    twice = sorted({tool.name for tool in own} & set(wanted))
    if twice:
        raise ScenarioError(f"{scenario.tools}: {', '.join(twice)} is a scratch tool too; rename")
    return [tool for name, tool in builtin.items() if name in wanted] + own


def user_message(turn: UserTurn, root: Path) -> Message:
    """Return the message of a user turn, its images as data URIs.

    Raises:
        ScenarioError: an image is not in the scratch folder.
    """
    if not turn.images:
        return Message("user", turn.text)
    images = [Part.from_openai(_image(root / name, name)) for name in turn.images]
    return Message("user", (Part.of_text(turn.text), *images))


def _image(path: Path, name: str) -> dict[str, object]:
    kind = mimetypes.guess_type(name)[0]
    if kind is None or not kind.startswith("image/"):
        raise ScenarioError(f"{name}: not the name of an image")
    try:
        data = base64.b64encode(path.read_bytes()).decode("ascii")
    except OSError as error:
        raise ScenarioError(f"{name}: no such image in the scratch folder") from error
    url = f"data:{kind};base64,{data}"
    return {"type": "image_url", "image_url": {"url": url, "detail": "auto"}}


def _converse(scenario: Scenario, root: Path, base_url: str) -> None:
    model = OpenAIChat(scenario.model, base_url=base_url, max_retries=0, temperature=0.0)
    toolbox = Toolbox(tools_at(scenario, root))
    schemas = toolbox.schemas()
    messages = [Message("system", scenario.system.strip())]
    for step in scenario.steps:
        if step.user is not None:
            messages.append(user_message(step.user, root))
        reply = model.complete(ModelCall(tuple(messages), purpose="agent", tools=schemas))
        messages.append(reply.as_message())
        for call in reply.tool_calls:
            text = toolbox.call(call).text.replace(f"{root.parent}{os.sep}", "")
            messages.append(result_message(call, text))


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
