"""SQL on the databases of the project: the warehouse, read only, and one's own `work.db`."""

import sqlite3
from pathlib import Path

MAX_ROWS = 200
KEPT_DIGITS = 4


def query(root: Path, sql: str, database: str = "warehouse.db", limit: int = 60) -> str:
    """Run one SELECT on a database of the project, read only; a table of up to `limit` rows."""
    path = (root / database).resolve()
    if not path.is_relative_to(root) or path.suffix != ".db" or not path.is_file():
        raise ValueError(f"{database}: no such database")
    db = sqlite3.connect(f"file:{path.as_posix()}?mode=ro", uri=True)
    try:
        cursor = db.execute(sql)
        rows = cursor.fetchmany(min(limit, MAX_ROWS) + 1)
        names = [column[0] for column in cursor.description or ()]
    finally:
        db.close()
    return _table(names, rows, min(limit, MAX_ROWS))


def table_info(root: Path, database: str = "warehouse.db") -> str:
    """List the tables of a database with their columns and numbers of rows."""
    tables = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
    found = query(root, tables, database)
    lines = []
    for table in found.splitlines()[2:-1]:
        columns = query(root, f"SELECT name, type FROM pragma_table_info('{table}')", database)
        count = query(root, f"SELECT COUNT(*) FROM {table}", database).splitlines()[2]
        names = ", ".join(" ".join(line.split()) for line in columns.splitlines()[2:-1])
        lines.append(f"{table} ({count.strip()} rows): {names}")
    return "\n".join(lines)


def _table(names: list[str], rows: list[tuple[object, ...]], limit: int) -> str:
    cells = [names, *([_cell(value) for value in row] for row in rows[:limit])]
    widths = [max(len(row[k]) for row in cells) for k in range(len(names))]
    cells.insert(1, ["-" * width for width in widths])
    text = ("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in cells)
    more = f"{len(rows)} rows"
    if len(rows) > limit:
        more = f"more than {limit} rows, the first {limit} shown"
    return "\n".join(line.rstrip() for line in text) + f"\n({more})"


def _cell(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"{value:.{KEPT_DIGITS}f}".rstrip("0").rstrip(".")
    return str(value)
