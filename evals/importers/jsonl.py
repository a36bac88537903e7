"""JSON Lines as they are found: glued objects, broken lines, a last line that was cut off.

Lines end at a line feed only, because text holds the other separators of `str.splitlines`. What is
not read is reported with its line number.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from compaction.errors import TranscriptError
from evals.importers.files import MAX_LINE_BYTES, JsonValue, open_bytes
from evals.importers.outlines import is_outlining, outlined
from evals.importers.reports import Report

_DECODER = json.JSONDecoder()


class Record(NamedTuple):
    """One JSON value of a file."""

    line: int
    """Counted from 1."""
    value: JsonValue


def read_records(
    path: Path, source: str, report: Report, *, needs_texts: bool = False
) -> Iterator[Record]:
    """Yield the values of a JSON Lines file in order, one line in memory at a time.

    With `needs_texts` they are whole even where everybody else gets outlines.

    Raises:
        TranscriptError: cannot be read, or not a single line is JSON.
    """
    found = False
    is_brief = is_outlining() and not needs_texts
    for number, line, is_last in _lines(path, source):
        for value in _values(number, line, report, is_last=is_last):
            found = True
            yield Record(number, outlined(value) if is_brief else value)
    if not found:
        raise TranscriptError(f"{source}:1: no line is JSON; export the file again")


def _lines(path: Path, source: str) -> Iterator[tuple[int, bytes, bool]]:
    """Yield number, bytes and whether the line lacks its end."""
    with open_bytes(path, source) as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES):
            number += 1
            if len(line) == MAX_LINE_BYTES:
                raise TranscriptError(f"{source}:{number}: the line is too long; split the file")
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            if line.strip():
                yield number, line, not line.endswith(b"\n")


def _values(number: int, raw: bytes, report: Report, *, is_last: bool) -> list[JsonValue]:
    where = f"line {number}"
    try:
        line = raw.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        report.add(where, f"not UTF-8 (byte {error.start} of the line)")
        return []
    values: list[JsonValue] = []
    at = 0
    try:
        while at < len(line):
            value, at = _DECODER.raw_decode(line, at)
            values.append(value)
            while at < len(line) and line[at].isspace():
                at += 1
    except (ValueError, RecursionError) as error:
        reason = "cut off, the file ends inside a record" if is_last else f"not JSON: {error}"
        report.add(where, f"{reason} (after {len(values)} whole records)" if values else reason)
        return values
    if len(values) > 1:
        report.add(where, f"{len(values)} records glued on one line, all read", expected=True)
    return values
