"""OA 工单和 HIS 库的只读接口；回复只存草稿，不会发出。"""

import csv
import re
import sqlite3
from pathlib import Path

TABLES = {
    "daka": "his/daka_2026-02.csv",
    "paiban": "data/排班_2026-02.csv",
    "renyuan": "config/人员.csv",
}
MAX_ROWS = 60


def _tickets(root: Path) -> dict[str, str]:
    return {path.stem: path.read_text("utf-8") for path in sorted((root / "oa").glob("*.md"))}


def oa_search(root: Path, keyword: str) -> str:
    """按关键词搜索 OA 工单，返回单号、标题和命中的行。"""
    lines = []
    for text in _tickets(root).values():
        hits = [line for line in text.splitlines() if keyword in line]
        if hits:
            lines += [text.splitlines()[0], *(f"    {line[:80]}" for line in hits[:3])]
    return "\n".join(lines) or f"没有包含“{keyword}”的工单"


def oa_get(root: Path, number: str) -> str:
    """读取一张 OA 工单的全文。"""
    tickets = _tickets(root)
    if number not in tickets:
        raise ValueError(f"没有工单 {number}")
    return tickets[number]


def oa_draft_reply(root: Path, number: str, text: str) -> str:
    """给工单存一份回复草稿，由提单人确认后才会发出。重复保存会覆盖。"""
    if number not in _tickets(root):
        raise ValueError(f"没有工单 {number}")
    path = root / "oa" / "草稿" / f"{number}.txt"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text.strip() + "\n", "utf-8")
    return f"草稿已保存：{number}，{len(text.strip())} 字，未发送"


def his_query(root: Path, sql: str) -> str:
    """在 HIS 只读库里执行一条 SELECT。表：daka 打卡，paiban 班表，renyuan 人员。"""
    if not re.match(r"(?i)\s*select\b", sql):
        raise ValueError("只允许 SELECT")
    base = sqlite3.connect(":memory:")
    for name, path in TABLES.items():
        with (root / path).open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        columns = ", ".join(f'"{column}"' for column in header)
        base.execute(f"CREATE TABLE {name} ({columns})")
        base.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(header))})", rows)
    try:
        cursor = base.execute(sql)
        found = cursor.fetchall()
    except sqlite3.Error as error:
        raise ValueError(f"SQL 错误：{error}") from error
    finally:
        base.close()
    lines = [" | ".join(column[0] for column in cursor.description)]
    lines += [" | ".join("" if v is None else str(v) for v in row) for row in found[:MAX_ROWS]]
    more = f"（共 {len(found)} 行，只显示 {MAX_ROWS} 行）" if len(found) > MAX_ROWS else ""
    return "\n".join([*lines, more or f"（{len(found)} 行）"])
