"""What goes into a store comes out byte for byte, whatever the handle is."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compaction.errors import StoreError
from compaction.store import FolderStore, MemoryStore, make_handle, place_of

HOSTILE = [
    "../../x",
    "a/b",
    "a\\b",
    "/etc/passwd",
    "CON",
    "con",
    "nul.txt",
    "com1",
    "x" * 5_000,
    "",
    ".",
    "..",
    ".hidden",
    "trailing.",
    "trailing ",
    "new\nline",
    "zero\0byte",
    "结果",
    "UPPER",
    "upper",
    "h-0123",
    "~",
    "-rf",
    "a:b",
    "\ud83d",
]


@pytest.mark.parametrize("handle", HOSTILE)
def test_no_handle_leaves_the_folder(tmp_path, handle):
    store = FolderStore(tmp_path / "results")
    store.put(handle, f"text of {handle!r}")
    inside = list((tmp_path / "results").iterdir())

    assert [path.name for path in tmp_path.iterdir()] == ["results"]
    assert len(inside) == 1
    assert inside[0].is_file()
    assert len(inside[0].name) < 120
    assert store.get(handle) == f"text of {handle!r}"


def test_handles_never_meet(tmp_path):
    store = FolderStore(tmp_path)
    for handle in HOSTILE:
        store.put(handle, f"text of {handle!r}")

    names = {store.path_of(handle).name.lower() for handle in HOSTILE}
    assert len(names) == len(HOSTILE)
    assert [store.get(handle) for handle in HOSTILE] == [f"text of {h!r}" for h in HOSTILE]


@pytest.mark.parametrize("make", [lambda path: MemoryStore(), FolderStore])
def test_what_is_kept_first_stays(tmp_path, make):
    store = make(tmp_path)
    store.put("c", "first")
    store.put("c", "second")

    assert store.get("c") == "first"
    assert store.get("other") is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(exclude_categories=())), handle=st.text(max_size=20))
def test_a_text_comes_back_with_every_line_end_and_surrogate(tmp_path, text, handle):
    store = FolderStore(tmp_path)
    unique = make_handle(handle, 0, text)
    store.put(unique, text)

    assert store.get(unique) == text
    assert FolderStore(tmp_path).get(unique) == text


def test_nothing_is_left_of_a_text_that_could_not_be_written(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    store = FolderStore(blocked / "results")

    with pytest.raises(StoreError, match="cannot keep 'c'"):
        store.put("c", "text")
    assert blocked.read_text() == "in the way"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_handle_tells_calls_occurrences_and_contents_apart():
    handles = {
        make_handle("c", 0, "a"),
        make_handle("c", 1, "a"),
        make_handle("c", 0, "b"),
        make_handle("d", 0, "a"),
        make_handle(None, 0, "a"),
    }

    assert len(handles) == 5
    assert make_handle("c", 0, "a") == make_handle("c", 0, "a")


def test_the_place_of_a_handle_is_its_file_if_there_are_files(tmp_path):
    assert place_of(FolderStore(tmp_path), "c") == str(tmp_path / "c.txt")
    assert place_of(MemoryStore(), "c") == "c"


def test_a_memory_store_lists_its_handles():
    store = MemoryStore()
    store.put("a", "1")
    store.put("b", "2")

    assert (list(store), len(store)) == (["a", "b"], 2)
