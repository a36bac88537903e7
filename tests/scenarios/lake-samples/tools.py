"""Tables of a lake laboratory: data/*.csv, read into SQLite for each query."""

import csv
import sqlite3
from contextlib import closing
from pathlib import Path

MOST_ROWS = 15


def _rows(root, name):
    with (root / "data" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def tables(root: Path) -> str:
    """Name the tables with columns and numbers of rows."""
    lines = []
    for name in ("samples", "stations"):
        header, *rows = _rows(root, name)
        lines.append(f"{name} ({', '.join(header)}): {len(rows)} rows")
    return "\n".join(lines)


def sql(root: Path, query: str) -> str:
    """Answer a SELECT, 15 rows at most."""
    with closing(sqlite3.connect(":memory:")) as database:
        for name in ("samples", "stations"):
            header, *rows = _rows(root, name)
            columns = ", ".join(f"{column} NUMERIC" for column in header)
            database.execute(f"CREATE TABLE {name} ({columns})")
            marks = ", ".join("?" * len(header))
            database.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
        found = database.execute(query).fetchall()
    more = [f"... {len(found) - MOST_ROWS} more rows"] if len(found) > MOST_ROWS else []
    lines = [" | ".join(str(value) for value in row) for row in found[:MOST_ROWS]]
    return "\n".join(lines + more) or "no rows"


def field_notes(root: Path, word: str) -> str:
    """Return the lines of the field notes that contain a word."""
    lines = (root / "data" / "notes.txt").read_text("utf-8").splitlines()
    return "\n".join(line for line in lines if word in line) or "no note"


def save_text(root: Path, path: str, text: str) -> str:
    """Save a text."""
    target = (root / path).resolve()
    if not target.is_relative_to(root.resolve()):
        raise ValueError(f"{path}: outside the folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, "utf-8")
    return f"saved {path}, {len(text.splitlines())} lines"
