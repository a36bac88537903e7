"""The answers that travel with the datasets: replayed offline, none of them in vain."""

import pytest

from compaction.llm import ModelCall, ModelReply
from evals.datasets_folder import ANSWERS_FOLDER, bundled_datasets, cassette_of
from evals.loading import Location, load_file
from evals.probing.answers import Endpoint, RecordedChat, model_folder
from evals.probing.ask import ProbeRequest, outlook
from evals.probing.recordings import FILES, recorded_models
from evals.results import RunFolder
from evals.settings import Setting
from evals.sweep import Plan, run_transcript

MAX_BYTES = 300_000
"""The recorded answers about one dataset: five summaries, ninety answers and judge's words, thirty
next calls, each view written down once."""
ASKED = [each for each in bundled_datasets() if (each / ANSWERS_FOLDER).is_dir()]
RELAY = next(each for each in ASKED if each.name == "short-feed-relay")
HEADINGS = Setting("summary_once", {"prompt": "headings", "at_tokens": "35%"})


@pytest.mark.parametrize("dataset", ASKED, ids=lambda each: each.name)
def test_the_recordings_stay_small(dataset):
    files = [file for file in (dataset / ANSWERS_FOLDER).rglob("*") if file.is_file()]

    assert sum(file.stat().st_size for file in files) < MAX_BYTES


@pytest.mark.parametrize("dataset", ASKED, ids=lambda each: each.name)
def test_every_recorded_answer_is_one_that_is_still_asked_for(dataset, monkeypatch):
    """A prompt, a layout or a boundary that changes makes answers unreachable: record again."""
    found: set[tuple[str, str]] = set()
    find = RecordedChat.find

    def noted(self: RecordedChat, call: ModelCall) -> ModelReply | None:
        reply = find(self, call)
        if reply is not None:
            known = next(key for key, value in self.recorded.items() if value is reply)
            found.add((self.path.name, known))
        return reply

    monkeypatch.setattr(RecordedChat, "find", noted)
    for model in recorded_models(dataset / ANSWERS_FOLDER):
        outlook(ProbeRequest(model=model, paths=(cassette_of(dataset),), judged="all"))
        folder = dataset / ANSWERS_FOLDER / model_folder(model)
        recorded = {
            (file, digest)
            for file in FILES
            if (folder / file).is_file()
            for digest in RecordedChat(folder / file, Endpoint(model)).recorded
        }
        assert recorded - found == set()


def test_a_summary_of_a_real_model_is_scored_offline_and_by_hand(tmp_path):
    """Of the eight questions that the model answers from the whole history, a summary keeps three.

    It says `relay.check`, 120 and 9451; of the frame limit it makes 1024; the others it calls
    unknown (see the cassette).
    """
    transcript = load_file(cassette_of(RELAY))[0]
    folder = RunFolder(tmp_path / "run")
    folder.create()
    plan = Plan(settings=(HEADINGS,), with_probes=True)
    location = Location(cassette_of(RELAY), 0, transcript.name)

    (row,) = run_transcript(plan, location, folder, {})

    assert row.status == "ok"
    assert row.probe_reader == "qwen2.5-coder-1.5b-instruct"
    assert (row.probes, row.probes_counted, row.probes_not_read) == (10, 8, 2)
    assert row.probe_right_fraction == pytest.approx(3 / 8)
    assert row.probe_unknown_fraction == pytest.approx(4 / 8)
    assert row.probe_wrong_fraction == pytest.approx(1 / 8)
    assert row.probe_guessed_fraction == 0.0
    assert (row.model_calls, row.model_input_tokens, row.model_output_tokens) == (1, 1122, 334)
    assert row.own_seconds > 0
    outcomes = {
        probe["fact"]: probe["compacted"] for probe in folder.sidecar(row.cell_id)["probes"]
    }
    assert outcomes["value-frame-limit"] == ["wrong"]
    assert outcomes["path-spool"] == ["unknown"]
