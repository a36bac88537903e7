"""Other tools and ours on the same work, as a Markdown table.

    python tests/benchmarks/peers.py --out tests/benchmarks/PEERS.md

Each tool is installed by name into an environment of its own, which is thrown away unless --venvs
names a folder. `--python` (repeatable) names interpreters to try after this one, for a tool that
needs a newer Python. The work is in `peer_work/`. A tool that cannot be installed or that fails is
a row with the reason.
"""

import argparse
import datetime
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = Path(__file__).resolve().parent / "peer_work"
sys.path.insert(0, str(WORK))

from jobs import DATASET, JOBS, OURS, Job  # noqa: E402 - the folder is no package
from table import Row, Timing, table  # noqa: E402

LIMIT_SECONDS = 900


class NotRunError(Exception):
    """A tool could not be installed or failed; the text says why, in one line."""


def install(package: str, folder: Path, interpreters: Sequence[str]) -> Path:
    """Return the Python of an environment with the package, made unless it is there.

    Raises:
        NotRunError: no interpreter could install it; gives pip's last word.
    """
    python = folder / package / "bin" / "python"
    if python.exists():
        return python
    reason = ""
    for interpreter in interpreters:
        made = ["-m", "venv", "--clear", str(folder / package)]
        subprocess.run([interpreter, *made], check=True, capture_output=True)
        names = [package]
        command = [str(python), "-m", "pip", "install", "--quiet", *names]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return python
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")]
        reason = "; ".join(errors) or f"pip ended with {done.returncode}"
    raise NotRunError(f"not installed: {reason}")


def version_of(package: str, python: Path) -> str:
    code = (
        "import sys, platform, importlib.metadata as m;"
        "print(m.version(sys.argv[1]), platform.python_version(), sep=', ')"
    )
    return subprocess.check_output([str(python), "-c", code, package], text=True).strip()


def measure(command: Sequence[str]) -> tuple[str, Timing]:
    """Run a command to its end; a finding (exit code 1 with output) is no failure.

    Raises:
        NotRunError: it failed or took too long.
    """
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_SECONDS,
            env=environment,
            cwd=ROOT,
        )
    except subprocess.TimeoutExpired as error:
        raise NotRunError(f"did not end within {LIMIT_SECONDS} s") from error
    wall, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1) or not done.stdout:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise NotRunError(f"ended with {done.returncode}: {last}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, Timing(cpu, wall, _work_seconds(done.stdout))


def _work_seconds(output: str) -> float | None:
    try:
        made = json.loads(output)
    except ValueError:
        return None
    return made.get("work_seconds")


def run(job: Job, python: Path, given: Path, repeats: int, kept: dict) -> Row:
    timings = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as fresh:
            places = {
                "{python}": str(python),
                "{bin}": str(python.parent),
                "{work}": str(WORK),
                "{data}": str(ROOT / "datasets"),
                "{input}": str(given),
                "{fresh}": fresh,
            }
            output, timing = measure([_filled(part, places) for part in job.command])
            reports = job.read(output, Path(fresh), kept)
        timings.append(timing)
    if job.keep_as:
        kept[job.keep_as] = json.loads(output)
    version = version_of(job.package, python)
    return Row(job.tool, version, job.what, tuple(timings), reports, job.cannot)


def _filled(part: str, places: dict[str, str]) -> str:
    # Not str.format: parameters are JSON.
    for name, value in places.items():
        part = part.replace(name, value)
    return part


def rows(folder: Path, interpreters: Sequence[str], repeats: int) -> list[Row]:
    given = folder / "input"
    given.mkdir(exist_ok=True)
    script = [sys.executable, str(WORK / "make_input.py"), str(given), DATASET]
    subprocess.run(script, check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
    made, kept = [], {}
    for job in JOBS:
        try:
            own = job.package == OURS
            python = Path(sys.executable) if own else install(job.package, folder, interpreters)
            made.append(run(job, python, given, repeats, kept))
        except NotRunError as error:
            made.append(Row(job.tool, "-", job.what, (), f"not run: {error}", job.cannot))
        print(made[-1].tool, made[-1].reports, file=sys.stderr, flush=True)
    return made


def _text(made: Sequence[Row], repeats: int, loads: tuple[float, float]) -> str:
    return f"""# Other tools on the same work

{datetime.datetime.now(tz=datetime.UTC).date()}, {platform.system()} {platform.machine()}, \
{os.cpu_count()} cores. Made by `python tests/benchmarks/peers.py`.

Times are medians of {repeats}. CPU s is user and system time of the process and its children, \
start-up included; "of that the views" is the loop that makes the views, without start-up and \
reading. The machine was shared: load average {loads[0]:.1f} at the start and {loads[1]:.1f} at \
the end, so that wall s says how long it took under that load and compares nothing. Rows of one \
work stand together, ours below the tool that they are compared with. What a tool cannot do was \
read in the code of the version named.

{table(made)}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write here too")
    parser.add_argument("--venvs", type=Path, help="keep environments here, or use those there")
    parser.add_argument("--python", action="append", default=[], help="a newer Python to try")
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as scratch:
        folder = (asked.venvs or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        made = rows(folder, [sys.executable, *asked.python], asked.repeats)
    text = _text(made, asked.repeats, (load_before, os.getloadavg()[0]))
    print(text)
    if asked.out:
        asked.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
