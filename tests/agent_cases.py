"""An agent over loopback: its tools, its scripted replies, and a process of its own."""

import json
import os
import signal
import sys
from pathlib import Path

from compaction.agent import Agent
from compaction.agent_journal import FileJournal
from compaction.agent_settings import AgentSettings
from compaction.agent_tools import Tool
from compaction.llm import OpenAIChat
from compaction.store import FolderStore
from compaction.systems.three_layer import ThreeLayer
from evals.recording.scripted_endpoint import Reply

SUMMARY = "## Current goal and remaining work\nRead the four files, then report."
STRATEGY = ThreeLayer(
    persist_threshold_chars=3_000, preview_chars=100, context_limit_chars=5_000, micro_min_chars=60
)


def wants(*made):
    """A reply that calls tools: (name, arguments) each."""
    calls = tuple(
        {
            "id": f"call_{name}_{'_'.join(map(str, arguments.values()))}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for name, arguments in made
    )
    return Reply(None, calls)


def read_file(path):
    """Stand for a file: 2,500 characters that name it, or 4,000 for big ones."""
    return f"{path}: " + "t" * (4_000 if path.startswith("big") else 2_500)


def die():
    os.kill(os.getpid(), signal.SIGKILL)
    return "unreachable"


def tool(name, run, *parameters):
    properties = {parameter: {"type": "string"} for parameter in parameters}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return Tool(name=name, description=f"{name} it", run=run, parameters=schema)


def make_agent(base_url, folder, *, strategy=STRATEGY, listen=None, tools=()):
    folder = Path(folder)
    settings = AgentSettings(
        tools=(tool("read_file", read_file, "path"), tool("die", die), *tools),
        system_prompt="You read files.",
        store=FolderStore(folder / "results"),
        **({"listen": listen} if listen else {}),
    )
    model = OpenAIChat("scripted", base_url=base_url, max_retries=0)
    return Agent(model, strategy, settings=settings, journal=FileJournal(folder / "s.jsonl"))


def is_summary_request(body):
    return "compress the conversation" in str(body["messages"][0]["content"])


if __name__ == "__main__":
    prompt = sys.argv[3] if len(sys.argv) > 3 else None
    sys.stdout.write(make_agent(sys.argv[1], sys.argv[2]).run(prompt))
