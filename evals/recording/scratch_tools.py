"""The tools of a recorded scenario: real files and a real Python in one scratch folder.

Their outputs are the same on every machine: folder names, timings and the interpreter's place
are normalised. They confine a script of our own; they are no sandbox against a hostile model.
"""

import os
import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from compaction.agent_tools import Tool

MAX_MATCHES = 300
MAX_OUTPUT_CHARS = 200_000
TIMEOUT_SECONDS = 120
_TIMINGS = re.compile(r" in \d+\.\d+s\b")


class ToolError(Exception):
    """What a tool answers instead of a result; it is shown to the agent."""


@dataclass(frozen=True, slots=True)
class ScratchTools:
    """The tools, all confined to `root`."""

    root: Path

    def list_files(self, path: str = ".") -> str:
        folder = self._inside(path)
        if not folder.is_dir():
            raise ToolError(f"{path}: no such directory")
        files = sorted(item for item in folder.rglob("*") if item.is_file())
        return "\n".join(f"{item.stat().st_size:>8}  {self._name(item)}" for item in files)

    def read_file(self, path: str, offset: int = 1, limit: int | None = None) -> str:
        lines = self._text(path).splitlines(keepends=True)
        if offset < 1 or (limit is not None and limit < 1):
            raise ToolError(f"offset and limit count from 1, got {offset} and {limit}")
        if offset > len(lines) > 0:
            raise ToolError(f"{path}: offset {offset} is past the last line ({len(lines)})")
        stop = len(lines) if limit is None else offset - 1 + limit
        return "".join(lines[offset - 1 : stop])

    def grep(self, pattern: str, path: str = ".") -> str:
        try:
            wanted = re.compile(pattern)
        except re.error as error:
            raise ToolError(f"bad pattern: {error}") from error
        start = self._inside(path)
        if not start.exists():
            raise ToolError(f"{path}: no such file or directory")
        files = [start] if start.is_file() else sorted(i for i in start.rglob("*") if i.is_file())
        found = [
            f"{self._name(file)}:{number}:{line}"
            for file in files
            for number, line in enumerate(_lines(file), 1)
            if wanted.search(line)
        ]
        more = [f"... {len(found) - MAX_MATCHES} more matches"] if len(found) > MAX_MATCHES else []
        return "\n".join(found[:MAX_MATCHES] + more) or "no matches"

    def edit_file(self, path: str, old_string: str, new_string: str) -> str:
        text = self._text(path)
        count = text.count(old_string)
        if count != 1:
            raise ToolError(f"{path}: old_string found {count} times, must be exactly once")
        line = text[: text.index(old_string)].count("\n") + 1
        self._inside(path).write_text(text.replace(old_string, new_string), "utf-8")
        return f"edited {path} at line {line}"

    def write_file(self, path: str, content: str) -> str:
        target = self._inside(path)
        verb = "replaced" if target.exists() else "created"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, "utf-8")
        return f"{verb} {path} ({len(content.encode('utf-8'))} bytes)"

    def run_tests(self, target: str = "") -> str:
        """Run unittest: a dotted target, or all tests."""
        arguments = ["-v", target] if target else ["discover", "-v", "-s", "tests", "-t", "."]
        return self._python(["-m", "unittest", *arguments])

    def run_command(self, command: str) -> str:
        """Run `python ...` without a shell; nothing else is allowed."""
        words = shlex.split(command)
        if not words or words[0] not in ("python", "python3"):
            raise ToolError(f"only python commands are allowed, got {command!r}")
        return self._python(words[1:])

    def _python(self, arguments: list[str]) -> str:
        keep = {key: os.environ[key] for key in ("PATH", "SYSTEMROOT") if key in os.environ}
        fixed = {"PYTHONHASHSEED": "0", "TZ": "UTC", "PYTHONDONTWRITEBYTECODE": "1"}
        # Without -X no_debug_ranges the marks under a traceback differ between Python versions.
        command = [sys.executable, "-X", "utf8", "-X", "no_debug_ranges", *arguments]
        try:
            done = subprocess.run(
                command,
                cwd=self.root,
                env={**keep, **fixed},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=TIMEOUT_SECONDS,
                check=False,
                encoding="utf-8",
                errors="backslashreplace",
            )
        except subprocess.TimeoutExpired as error:
            raise ToolError(f"stopped, no end after {TIMEOUT_SECONDS} seconds") from error
        output = self._normalised(done.stdout)
        if len(output) > MAX_OUTPUT_CHARS:
            left_out = len(output) - MAX_OUTPUT_CHARS
            output = f"{output[:MAX_OUTPUT_CHARS]}\n... {left_out} more characters"
        return f"exit code {done.returncode}\n{output}"

    def _normalised(self, text: str) -> str:
        library = sysconfig.get_path("stdlib")
        for folder, name in ((f"{self.root.parent}{os.sep}", ""), (library, "<python>")):
            text = text.replace(folder, name)
        return _TIMINGS.sub("", text)

    def _inside(self, path: str) -> Path:
        target = (self.root / path).resolve()
        if not target.is_relative_to(self.root):
            raise ToolError(f"{path}: outside the project")
        return target

    def _name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def _text(self, path: str) -> str:
        file = self._inside(path)
        if not file.is_file():
            raise ToolError(f"{path}: no such file")
        return file.read_text("utf-8")


def _lines(file: Path) -> list[str]:
    """Return the lines of a file that is text; none of an image or another binary file."""
    try:
        return file.read_text("utf-8").splitlines()
    except UnicodeDecodeError:
        return []


def scratch_tools(root: Path) -> list[Tool]:
    """Return the tools at work in one folder."""
    at = ScratchTools(root)
    return [
        _tool(at.list_files, "List all files below a directory with sizes in bytes.", path=False),
        _tool(
            at.read_file,
            "Return the text of a file, or `limit` lines from the 1-based line `offset` on.",
            path=True,
            offset=False,
            limit=False,
        ),
        _tool(
            at.grep,
            "Search files below a path for a regular expression; answers path:line:text.",
            pattern=True,
            path=False,
        ),
        _tool(
            at.edit_file,
            "Replace old_string, which must occur exactly once in the file, by new_string.",
            path=True,
            old_string=True,
            new_string=True,
        ),
        _tool(at.write_file, "Create or replace a file.", path=True, content=True),
        _tool(
            at.run_tests,
            "Run the unittest suite verbosely, or only a dotted target such as tests.test_fx.",
            target=False,
        ),
        _tool(at.run_command, "Run `python ...` in the project folder.", command=True),
    ]


def _tool(run: Callable[..., str], description: str, **parameters: bool) -> Tool:
    kinds = {"offset": "integer", "limit": "integer"}
    schema = {
        "type": "object",
        "properties": {key: {"type": kinds.get(key, "string")} for key in parameters},
        "required": [key for key, required in parameters.items() if required],
        "additionalProperties": False,
    }
    return Tool(name=run.__name__, description=description, run=run, parameters=schema)
