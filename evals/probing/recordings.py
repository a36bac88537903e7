"""Where the recorded answers about a transcript lie, and whose they are.

Those about a dataset lie in its folder and travel with it; those about a user's own logs never lie
beside the logs, but in the recordings folder, by the digest of the conversation.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from compaction.llm import ChatModel
from evals.cassettes import load_cassette
from evals.datasets_folder import ANSWERS_FOLDER, CASSETTE_NAMES, FACTS_NAME
from evals.probing.answers import TEMPERATURE, Endpoint, RecordedChat, model_folder
from evals.shell_words import path_argument, shell_word
from evals.transcripts import Transcript

OWN_RECORDINGS: Final = Path("compaction-recordings") / "answers"
SUMMARIES: Final = "summaries.json"
PROBES: Final = "probes.json"
ACTIONS: Final = "next_actions.json"
FILES: Final = (SUMMARIES, PROBES, ACTIONS)
NO_MODEL: Final = "no model"
"""Stands for the model where none was recorded."""


@dataclass(frozen=True)
class Recordings:
    """The recorded answers of one model about one transcript."""

    path: Path
    """Of the transcript; for the command that records what is missing."""
    folder: Path
    """Holds a folder for each model."""
    wanted: str | None = None
    """The model asked for. None takes the only one that there is."""

    @cached_property
    def model(self) -> str:
        found = [self.wanted] if self.wanted else recorded_models(self.folder)
        return found[0] if len(found) == 1 else NO_MODEL

    def hint(self, flags: Sequence[str] = ()) -> str:
        """Return the command that records what is missing, or says whose answers to take.

        Args:
            flags: That name whose views are meant; none are those that `probe` takes by itself.
        """
        known = recorded_models(self.folder)
        if not self.wanted and len(known) > 1:
            return f"there are answers of {', '.join(known)}: take one's with --reader"
        model = "MODEL" if self.model == NO_MODEL else shell_word(self.model)
        path = shell_word(path_argument(self.path))
        command = f"compaction-evals probe {path} --model {model} --base-url URL"
        return " ".join([command, *map(shell_word, flags)])

    def chat(
        self, file: str, *, temperature: float = TEMPERATURE, live: ChatModel | None = None
    ) -> RecordedChat:
        """Return what answers from one file; what is missing is asked of `live`."""
        path = self.folder / model_folder(self.model) / file
        return RecordedChat(path, Endpoint(self.model, temperature), live, self.hint())

    def digest(self, *files: str) -> str:
        """Return what a cell depends on: the model and the bytes of its answers."""
        content = hashlib.sha256(self.model.encode())
        for file in files:
            path = self.folder / model_folder(self.model) / file
            content.update(file.encode() + (path.read_bytes() if path.is_file() else b""))
        return content.hexdigest()


def recordings_of(
    path: Path, transcript: Transcript, model: str | None = None, own: Path = OWN_RECORDINGS
) -> Recordings:
    """Return the recordings about a transcript that was read from `path`."""
    is_dataset = path.name in CASSETTE_NAMES and path.with_name(FACTS_NAME).is_file()
    folder = path.with_name(ANSWERS_FOLDER) if is_dataset else own / transcript.digest[-16:]
    return Recordings(path, folder, model)


def recorded_models(folder: Path) -> list[str]:
    """Return the models with recorded answers, by the names that they were asked by; sorted."""
    names = set()
    for file in sorted(folder.glob("*/*.json")):
        if file.name in FILES:
            body = load_cassette(file)[0].request_body
            if isinstance(body, dict) and isinstance(body.get("model"), str):
                names.add(body["model"])
    return sorted(names)
