import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.results import ROW_VERSION, ResultsError, Row, RunFolder, cell_id_of, corpus_digest


def row(cell_id="c1", **columns):
    return Row(
        cell_id=cell_id,
        transcript="t",
        transcript_digest="d",
        source="s.jsonl",
        format="native",
        provenance="recorded",
        cluster="p/s",
        strategy="xun",
        strategy_version="1",
        parameters={"token_threshold": "50%"},
        resolved={"token_threshold": 100},
        label="xun(token_threshold=50%)",
        **columns,
    )


def folder_at(path):
    folder = RunFolder(path / "run")
    folder.create()
    return folder


def said_by(run, *arguments):
    with pytest.raises(ResultsError) as caught:
        run(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_rows_come_back_as_they_were_in_the_order_of_their_writing(tmp_path):
    folder = folder_at(tmp_path)
    rows = [row(f"c{n}", reach=n / 7, violated={"never_grows": n}) for n in (3, 1, 2)]

    for each in rows:
        folder.append(each)

    assert list(folder.rows()) == rows


@given(
    st.floats(0, 1) | st.none(),
    st.text(),
    st.lists(st.sampled_from(["recoverable", "keeps_system"])).map(tuple),
)
def test_a_row_survives_its_json(reach, error, not_declared):
    before = row(reach=reach, error=error, not_declared=not_declared)

    assert Row.from_json(json.loads(json.dumps(before.to_json()))) == before


def test_the_last_row_of_a_cell_counts_and_stands_last(tmp_path):
    folder = folder_at(tmp_path)
    for each in (row("a", status="error"), row("b"), row("a", reach=0.5)):
        folder.append(each)

    assert [(each.cell_id, each.status, each.reach) for each in folder.rows()] == [
        ("b", "ok", None),
        ("a", "ok", 0.5),
    ]


def test_a_new_run_has_no_rows(tmp_path):
    assert list(folder_at(tmp_path).rows()) == []
    assert list(RunFolder(tmp_path / "nowhere").rows()) == []


def test_an_unfinished_last_line_is_not_read_and_is_cut_off_by_the_next_run(tmp_path):
    folder = folder_at(tmp_path)
    for each in (row("a"), row("b")):
        folder.append(each)
    whole = folder.rows_path.read_bytes()
    folder.rows_path.write_bytes(whole[:-9])

    assert [each.cell_id for each in folder.rows()] == ["a"]
    folder.create()
    assert folder.rows_path.read_bytes() == whole[: whole.index(b"\n") + 1]
    folder.append(row("b", reach=1.0))
    assert [(each.cell_id, each.reach) for each in folder.rows()] == [("a", None), ("b", 1.0)]


def test_an_unfinished_only_line_leaves_an_empty_file(tmp_path):
    folder = folder_at(tmp_path)
    folder.rows_path.write_bytes(b'{"cell_id": "a", "trans')

    folder.create()

    assert folder.rows_path.read_bytes() == b""


def test_whole_rows_are_left_as_they_are_by_the_next_run(tmp_path):
    folder = folder_at(tmp_path)
    folder.append(row("a"))
    before = folder.rows_path.read_bytes()

    folder.create()

    assert folder.rows_path.read_bytes() == before


@pytest.mark.parametrize(
    "line", [b'{"cell_id": "x"}', b"no json", b"7", b"null", b"[]", b"\xff\xfe"]
)
def test_a_line_that_is_no_row_names_its_file_and_number(line, tmp_path):
    folder = folder_at(tmp_path)
    for each in (row("a"), row("b")):
        folder.append(each)
    first, second = folder.rows_path.read_bytes().splitlines()
    folder.rows_path.write_bytes(b"\n".join([first, line, second, b""]))

    said = said_by(lambda: list(folder.rows()))

    assert said.startswith(f"{folder.rows_path}, line 2 is not a row: ")
    assert said.endswith("; delete that line and run again")


def test_a_broken_line_that_was_finished_is_no_unfinished_line(tmp_path):
    folder = folder_at(tmp_path)
    folder.append(row("a"))
    with folder.rows_path.open("ab") as file:
        file.write(b'{"cell_id"\n')

    assert "line 2 is not a row" in said_by(lambda: list(folder.rows()))


WRITER = """
import sys
from pathlib import Path
from evals.results import Row, RunFolder

folder = RunFolder(Path(sys.argv[1]))
folder.create()
fields = ("transcript", "transcript_digest", "source", "format", "provenance", "cluster",
          "strategy", "strategy_version", "label")
number = 0
while True:
    name = f"c{number}"
    folder.write_sidecar(name, {"number": number, "text": "x" * 20_000})
    folder.append(Row(cell_id=name, parameters={}, resolved={}, error="e" * 200_000,
                      **dict.fromkeys(fields, "x")))
    number += 1
"""


def test_a_run_that_was_killed_leaves_whole_rows_with_their_sidecars_and_goes_on(tmp_path):
    folder = RunFolder(tmp_path / "run")
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(folder.path)])
    end = time.monotonic() + 30
    while time.monotonic() < end and len(list(folder.path.glob("cells/*.json"))) < 6:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with folder.rows_path.open("ab") as file:
        file.write(b'{"cell_id":"half')

    folder.create()
    names = [each.cell_id for each in folder.rows()]
    folder.append(row("next"))

    assert len(names) >= 5
    assert names == [f"c{number}" for number in range(len(names))]
    assert [folder.sidecar(name)["number"] for name in names] == list(range(len(names)))
    assert [each.cell_id for each in folder.rows()] == [*names, "next"]


def test_columns_of_a_newer_program_are_ignored_and_missing_ones_have_their_defaults():
    raw = row(reach=0.5).to_json()
    del raw["needs"], raw["not_declared"]

    assert Row.from_json({**raw, "a_new_column": 1}) == row(reach=0.5)


def test_a_row_says_by_which_version_of_the_columns_it_was_written():
    assert row().to_json()["row_version"] == ROW_VERSION
    assert Row.from_json({**row().to_json(), "row_version": 0}).row_version == 0


def test_a_sidecar_and_a_manifest_come_back(tmp_path):
    folder = folder_at(tmp_path)

    folder.write_sidecar("c1", {"b": [1, "é", None]})
    folder.write_manifest({"command": ["run"], "text": "é"})
    folder.write_manifest({"command": ["run", "again"]})

    assert folder.sidecar("c1") == {"b": [1, "é", None]}
    assert folder.sidecar("c2") is None
    assert folder.manifest() == {"command": ["run", "again"]}
    assert sorted(path.name for path in folder.path.iterdir()) == ["cells", "run.json"]


def test_half_a_character_does_not_stop_a_row_or_a_sidecar(tmp_path):
    folder = folder_at(tmp_path)

    folder.append(row(error="half \udc80"))
    folder.write_sidecar("c1", {"text": "half \udc80"})

    assert [each.error for each in folder.rows()] == ["half ?"]
    assert folder.sidecar("c1") == {"text": "half ?"}


def test_a_folder_without_a_run_says_so(tmp_path):
    said = said_by(RunFolder(tmp_path).manifest)

    assert said.startswith(f"{tmp_path} is not a run folder: it has no run.json")


@pytest.mark.parametrize("content", ["{", "[]", "7", "\x00"])
def test_a_damaged_manifest_or_sidecar_names_its_file(content, tmp_path):
    folder = folder_at(tmp_path)
    for path in (folder.path / "run.json", folder.path / "cells" / "c1.json"):
        path.write_text(content)

    assert f"{folder.path / 'run.json'}" in said_by(folder.manifest)
    assert "c1.json" in said_by(folder.sidecar, "c1")


def write_everything(folder):
    return [
        folder.create,
        lambda: folder.append(row()),
        lambda: folder.write_sidecar("c1", {}),
        lambda: folder.write_manifest({}),
    ]


def test_where_a_file_stands_instead_of_the_folder_each_write_says_so_in_a_line(tmp_path):
    (tmp_path / "run").write_text("a file")
    folder = RunFolder(tmp_path / "run")

    for write in write_everything(folder):
        said = said_by(write)

        assert said.startswith((f"cannot write to {folder.path}", f"cannot write {folder.path}"))
        assert "File exists" in said or "Not a directory" in said


def test_a_read_only_folder_is_one_line_for_each_write(tmp_path):
    folder = folder_at(tmp_path)
    for path in (folder.path / "cells", folder.path):
        path.chmod(0o555)
    if os.access(folder.path, os.W_OK):
        pytest.skip("this user may write everywhere")

    for write in write_everything(folder)[1:]:
        assert "Permission denied" in said_by(write)


def test_rows_that_cannot_be_read_are_one_line(tmp_path):
    folder = folder_at(tmp_path)
    folder.rows_path.mkdir()

    said = said_by(lambda: list(folder.rows()))

    assert said.startswith(f"cannot read {folder.rows_path}: Is a directory")


def test_a_file_that_could_not_be_written_leaves_no_scrap(tmp_path):
    folder = folder_at(tmp_path)
    (folder.path / "run.json").mkdir()

    said_by(folder.write_manifest, {"a": 1})

    assert sorted(path.name for path in folder.path.iterdir()) == ["cells", "run.json"]


def test_a_cell_is_named_by_its_content_and_a_corpus_by_its_set():
    assert cell_id_of({"a": 1, "b": 2}) == cell_id_of({"b": 2, "a": 1})
    assert cell_id_of({"a": 1}) != cell_id_of({"a": "1"})
    assert corpus_digest(["x", "y", "x"]) == corpus_digest(["y", "x"])
    assert corpus_digest(["x"]) != corpus_digest(["x", "y"])


def test_rows_are_values():
    assert row() == replace(row())
    assert row() != row(reach=0.1)
