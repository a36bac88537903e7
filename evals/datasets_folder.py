"""Where the datasets that travel with the project lie: in the wheel, or in the checkout.

`datasets/` holds data only and is never a package, because a package of that name would hide
Hugging Face's. What a dataset's files say is read elsewhere.
"""

from pathlib import Path

from compaction.errors import TranscriptError

CASSETTE_NAMES = ("cassette.json", "cassette.yaml")
FACTS_NAME = "facts.json"
ANSWERS_FOLDER = "models"
"""In the folder of a dataset: what models answered when they were asked about it, by model."""

_PACKAGE = Path(__file__).resolve().parent
_PLACES = (_PACKAGE / "_datasets", _PACKAGE.parent / "datasets")
"""The wheel's folder (`force-include` in pyproject.toml), then the one of an editable install."""


class DatasetError(TranscriptError):
    """A bundled dataset is missing or incomplete."""


def datasets_folder(places: tuple[Path, ...] = _PLACES) -> Path:
    """Return the first of `places` that is a folder.

    Raises:
        DatasetError: There is none, as in a wheel that was built without them.
    """
    for place in places:
        if place.is_dir():
            return place
    looked_at = ", ".join(str(place) for place in places)
    raise DatasetError(
        f"no bundled datasets in {looked_at}: reinstall compaction-evals, or name a path"
    )


def bundled_datasets(places: tuple[Path, ...] = _PLACES) -> list[Path]:
    """List the dataset folders, those with a cassette and `facts.json`, sorted by name.

    Raises:
        DatasetError: No folder to look into, or no dataset in it.
    """
    folder = datasets_folder(places)
    found = sorted(facts.parent for facts in folder.glob(f"*/{FACTS_NAME}") if _has_cassette(facts))
    if not found:
        raise DatasetError(f"no folder below {folder} holds {FACTS_NAME} and {CASSETTE_NAMES[0]}")
    return found


def cassette_of(dataset: Path) -> Path:
    """Return the cassette of a dataset folder.

    Raises:
        DatasetError: It has none.
    """
    for name in CASSETTE_NAMES:
        if (dataset / name).is_file():
            return dataset / name
    raise DatasetError(f"{dataset} holds none of {', '.join(CASSETTE_NAMES)}: record it again")


def _has_cassette(facts: Path) -> bool:
    return any(facts.with_name(name).is_file() for name in CASSETTE_NAMES)
