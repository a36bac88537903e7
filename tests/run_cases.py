"""Transcripts on disk and runs over them, for the tests of sweep, running and command line."""

import json
from pathlib import Path

from rich.console import Console

from compaction.messages import messages_to_openai
from evals.loading import survey
from evals.results import Row, RunFolder
from evals.settings import Setting
from evals.sweep import Plan, run_plan
from evals.synthetic import generate

SCORED = ("seconds", "cell_id")
CODE = """
from pathlib import Path
import time

HERE = Path(__file__).parent


def newest(messages):
    with (HERE / "calls.txt").open("a") as file:
        file.write("x")
    return messages[:1] + messages[-1:] if messages[-1]["role"] == "user" else messages


def slow(messages):
    time.sleep(0.05)
    return newest(messages)


def fails(messages):
    raise ValueError("no luck")


def fails_once(messages):
    mark = HERE / "mark.txt"
    if not mark.exists():
        mark.write_text("x")
        raise ValueError("no luck")
    return messages
"""


def chat(n_messages: int = 21, seed: int = 0) -> list[dict]:
    """Return a generated conversation as an OpenAI chat."""
    made = generate(n_messages, seed=seed, plant_every=2, round_chars=400, gaps=(2, 5))
    return messages_to_openai(made.messages)


def write_chats(folder: Path, count: int = 1, n_messages: int = 21) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        path = folder / f"chat_{number}.json"
        path.write_text(json.dumps(chat(n_messages, seed=number)), encoding="utf-8")
    return folder


def write_code(folder: Path, code: str = CODE) -> str:
    """Write the functions above and return the path for a spec."""
    path = folder / "my_code.py"
    path.write_text(code, encoding="utf-8")
    return str(path)


def calls_made(folder: Path) -> int:
    path = folder / "calls.txt"
    return len(path.read_text()) if path.exists() else 0


def sweep(data: Path, out: Path, *settings: Setting, jobs: int = 1, **fields) -> list[Row]:
    """Run settings over a folder and return the rows in the order of their labels."""
    folder = RunFolder(out)
    folder.create()
    rows: list[Row] = []
    plan = Plan(settings=settings, **fields)
    run_plan(plan, survey([data]).locations, folder, jobs=jobs, progress=rows.append)
    return sorted(rows, key=lambda row: (row.source, row.label))


def numbers(rows: list[Row]) -> list[dict]:
    """Return rows as they are compared: without the time they took."""
    return [{k: v for k, v in row.to_json().items() if k != "seconds"} for row in rows]


def quiet() -> Console:
    return Console(stderr=True, quiet=True)


def sweep_streaming(data: Path, out: Path, *settings: Setting) -> int:
    """Run settings over a folder, remember nothing, and return how many rows there were."""
    folder = RunFolder(out)
    folder.create()
    count = 0

    def note(row: Row) -> None:
        nonlocal count
        count += 1

    plan = Plan(settings=settings)
    run_plan(plan, survey([data]).locations, folder, jobs=1, progress=note)
    return count


def one_error(said, kind="error: "):
    code, out, errors = said
    assert (code, out, len(errors)) == (2, "", 1), said
    assert errors[0].startswith(kind)
    return errors[0]
