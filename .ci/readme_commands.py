"""Print the command lines that the README promises, so that CI runs what a reader would run.

Each must be a line of its own in a fenced block, exactly once; anything else is an error.
"""

import sys
from pathlib import Path

PROMISED = (
    "pip install -e . && compaction-evals run",
    "pip install -e '.[test]' && pytest",
)


def fenced_lines(markdown: str) -> list[str]:
    """Return the lines inside fenced code blocks, without the fences."""
    lines: list[str] = []
    inside = False
    for line in markdown.splitlines():
        if line.lstrip().startswith("```"):
            inside = not inside
        elif inside:
            lines.append(line.strip())
    return lines


def main(readme: Path) -> int:
    """Print the promised lines in order; return 1 if the README does not hold each once."""
    lines = fenced_lines(readme.read_text(encoding="utf-8"))
    wrong = [command for command in PROMISED if lines.count(command) != 1]
    for command in wrong:
        times = lines.count(command)
        sys.stderr.write(f"{readme}: `{command}` must be one line of a code block, is {times}\n")
    if not wrong:
        sys.stdout.write("".join(f"{command}\n" for command in PROMISED))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
