"""Where a scenario happens: a scratch copy of its project, the tools at work in it, its images."""

import base64
import mimetypes
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from compaction.agent_tools import Tool
from compaction.messages import Message, Part
from evals.recording.scenario_tools import own_tools
from evals.recording.scenarios import Scenario, ScenarioError, UserTurn
from evals.recording.scratch_tools import scratch_tools


@contextmanager
def scratch_copy(scenario: Scenario) -> Iterator[Path]:
    """Copy the project and run the generator; the folder has the name of the scenario's.

    Raises:
        ScenarioError: there is no project, or the generator failed.
    """
    with tempfile.TemporaryDirectory(prefix="recording-") as folder:
        root = Path(folder).resolve() / scenario.project.resolve().parent.name
        shutil.copytree(scenario.project, root, ignore=shutil.ignore_patterns("__pycache__"))
        if scenario.generator is not None:
            command = [sys.executable, str(scenario.generator.resolve())]
            done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
            if done.returncode:
                error = " ".join(done.stderr.split())[-300:]
                raise ScenarioError(f"{scenario.generator}: failed; {error}")
        yield root


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
