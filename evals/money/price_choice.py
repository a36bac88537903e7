"""Which prices a transcript gets: those asked for, its own model's, or stated ones."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Final, Literal

from compaction.messages import Json
from evals.money.price_list import list_price, listed_models, spellings
from evals.money.prices import PriceError, PriceVector
from evals.transcripts import Transcript

DEFAULT_MODEL: Final = "claude-sonnet-5-5"
"""What a transcript is priced as that names no model of the list. This project's choice."""

Basis = Literal["given", "file", "recorded", "default"]
"""Why a model was chosen: `--price`, the only one in the price file, the transcript, or none."""


@dataclass(frozen=True)
class Priced:
    """The prices of one transcript, and why these."""

    vector: PriceVector
    basis: Basis
    recorded_as: str | None = None
    """How the transcript names this model, if it was recorded with it."""
    others: Mapping[str, PriceVector] = field(default_factory=dict)
    """Prices of its requests to other models, as it names them: its bill is made of all."""
    file_used: bool | None = None
    """Whether any of these are from the price file; None without one."""

    @property
    def identity(self) -> Json:
        """Return what a cell's numbers depend on: all but the day and the list's version."""
        others = {name: _unchanging(vector) for name, vector in self.others.items()}
        return {
            **_unchanging(self.vector),
            "basis": self.basis,
            "recorded_as": self.recorded_as,
            **({"others": others} if others else {}),
            **({} if self.file_used is None else {"file_used": self.file_used}),
        }


def _unchanging(vector: PriceVector) -> Json:
    content = vector.to_json()
    return {key: content[key] for key in content.keys() - {"source", "as_of"}}


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


@dataclass(frozen=True)
class PriceChoice:
    """What `--price` and `--price-file` ask for."""

    model: str | None = None
    vectors: tuple[PriceVector, ...] = ()
    """From a price file."""
    as_of: str = field(default_factory=_today)
    """ISO date: list prices of that day."""

    def of(self, transcript: Transcript) -> Priced:
        """Return the prices of a transcript.

        The model given; else the one of the price file if it has one only; else the model that most
        requests of the transcript name; else `DEFAULT_MODEL`.

        Raises:
            PriceError: the model given has no price; names close ones.
        """
        keeps_an_hour = _keeps_an_hour(transcript)
        recorded_as, recorded = self._recorded(transcript, keeps_an_hour=keeps_an_hour)
        vector: PriceVector
        basis: Basis
        if self.model is not None:
            vector, basis = self._known(self.model, keeps_an_hour=keeps_an_hour), "given"
        elif len(self.vectors) == 1:
            vector, basis = self.vectors[0], "file"
        elif recorded is not None:
            vector, basis = recorded, "recorded"
        else:
            vector, basis = self._known(DEFAULT_MODEL, keeps_an_hour=keeps_an_hour), "default"
        if recorded_as is None or recorded is None or recorded.model != vector.model:
            return Priced(vector, basis, file_used=self._is_file_used(vector))
        names = (name for name in recorded_models(transcript) if name != recorded_as)
        found = {name: self._find(name, keeps_an_hour=keeps_an_hour) for name in names}
        others = {name: other for name, other in found.items() if other is not None}
        used = self._is_file_used(vector, *others.values())
        return Priced(vector, basis, recorded_as, others, used)

    def _is_file_used(self, *used: PriceVector) -> bool | None:
        return any(vector in self.vectors for vector in used) if self.vectors else None

    def given(self) -> PriceVector | None:
        """Return what the flags name by itself: `--price`, or the only model of the price file.

        Raises:
            PriceError: the model given has no price; names close ones.
        """
        if self.model is not None:
            return self._known(self.model, keeps_an_hour=False)
        return self.vectors[0] if len(self.vectors) == 1 else None

    def check(self) -> None:
        """Refuse a model without a price before anything is run.

        Raises:
            PriceError: as `of`.
        """
        if self.model is not None:
            self._known(self.model, keeps_an_hour=False)

    def _recorded(
        self, transcript: Transcript, *, keeps_an_hour: bool
    ) -> tuple[str | None, PriceVector | None]:
        """Return the model with a price that most requests name, as they name it."""
        for name in recorded_models(transcript):
            found = self._find(name, keeps_an_hour=keeps_an_hour)
            if found is not None:
                return name, found
        return None, None

    def _known(self, name: str, *, keeps_an_hour: bool) -> PriceVector:
        found = self._find(name, keeps_an_hour=keeps_an_hour)
        if found is None:
            known = {*(vector.model for vector in self.vectors), *listed_models()}
            close = get_close_matches(name.lower(), sorted(known), n=3)
            hint = f"; is it {' or '.join(close)}?" if close else "."
            raise PriceError(
                f"no price is known for model {name!r}{hint} Own prices: --price-file FILE"
            )
        return found

    def _find(self, name: str, *, keeps_an_hour: bool) -> PriceVector | None:
        own = {vector.model.lower(): vector for vector in self.vectors}
        for spelling in spellings(name):
            if spelling in own:
                return own[spelling]
        return list_price(name, self.as_of, keeps_an_hour=keeps_an_hour)


def choose_prices(model: str | None, path: Path | None) -> PriceChoice:
    """Return what `--price` and `--price-file` ask for, checked.

    Raises:
        PriceError: no such model, or a file that holds no prices.
    """
    vectors: tuple[PriceVector, ...] = ()
    if path is not None:
        from evals.money.price_files import read_price_file

        vectors = read_price_file(path)
    choice = PriceChoice(model, vectors)
    choice.check()
    return choice


def recorded_models(transcript: Transcript) -> list[str]:
    """Return the models that the requests of a transcript name, most requests first."""
    names = Counter(
        request.model
        for segment in transcript.segments
        for request in segment.requests
        if request.model
    )
    return [name for name, _ in names.most_common()]


def _keeps_an_hour(transcript: Transcript) -> bool:
    """Whether the log shows that the client asked Anthropic for the longer lifetime."""
    return any(
        request.usage is not None and request.usage.cache_write_1h_tokens > 0
        for segment in transcript.segments
        for request in segment.requests
    )
