import json

import pytest

from compaction.errors import TranscriptError
from evals.dataset_summaries import summarise

CARD = """# Data card: talk

One talk, in
two lines.

Not this.

| | |
|---|---|
| licence | CC0, of course |

- **The agent's turns are authored.** Yes.
"""


def write_dataset(folder, usages, card=CARD):
    folder.mkdir()
    interactions = [
        {
            "request": {"method": "POST", "uri": "u", "body": "{}"},
            "response": {"status": {"code": 200}, "body": {"string": json.dumps(usage)}},
        }
        for usage in usages
    ]
    (folder / "cassette.json").write_text(json.dumps({"interactions": interactions}))
    (folder / "facts.json").write_text("[{}, {}, {}]")
    if card is not None:
        (folder / "README.md").write_text(card)
    return folder


def test_figures_are_counted_and_words_quoted_from_the_card(tmp_path):
    usages = [{"usage": {"prompt_tokens": n}} for n in (10, 1234, 20)]

    summary = summarise(write_dataset(tmp_path / "talk", usages))

    assert (summary.name, summary.about) == ("talk", "One talk, in two lines.")
    assert (summary.requests, summary.peak_tokens, summary.facts) == (3, 1234, 3)
    assert (summary.licence, summary.turns) == ("CC0, of course", "authored")


@pytest.mark.parametrize(("requests", "is_long"), [(59, False), (60, True)])
def test_sixty_requests_are_long(tmp_path, requests, is_long):
    folder = write_dataset(tmp_path / "talk", [{"usage": {"prompt_tokens": 1}}] * requests)

    assert summarise(folder).is_long is is_long


def test_what_no_card_and_no_usage_say_is_not_invented(tmp_path):
    summary = summarise(write_dataset(tmp_path / "talk", [{}], card=None))

    assert (summary.licence, summary.turns, summary.about) == ("not stated", "not stated", "")
    assert summary.peak_tokens == 0


def test_a_dataset_without_a_cassette_is_an_error(tmp_path):
    folder = write_dataset(tmp_path / "talk", [{}])
    (folder / "cassette.json").write_text("")

    with pytest.raises(TranscriptError, match="empty"):
        summarise(folder)
