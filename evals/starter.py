"""`compaction-evals init`: a test file and a CI job to start from."""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Final

from compaction.atomic import write_atomically
from compaction.errors import CompactionError

FILES: Final[Mapping[str, str]] = {
    "tests/test_compaction.py": "test_compaction.py.txt",
    ".github/workflows/compaction.yml": "compaction.yml.txt",
}
"""Path below the folder -> template in `starter_files`."""


def write_starter(folder: Path, *, overwrite: bool = False) -> list[Path]:
    """Write the files into a repository and return their paths.

    Raises:
        CompactionError: a file is there already, or cannot be written; nothing was overwritten.
    """
    paths = {folder / name: template for name, template in FILES.items()}
    if not overwrite and (there := [path for path in paths if path.exists()]):
        raise CompactionError(f"{there[0]} is there already: remove it, or overwrite with --force")
    templates = files("evals") / "starter_files"
    for path, template in paths.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, (templates / template).read_bytes())
        except OSError as error:
            raise CompactionError(
                f"cannot write {path}: {error.strerror or error}; choose another folder"
            ) from error
    return list(paths)
