from pathlib import Path

import pytest

import evals.datasets_folder
from evals.datasets_folder import DatasetError, bundled_datasets, cassette_of, datasets_folder


def write_dataset(folder, *names):
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).write_text("{}")
    return folder


def test_only_folders_with_a_cassette_and_facts_are_datasets(tmp_path):
    second = write_dataset(tmp_path / "b", "cassette.yaml", "facts.json")
    first = write_dataset(tmp_path / "a", "cassette.json", "facts.json")
    write_dataset(tmp_path / "no-facts", "cassette.json")
    write_dataset(tmp_path / "no-cassette", "facts.json")

    assert bundled_datasets((tmp_path,)) == [first, second]


def test_the_wheels_folder_comes_before_the_checkouts(tmp_path):
    wheel, checkout = tmp_path / "_datasets", tmp_path / "datasets"
    wheel.mkdir()
    checkout.mkdir()

    assert datasets_folder((wheel, checkout)) == wheel
    assert datasets_folder((tmp_path / "absent", checkout)) == checkout


def test_a_wheel_without_datasets_says_where_it_looked_and_what_to_do(tmp_path):
    with pytest.raises(DatasetError, match="absent: reinstall compaction-evals"):
        bundled_datasets((tmp_path / "absent",))


def test_an_empty_folder_is_an_error_not_an_empty_list(tmp_path):
    with pytest.raises(DatasetError, match=r"holds facts\.json and cassette\.json"):
        bundled_datasets((tmp_path,))


def test_the_cassette_is_found_in_either_layout_or_named_as_missing(tmp_path):
    json_layout = write_dataset(tmp_path / "a", "cassette.json")
    yaml_layout = write_dataset(tmp_path / "b", "cassette.yaml")
    neither = write_dataset(tmp_path / "c", "facts.json")

    assert cassette_of(json_layout) == json_layout / "cassette.json"
    assert cassette_of(yaml_layout) == yaml_layout / "cassette.yaml"
    with pytest.raises(DatasetError, match=r"c holds none of cassette\.json"):
        cassette_of(neither)


def test_an_editable_install_finds_the_checkouts_folder():
    root = Path(evals.datasets_folder.__file__).resolve().parents[1]
    if not (root / "pyproject.toml").is_file():
        pytest.skip("installed from a wheel")

    assert datasets_folder() == root / "datasets"
    assert (datasets_folder() / "README.md").is_file()
