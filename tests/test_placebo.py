"""Which unrelated text a transcript is compared with."""

import json

import pytest

from compaction.messages import Message, messages_to_openai
from evals.fidelity.placebo import (
    MAX_FILES_READ,
    PLACEBO_CHARS,
    Placebo,
    PlaceboChoice,
    library_name,
    library_text,
)
from evals.loading import load_file
from evals.transcripts import Transcript, single_segment, to_native


def write(folder, name, *texts, project=None, session=None):
    """Write a conversation as a file in the native format."""
    messages = tuple(
        Message("user" if number % 2 == 0 else "assistant", text)
        for number, text in enumerate(texts)
    )
    made = Transcript(name, single_segment(messages), project=project, session=session)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(to_native(made)), encoding="utf-8")
    return path


def placebo_of(path, *others):
    (transcript,) = load_file(path)
    return PlaceboChoice((path, *others)).of(transcript, path)


def test_it_is_another_transcript_of_the_run_cut_to_the_same_size(tmp_path):
    own = write(tmp_path, "own", "a" * 60, "b" * 40)
    other = write(tmp_path, "other", "c" * 90, "d" * 90)

    found = placebo_of(own, other)

    assert found == Placebo(f"{other} (other)", "c" * 90 + "\n" + "d" * 9)


def test_the_file_nearest_in_size_comes_first_and_the_next_makes_up_what_is_missing(tmp_path):
    own = write(tmp_path, "own", "a" * 600)
    near = write(tmp_path, "near", "n" * 500)
    far = write(tmp_path, "far", "f" * 2_000)

    found = placebo_of(own, far, near)

    assert found.name == f"{near} (near) + {far} (far)"
    assert found.text == "n" * 500 + "\n" + "f" * 100


def test_what_the_run_has_not_is_made_up_by_the_library(tmp_path):
    own = write(tmp_path, "own", "a" * 600)
    other = write(tmp_path, "other", "b" * 100)

    alone, with_other = placebo_of(own), placebo_of(own, other)

    assert alone == Placebo(library_name(), library_text(PLACEBO_CHARS)[:600])
    assert with_other.name == f"{other} (other) + {library_name()}"
    assert with_other.text.startswith("b" * 100 + "\n")
    assert len(with_other.text) == 601


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ({"session": "s1"}, {"session": "s1"}),
        ({"session": "s1", "project": "p1"}, {"session": "s2", "project": "p1"}),
    ],
    ids=["same session", "same project"],
)
def test_what_is_related_is_no_placebo(tmp_path, own, other):
    mine = write(tmp_path, "own", "a" * 60, **own)
    related = write(tmp_path, "other", "b" * 60, **other)

    assert placebo_of(mine, related).name == library_name()


def test_another_project_is_unrelated_and_a_copy_is_not(tmp_path):
    own = write(tmp_path, "own", "a" * 60, session="s1", project="p1")
    copy = write(tmp_path, "copy", "a" * 60, session="s2", project="p2")
    other = write(tmp_path, "other", "b" * 60, session="s2", project="p2")

    assert placebo_of(own, copy).name == library_name()
    assert placebo_of(own, copy, other).name == f"{other} (other)"


def test_a_damaged_file_is_passed_over(tmp_path):
    own = write(tmp_path, "own", "a" * 60)
    broken = tmp_path / "broken.json"
    broken.write_text('{"messages": [', encoding="utf-8")

    assert placebo_of(own, broken, tmp_path / "gone.json").name == library_name()


def test_only_so_many_files_are_read(tmp_path):
    own = write(tmp_path, "own", "a" * 60)
    same = [write(tmp_path, f"copy_{number}", "a" * 60) for number in range(MAX_FILES_READ)]
    other = write(tmp_path, "other", "b" * 90)

    assert placebo_of(own, *same, other).name == library_name()
    assert placebo_of(own, *same[1:], other).name == f"{other} (other)"


def test_the_transcripts_of_one_file_are_no_placebo_for_each_other(tmp_path):
    path = tmp_path / "two.jsonl"
    chats = [[Message("user", letter * 60), Message("assistant", "Yes.")] for letter in "ab"]
    path.write_text(
        "".join(json.dumps({"messages": messages_to_openai(chat)}) + "\n" for chat in chats)
    )
    transcripts = load_file(path)

    found = [PlaceboChoice((path,)).of(transcript, path) for transcript in transcripts]

    assert [placebo.name for placebo in found] == [library_name()] * len(transcripts)


def test_the_rule_has_one_name_whatever_the_files_are(tmp_path):
    assert PlaceboChoice().identity == PlaceboChoice((tmp_path,)).identity
    assert library_name() in PlaceboChoice().identity


def test_the_library_text_has_the_length_asked_for_and_is_the_same_each_time():
    first = library_text(50_000)

    assert 50_000 <= len(first) <= 50_100
    assert library_text(50_000) == first
    assert first.startswith(library_text(10_000)[:9_000])


def test_the_library_is_the_one_that_python_runs_with():
    assert "def " in library_text(20_000)
    assert "import " in library_text(20_000)
