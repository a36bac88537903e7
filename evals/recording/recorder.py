"""vcrpy with this project's settings: record, replay, go on with an interrupted recording.

Only what `evals.recording.redaction` cleaned is ever stored. A request is found again by method,
path and the digest of its body.
"""

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from evals.cassettes import load_cassette, request_value
from evals.recording import cassette_layout
from evals.recording.cassette_files import CassetteError, dump_yaml, parse_cassette
from evals.recording.cassette_journal import CassetteJournal
from evals.recording.cassette_misses import explain_miss
from evals.recording.redaction import DIGEST_HEADER, IsAnswer, clean_request, clean_response

if TYPE_CHECKING:
    from vcr.cassette import Cassette
    from vcr.request import Request

YAML_SUFFIXES = (".yaml", ".yml")


class UnrecordedRequestError(CassetteError):
    """The code sends what the replayed cassette has no answer to.

    `diff` goes from the nearest recorded request to the one that was sent; it is a note, too, so
    that tracebacks and pytest show it.
    """

    def __init__(self, text: str, diff: str) -> None:
        super().__init__(text)
        self.diff = diff
        if diff:
            self.add_note(diff)


@contextmanager
def recorder(
    path: Path | str,
    *,
    mode: Literal["replay", "record", "extend"] = "replay",
    repeats: bool = True,
    is_answer: IsAnswer | None = None,
) -> Iterator["Cassette"]:
    """Open a cassette; a new one is plain YAML if its name ends so, else in the compact layout.

    Answers with a status from 400 on are not stored: a repeat would return them for ever.

    Args:
        path: The cassette file.
        mode: `replay` needs the file and refuses what is new; `extend` adds what is missing;
            `record` starts afresh and writes only if the block succeeds.
        repeats: Give an answer as often as it is asked for; otherwise once, equal requests in the
            order in which they were recorded.
        is_answer: Which bodies of answers are stored; others are passed on only.

    Raises:
        CassetteError: the cassette to replay cannot be used (vcrpy would carry on without it).
        UnrecordedRequestError: from within the block, at a request that `replay` has no answer to.
    """
    file = Path(path)
    if mode == "replay" or (mode == "extend" and file.exists()):
        load_cassette(file)
    modes = {"replay": "none", "record": "all", "extend": "new_episodes"}
    with _cassette(
        file,
        record_mode=modes[mode],
        persister=_Files(can_load=mode != "record"),
        allow_playback_repeats=repeats,
        record_on_exception=mode == "extend",
        before_record_response=partial(clean_response, is_answer=is_answer),
    ) as cassette:
        if mode == "replay":
            _refuse_unrecorded(cassette, file)
        yield cassette


class KeptRecording:
    """A recording whose answers are on disk as soon as they are kept."""

    def __init__(self, cassette: "Cassette", journal: CassetteJournal, path: Path) -> None:
        self._cassette, self._journal, self._path = cassette, journal, path
        self._written = self.found = len(cassette.data)
        """How many answers a process before left."""
        self.difference = ""
        """How the request just kept differs from the one kept before in its place, if it does."""

    @property
    def reused(self) -> int:
        """Count the answers of the process before that were given again."""
        played: Mapping[int, int] = self._cassette.play_counts
        return sum(1 for index in range(self.found) if played[index])

    @property
    def answers(self) -> int:
        """Count the answers of this conversation so far, given again or new."""
        return self.reused + self._written - self.found

    def keep(self) -> bool:
        """Write down the answers that came since the last call, and give none of them again.

        Returns:
            Whether there was one, that is, whether anything was sent.

        Raises:
            CassetteError: it could not be written.
        """
        data, first = self._cassette.data, self._written
        self.difference = self._difference() if self.found == first < len(data) else ""
        for index in range(first, len(data)):
            self._journal.append(_entry(*data[index]))
            self._cassette.play_counts[index] += 1
        self._written = len(data)
        return len(data) > first

    def _difference(self) -> str:
        """Compare the first request that was sent with the first that was kept and not met."""
        played = self._cassette.play_counts
        unmet = next((at for at in range(self.found) if not played[at]), None)
        if unmet is None:
            return ""
        kept, sent = (self._cassette.data[at][0] for at in (unmet, self.found))
        return explain_miss(_value(sent), [_value(kept)]).summary

    def finish(self) -> None:
        """Write the cassette, without answers that fitted no request, and delete the journal."""
        from vcr.serialize import serialize

        played = self._cassette.play_counts
        used = [pair for index, pair in enumerate(self._cassette.data) if played[index]]
        pairs = {"requests": [pair[0] for pair in used], "responses": [pair[1] for pair in used]}
        _replace(self._path, serialize(pairs, _serializer(self._path)))
        self._journal.discard()


@contextmanager
def resumable_recorder(path: Path) -> Iterator[KeptRecording]:
    """Record and write down what is kept at once; what a process before kept is answered from disk.

    The cassette is written if the block succeeds. After a kill or an error the same requests, sent
    in the same order, are answered from what was kept, each once, and only the others are sent.

    Raises:
        CassetteError: what was kept cannot be read, or the cassette is there already.
    """
    if path.exists():
        raise CassetteError(f"{path}: recorded already; delete it or give another --out")
    journal = CassetteJournal(path)
    with _cassette(
        path,
        record_mode="new_episodes",
        persister=_Loaded(journal.load()),
        allow_playback_repeats=False,
        record_on_exception=False,
    ) as cassette:
        recording = KeptRecording(cassette, journal, path)
        yield recording
        recording.finish()


@contextmanager
def _cassette(path: Path, *, record_mode: str, **settings: Any) -> Iterator["Cassette"]:
    import vcr

    machine = vcr.VCR(
        decode_compressed_response=True,
        before_record_request=clean_request,
        before_record_response=clean_response,
    )
    machine.register_serializer("ours", _serializer(path))
    machine.register_matcher("digest", _same_digest)
    with machine.use_cassette(
        path,
        serializer="ours",
        match_on=("method", "path", "digest"),
        record_mode=vcr.mode(record_mode),
        **settings,
    ) as cassette:
        yield cassette


def _same_digest(first: "Request", second: "Request") -> bool:
    return bool(first.headers[DIGEST_HEADER] == second.headers[DIGEST_HEADER])


def _refuse_unrecorded(cassette: "Cassette", path: Path) -> None:
    """Make the cassette raise our error where vcrpy would say that nothing matched."""
    is_playable = cassette.can_play_response_for

    def checked(request: "Request") -> bool:
        return bool(is_playable(request)) or _raise_unrecorded(cassette, path, request)

    cassette.can_play_response_for = checked


def _raise_unrecorded(cassette: "Cassette", path: Path, request: "Request") -> NoReturn:
    sent = clean_request(copy.deepcopy(request))
    recorded = [item for item in cassette.requests if (item.method, item.path) == _place(sent)]
    miss = explain_miss(_value(sent), [_value(item) for item in recorded])
    raise UnrecordedRequestError(
        f"{path}: no recorded answer to {sent.method} {sent.path}; {miss.summary}", miss.diff
    )


def _place(request: "Request") -> tuple[str, str]:
    return request.method, request.path


def _value(request: "Request") -> Any:
    return request_value({"body": request.body})


def _entry(request: "Request", response: dict[str, Any]) -> dict[str, Any]:
    """Return an interaction as vcrpy's serializers get it."""
    from vcr.serialize import serialize

    pair = {"requests": [request], "responses": [copy.deepcopy(response)]}
    entry: dict[str, Any] = serialize(pair, _AsTheyAre)["interactions"][0]
    return entry


class _AsTheyAre:
    """A serializer between vcrpy's objects and dicts, without text."""

    @staticmethod
    def serialize(data: dict[str, Any]) -> dict[str, Any]:
        return data

    @staticmethod
    def deserialize(data: dict[str, Any]) -> dict[str, Any]:
        return data


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A persister that loads what a journal holds and leaves writing to `KeptRecording`."""

    entries: list[dict[str, Any]]

    def load_cassette(self, path: str, serializer: object) -> Any:
        from vcr.persisters.filesystem import CassetteNotFoundError
        from vcr.serialize import deserialize

        if not self.entries:
            raise CassetteNotFoundError
        return deserialize({"interactions": self.entries}, _AsTheyAre)

    def save_cassette(self, path: str, cassette_dict: object, serializer: object) -> None:
        """Write nothing."""


@dataclass(frozen=True, slots=True)
class _Files:
    """vcrpy's persister, except that it can start afresh and never leaves half a file."""

    can_load: bool

    def load_cassette(self, path: str, serializer: object) -> Any:
        from vcr.persisters.filesystem import CassetteNotFoundError
        from vcr.serialize import deserialize

        if not self.can_load or not Path(path).exists():
            raise CassetteNotFoundError
        return deserialize(Path(path).read_bytes().decode("utf-8-sig"), serializer)

    def save_cassette(self, path: str, cassette_dict: object, serializer: object) -> None:
        from vcr.serialize import serialize

        _replace(Path(path), serialize(cassette_dict, serializer))


def _replace(path: Path, text: str) -> None:
    """Write ASCII with the same line ends on every system, all of it or nothing."""
    partial_file = path.with_name(f"{path.name}.partial")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial_file.write_text(text, "ascii", newline="\n")
    partial_file.replace(path)


@dataclass(frozen=True, slots=True)
class _Serializer:
    """Writes one layout and reads any."""

    serialize: Callable[[Mapping[str, Any]], str]

    @staticmethod
    def deserialize(text: str) -> dict[str, Any]:
        data = parse_cassette(Path("cassette"), text)
        return cassette_layout.deserialize(text) if cassette_layout.is_compact(data) else data


def _serializer(path: Path) -> _Serializer:
    is_yaml = path.suffix in YAML_SUFFIXES
    return _Serializer(dump_yaml if is_yaml else cassette_layout.serialize)
