"""BFCL memory, LoCoMo and LongMemEval: conversations, and questions that become facts."""

import shutil

import pytest

from evals.facts import find_facts
from evals.importers.files import UnknownFormatError
from evals.loading import load_file
from evals.prepare import prepare
from tests.import_cases import FIXTURES, SAMPLES, expected, needs_samples, shape, unexpected

BFCL = FIXTURES / "bfcl_memory"


def test_questions_beside_a_conversation_are_asked_after_it():
    (transcript,) = load_file(BFCL / "memory_shop.conversation.jsonl")

    assert transcript.name == "shop"
    assert shape(transcript) == [(3 + 3 * 2, 3)]
    assert [m.text for m in transcript.messages[5:7]] == ["What is my order number?", "4711-A"]


def test_a_quote_is_found_around_what_it_leaves_out():
    (transcript,) = load_file(BFCL / "memory_shop.conversation.jsonl")

    age, order = transcript.facts
    assert (age["stated_at"], age["evidence"], age["needed_at"]) == (0, "My name is Mika", 0)
    assert age["values"] == [["35", "thirty five"]]
    assert (order["stated_at"], order["needed_at"]) == (2, 1)
    assert order["question"] == "What is my order number?"
    judged = {fact.id for fact in find_facts(prepare(transcript)).facts}
    assert "memory_1-shop-1" in judged


def test_a_source_that_was_never_said_gives_no_fact_and_is_reported():
    (transcript,) = load_file(BFCL / "memory_shop.conversation.jsonl")

    assert unexpected(transcript) == {}
    assert [text.split(":")[0] for text in expected(transcript)] == ["memory_2-shop-2"]


def test_a_conversation_alone_is_read_and_says_so(tmp_path):
    path = tmp_path / "memory_shop.conversation.jsonl"
    shutil.copy(BFCL / path.name, path)

    (transcript,) = load_file(path)

    assert shape(transcript) == [(3, 0)]
    assert "none beside the conversation" in expected(transcript)[0]


def test_the_layout_of_the_benchmark_itself_is_found(tmp_path):
    for name, target in (
        ("conversation", "memory_prereq_conversation/memory_shop.json"),
        ("questions", "BFCL_v4_memory.json"),
        ("answers", "possible_answer/BFCL_v4_memory.json"),
    ):
        (tmp_path / target).parent.mkdir(exist_ok=True)
        shutil.copy(BFCL / f"memory_shop.{name}.jsonl", tmp_path / target)

    (transcript,) = load_file(tmp_path / "memory_prereq_conversation" / "memory_shop.json")

    assert len(transcript.facts) == 2


@pytest.mark.parametrize("name", ["questions", "answers"])
def test_questions_or_answers_alone_are_refused_with_what_to_name(name):
    with pytest.raises(UnknownFormatError, match="name the conversation file"):
        load_file(BFCL / f"memory_shop.{name}.jsonl")


def test_locomo_turns_alternate_by_speaker_and_sessions_are_in_order_of_number():
    (transcript,) = load_file(FIXTURES / "locomo" / "flat.json")

    assert shape(transcript) == [(3 + 6, 3)]
    assert transcript.messages[0].text == "Session 1, 1:00 pm on 8 May, 2023"
    assert [m.text for m in transcript.messages if m.role == "system"][2] == "Session 10"
    assert transcript.messages[2].text == "Bob: Nice!\n[shares an image: a photo of a cat]"


def test_locomo_evidence_of_every_spelling_is_found():
    (transcript,) = load_file(FIXTURES / "locomo" / "flat.json")

    assert [(f["id"], f["stated_at"], f["values"]) for f in transcript.facts] == [
        ("qa-0", 1, [["Miso"]]),
        ("qa-1", 7, [["3"]]),
        ("qa-2", 4, [["5 km"]]),
    ]
    assert [text.split(":")[0] for text in expected(transcript)] == ["qa[3]", "qa[4]"]
    assert len(find_facts(prepare(transcript)).facts) == 3


def test_locomo_below_conversation_is_the_same_talk():
    (nested,) = load_file(FIXTURES / "locomo" / "nested.json")

    assert nested.name == "conv-9"
    assert nested.messages == load_file(FIXTURES / "locomo" / "flat.json")[0].messages


def test_longmemeval_has_a_transcript_a_question_and_its_fact_where_the_answer_is_marked():
    answered, absent = load_file(FIXTURES / "longmemeval" / "set.json")

    assert shape(answered) == [(6, 2)]
    (fact,) = answered.facts
    assert (fact["stated_at"], fact["evidence"]) == (4, "I bought a red bike.")
    assert answered.messages[3].text == "Session 2, 2023/05/02"
    assert absent.facts == ()
    assert [text.split(":")[0] for text in expected(absent)] == ["q2_abs"]


@needs_samples
@pytest.mark.parametrize(
    ("name", "turns", "questions", "facts"), [("customer", 109, 30, 28), ("student", 108, 50, 47)]
)
def test_real_sets_agree_with_their_manifest(name, turns, questions, facts):
    folder = SAMPLES / "recall_bfcl_memory"
    (transcript,) = load_file(folder / f"memory_{name}.conversation.jsonl")

    assert shape(transcript) == [(turns + 2 * questions, questions)]
    assert len(transcript.facts) == facts
    assert unexpected(transcript) == {}
