"""Where the recorded answers about a transcript lie, and whose they are.

Those about a dataset lie in its folder and travel with it; those about a user's own logs never lie
beside the logs, but in the recordings folder, by the digest of the conversation.
"""

from pathlib import Path
from typing import Final

from compaction.llm import ChatModel
from evals.answers import TEMPERATURE, Endpoint, RecordedChat, model_folder
from evals.cassettes import load_cassette
from evals.datasets_folder import ANSWERS_FOLDER, CASSETTE_NAMES, FACTS_NAME
from evals.transcripts import Transcript

OWN_RECORDINGS: Final = Path("compaction-recordings") / "answers"
SUMMARIES: Final = "summaries.json"
PROBES: Final = "probes.json"
ACTIONS: Final = "next_actions.json"
FILES: Final = (SUMMARIES, PROBES, ACTIONS)


def answers_folder(path: Path, transcript: Transcript, own: Path = OWN_RECORDINGS) -> Path:
    """Return the folder that holds a folder for each model asked about a transcript."""
    is_dataset = path.name in CASSETTE_NAMES and path.with_name(FACTS_NAME).is_file()
    return path.with_name(ANSWERS_FOLDER) if is_dataset else own / transcript.digest[-16:]


def recorded_models(folder: Path) -> list[str]:
    """Return the models with recorded answers, by the names that they were asked by; sorted."""
    names = set()
    for file in sorted(folder.glob("*/*.json")):
        if file.name in FILES:
            body = load_cassette(file)[0].request_body
            if isinstance(body, dict) and isinstance(body.get("model"), str):
                names.add(body["model"])
    return sorted(names)


def recorded_chat(
    folder: Path,
    file: str,
    model: str,
    *,
    live: ChatModel | None = None,
    temperature: float = TEMPERATURE,
    hint: str = "",
) -> RecordedChat:
    """Return what answers from one file of one model."""
    path = folder / model_folder(model) / file
    return RecordedChat(path, Endpoint(model, temperature), live, hint)
