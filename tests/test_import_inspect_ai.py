"""Inspect logs of both layouts against hand counts: events, attachments, errors, other agents."""

import json
import zipfile

import pytest

from compaction.errors import TranscriptError
from evals.importers.files import UnknownFormatError
from evals.loading import load_file
from tests.import_cases import (
    FIXTURES,
    SAMPLES,
    calls,
    expected,
    needs_samples,
    shape,
    unexpected,
    usage_sums,
)

LOG = FIXTURES / "inspect_ai" / "log.json"


def written(path, change):
    document = json.loads(LOG.read_text())
    change(document)
    path.write_text(json.dumps(document))
    return path


def test_model_events_are_the_requests_and_the_result_after_the_last_is_kept():
    agent, judge = load_file(LOG)

    assert shape(agent) == [(7, 2)]
    assert [r.position for r in agent.segments[0].requests] == [2, 5]
    assert agent.segments[0].requests[0].time == 1767323045
    assert agent.segments[0].requests[0].model == "gpt-test-1"
    assert calls(agent) == (3, 0)
    assert shape(judge) == [(2, 1)]
    assert (agent.session, agent.project) == ("uuid-1", "logs")
    assert judge.cluster == agent.cluster


def test_the_total_tells_whether_the_cache_is_part_of_the_input():
    agent, judge = load_file(LOG)

    assert usage_sums(agent) == (2, (100 + 30) + 160, 20 + 10, 30 + 90, 0)
    assert usage_sums(judge) == (1, 40, 2, 0, 0)


def test_attachments_stand_where_they_are_referred_to():
    agent, _ = load_file(LOG)

    assert agent.messages[0].text == "You read logs."
    assert agent.tools[0]["function"]["description"] == "Read You read logs."
    assert "://" not in agent.messages[0].text


def test_reasoning_images_parallel_calls_and_errors_are_kept():
    agent, _ = load_file(LOG)

    question, answer, _, failed = agent.messages[1:5]
    assert [part.kind for part in question.parts] == ["text", "image"]
    assert answer.reasoning == "Look at both."
    assert answer.text == "I look."
    assert [call.call_id for call in answer.tool_calls] == ["c1", "c2"]
    assert json.loads(answer.tool_calls[1].arguments) == {"path": "b.log"}
    assert failed.text == "b.log does not exist"
    assert json.loads(failed.extra) == {"is_error": True}
    assert agent.includes_reasoning


def test_a_failed_call_is_no_request_and_is_reported():
    agent, _ = load_file(LOG)

    assert unexpected(agent) == {}
    assert [text.split(":")[0] for text in expected(agent)] == [
        "samples[0].events[3]",
        "samples[0].events",
    ]


def test_an_archive_holds_the_same_samples():
    from_archive = load_file(FIXTURES / "inspect_ai" / "log.eval")

    assert [t.name for t in from_archive] == [
        "ports epoch 1",
        "ports epoch 1/2 gpt-test-1",
        "7 epoch 1",
    ]
    assert from_archive[0].digest == load_file(LOG)[0].digest


def test_a_log_without_events_has_the_usage_of_its_last_call():
    first, second = load_file(FIXTURES / "inspect_ai" / "older.json")

    assert [m.text for m in first.messages] == ["What is two and two?", "Four."]
    assert usage_sums(first) == (1, 9, 3, 0, 0)
    assert first.segments[0].requests[0].model == "old-1"
    assert first.cluster != second.cluster


def test_without_events_all_answers_are_of_the_model_of_the_log(tmp_path):
    document = json.loads((FIXTURES / "inspect_ai" / "older.json").read_text())
    document["samples"][0]["messages"] *= 2
    path = tmp_path / "log.json"
    path.write_text(json.dumps(document))

    first = load_file(path)[0]

    models = [request.model for request in first.segments[0].requests]
    assert models == [document["eval"]["model"], "old-1"]


def test_a_shrunk_input_is_a_compaction(tmp_path):
    def compact(document):
        sample = document["samples"][0]
        pool, events = sample["message_pool"], sample["events"]
        summary = {
            "role": "user",
            "content": "Summary: port 8443 was found in a.log, b.log is gone.",
        }
        answer = {"role": "assistant", "content": "Yes, 8443."}
        model = {**events[4], "input_refs": [], "input": [pool[0], summary, *pool[2:5]]}
        model["output"] = {**model["output"], "choices": [{"message": answer}]}
        events.insert(5, model)

    agent = load_file(written(tmp_path / "log.json", compact))[0]

    assert [segment.opened_by is not None for segment in agent.segments] == [False, True]
    assert agent.segments[1].opened_by.tokens_before == 160
    assert agent.segments[1].opened_by.summary.startswith("Summary: port 8443")


def test_a_reference_outside_the_pool_leaves_a_shorter_input(tmp_path):
    def damage(document):
        document["samples"][0]["events"][1]["input_refs"] = [["a", None]]

    agent = load_file(written(tmp_path / "log.json", damage))[0]

    assert "input_refs" in unexpected(agent)["samples[0].events[1]"]


def test_a_log_of_headers_only_is_refused_with_the_reason(tmp_path):
    path = written(tmp_path / "log.json", lambda document: document.pop("samples"))

    with pytest.raises(UnknownFormatError, match="without samples"):
        load_file(path)


def test_a_damaged_member_is_named(tmp_path):
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps({"eval": {}}))
        archive.writestr("samples/1_epoch_1.json", '{"id": ')

    with pytest.raises(TranscriptError, match=r"samples/1_epoch_1\.json is not usable JSON"):
        load_file(path)


@needs_samples
@pytest.mark.parametrize(
    ("name", "segments", "n_calls", "usage"),
    [
        ("browser.json", [(10, 5)], 4, (5, 15235, 281, 9088, 0)),
        ("log_images_tc.json", [(3, 1)], 0, (1, 323, 5, 0, 0)),
        ("log_message_deduplication.eval", [(12, 6)], 5, (0, 0, 0, 0, 0)),
    ],
)
def test_real_logs_agree_with_their_manifest(name, segments, n_calls, usage):
    (transcript,) = load_file(SAMPLES / "inspect_ai" / name)

    assert shape(transcript) == segments
    assert calls(transcript) == (n_calls, 0)
    assert usage_sums(transcript) == usage
    assert unexpected(transcript) == {}
    assert not any("tc://" in m.text or "attachment://" in m.text for m in transcript.messages)
