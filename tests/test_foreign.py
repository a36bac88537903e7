import os
import shutil
import time
from pathlib import Path

import pytest

from compaction.contract.invariants import Checker
from compaction.errors import StrategyError
from compaction.history import History, View
from compaction.llm import ScriptedChat, drive
from compaction.messages import Message
from compaction.strategy import Context, Promises, Request
from compaction.tokens import CharCounter
from evals import foreign
from evals.foreign import is_foreign, load_foreign
from evals.prepare import prepare
from evals.replay import replay
from evals.transcripts import Transcript, single_segment

FIXTURES = Path(__file__).with_name("fixtures") / "foreign"
GOOD, BAD = FIXTURES / "good.py", FIXTURES / "bad.py"
TEXTS = ("zero", "one", "two", "three", "four", "five")
MESSAGES = tuple(Message("user", text) for text in TEXTS)


class Conversation:
    """One conversation with somebody's code."""

    def __init__(self, spec, parameters=None, *, timeout_seconds=20.0, deadline=None, seed=0):
        self.strategy = load_foreign(spec, parameters, timeout_seconds=timeout_seconds)
        context = Context(CharCounter(), seed=seed, deadline=deadline)
        self.compactor = self.strategy.start(context)
        self.asked = 0

    def view(self, messages):
        request = Request(index=self.asked, time=1.5, model="m")
        self.asked += 1
        steps = self.compactor.steps(History(messages), request)
        return drive(steps, ScriptedChat([]))

    def texts(self, messages=MESSAGES):
        return [entry.message.text for entry in self.view(messages).entries]


def error_of(run, *arguments, **options):
    with pytest.raises(StrategyError) as caught:
        run(*arguments, **options)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_what_has_a_colon_is_somebodys_code():
    assert is_foreign("mine.py:f")
    assert not is_foreign("xun")


@pytest.mark.parametrize(
    ("name", "parameters", "expected"),
    [
        ("plain", {}, ["four", "five"]),
        ("with_context", {}, ["['model', 'request', 'seed', 'time'] 0", "five"]),
        ("with_optional_context", {}, ["7"]),
        ("asynchronous", {}, ["five"]),
        ("factory", {}, ["four", "five"]),
        ("factory_with_parameters", {}, ["five"]),
        ("factory_with_parameters", {"keep": 3}, ["three", "four", "five"]),
        ("factory_that_needs_its_parameter", {"keep": 3}, ["three", "four", "five"]),
        ("Window", {}, ["five"]),
        ("Window", {"keep": 3}, ["three", "four", "five"]),
        ("Counting", {}, ["1 of 6"]),
        ("Storing", {}, ["zero", "one", "two", "three", "four", "[h]"]),
        ("Callable", {}, ["five"]),
        ("Names.last", {}, ["five"]),
        ("an_object", {}, ["four", "five"]),
    ],
)
def test_every_form_of_code_gives_its_view(name, parameters, expected):
    assert Conversation(f"{GOOD}:{name}", parameters, seed=7).texts() == expected


def test_a_module_is_found_in_the_current_folder(tmp_path, monkeypatch):
    package = tmp_path / "their_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "inner.py").write_text("def last(messages):\n    return messages[-1:]\n")
    monkeypatch.chdir(tmp_path)

    conversation = Conversation("their_package.inner:last")

    assert conversation.texts() == ["five"]


@pytest.mark.parametrize("folder", ["evals", "reports", "compaction"])
def test_a_folder_of_theirs_with_a_name_of_ours_is_theirs(folder, tmp_path, monkeypatch):
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "__init__.py").write_text("")
    (tmp_path / folder / "inner.py").write_text("def f(messages):\n    return messages[-3:]\n")
    (tmp_path / "mine.py").write_text(f"from {folder}.inner import f\n")
    monkeypatch.chdir(tmp_path)

    for spec in ("mine.py:f", f"{folder}.inner:f", f"{tmp_path / 'mine.py'}:f"):
        assert Conversation(spec).texts() == ["three", "four", "five"]


def test_a_rewriting_function_is_called_with_what_it_returned_and_what_is_new():
    conversation = Conversation(f"{GOOD}:summarize")

    first, second = conversation.view(MESSAGES[:5]), conversation.view(MESSAGES)

    assert conversation.strategy.promises.mode == "rewriting"
    assert [entry.message.text for entry in first.entries] == ["zero", "note", "three", "four"]
    assert [entry.message.text for entry in second.entries] == ["zero", "note", "four", "five"]
    assert [entry.origin.spans for entry in second.entries] == [
        ((0, 1),),
        ((1, 3),),
        ((4, 5),),
        ((5, 6),),
    ]


def test_a_viewing_object_sees_the_whole_history_each_time_and_keeps_its_state():
    conversation = Conversation(f"{GOOD}:Counting")

    assert conversation.strategy.promises.mode == "viewing"
    assert [conversation.texts(MESSAGES[:n]) for n in (2, 5)] == [["1 of 2"], ["2 of 5"]]


def test_each_conversation_has_an_object_of_its_own():
    strategy = load_foreign(f"{GOOD}:Counting")

    seen = []
    for _ in range(2):
        compactor = strategy.start(Context(CharCounter()))
        view = drive(compactor.steps(History(MESSAGES), Request(0)), ScriptedChat([]))
        seen.append(view.messages[0].text)

    assert seen == ["1 of 6", "1 of 6"]


def test_a_change_is_told_once_and_no_change_not_at_all():
    conversation = Conversation(f"{GOOD}:summarize")

    events = [conversation.view(MESSAGES[:n]).events for n in (4, 5, 5)]

    told = [[(e.outcome, e.messages_edited, e.messages_removed) for e in each] for each in events]
    assert told == [[], [("applied", 1, 2)], []]


def test_a_note_that_stays_is_no_change():
    conversation = Conversation(f"{GOOD}:note_first")

    events = [conversation.view(MESSAGES[:n]).events for n in (2, 3, 4)]

    assert [len(each) for each in events] == [1, 0, 0]


def test_code_that_declares_recover_gives_originals_back():
    storing, plain = Conversation(f"{GOOD}:Storing"), Conversation(f"{GOOD}:plain")

    storing.view(MESSAGES)

    assert storing.strategy.promises.recoverable
    assert storing.compactor.recover("h") == "five"
    assert storing.compactor.recover("unknown") is None
    assert not plain.strategy.promises.recoverable
    assert plain.compactor.recover("h") is None


def test_a_recover_that_fails_is_an_error_and_one_that_gives_no_text_has_nothing():
    conversation = Conversation(f"{BAD}:BadRecover")

    assert conversation.compactor.recover("number") is None
    said = error_of(conversation.compactor.recover, "missing")
    assert said.endswith("raised KeyError: 'missing' (bad.py, line 110)")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("raises", "raised KeyError: 'content' (bad.py, line 13)"),
        ("raises_two_lines", "raised ValueError: first line (bad.py, line 17)"),
        (
            "raises_in_the_library",
            "raised JSONDecodeError: Expecting value: line 1 column 1 (char 0) (bad.py, line 21)",
        ),
        ("raises_later", "raised RuntimeError: later (bad.py, line 26)"),
        ("exits", "raised SystemExit: 5 (bad.py, line 30)"),
        ("stops", "raised Stop: no more (bad.py, line 118)"),
        ("interrupts", "raised KeyboardInterrupt: by hand (bad.py, line 122)"),
        ("leaves_a_generator", "raised GeneratorExit (bad.py, line 126)"),
        ("returns_none", "returned None; it must return a list of message dicts"),
        ("returns_text", "returned a str; it must return a list of message dicts"),
        ("returns_a_dict", "returned a dict; it must return a list of message dicts"),
        ("returns_no_dict", "returned a bad list: message 6: a message must be an object, got str"),
        ("returns_a_wrong_role", "returned a bad list: message 0: unknown role 'bot'; known: "),
        (
            "returns_an_object",
            "returned a message 0 that is not JSON: Object of type set is not JSON serializable",
        ),
        ("returns_no_number", "returned a message 0 that is not JSON: Out of range float values"),
    ],
)
def test_a_failing_call_is_one_line_with_the_place_and_the_next_call_is_answered(name, said):
    conversation = Conversation(f"{BAD}:{name}")

    assert f"{BAD}:{name} {said}" in error_of(conversation.view, MESSAGES)
    assert f"{BAD}:{name} {said}" in error_of(conversation.view, MESSAGES)


def test_a_process_that_dies_gives_its_exit_code_and_is_not_asked_again():
    conversation = Conversation(f"{BAD}:dies")

    assert error_of(conversation.view, MESSAGES) == f"{BAD}:dies: its process ended (exit 3)"
    assert error_of(conversation.view, MESSAGES) == f"{BAD}:dies: its process has ended"


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until_gone(pids):
    end = time.monotonic() + 10
    while any(is_running(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.02)
    return [pid for pid in pids if is_running(pid)]


@pytest.mark.slow
def test_code_that_hangs_is_stopped_at_its_deadline_with_all_that_it_started(tmp_path):
    note = tmp_path / "pids"
    conversation = Conversation(f"{BAD}:hangs", timeout_seconds=1.5)

    started = time.monotonic()
    said = error_of(conversation.view, [Message("user", str(note))])

    assert said == f"{BAD}:hangs gave no answer within 1.5 s and was stopped; raise --timeout"
    assert time.monotonic() - started < 5
    pids = [int(pid) for pid in note.read_text().split()]
    assert len(pids) == 2
    assert wait_until_gone(pids) == []
    assert "its process has ended" in error_of(conversation.view, MESSAGES)


def test_what_dead_code_has_started_is_stopped_too(tmp_path):
    note = tmp_path / "pids"
    conversation = Conversation(f"{BAD}:leaves_a_process")

    said = error_of(conversation.view, [Message("user", str(note))])

    assert said.endswith("its process ended (exit 4)")
    assert wait_until_gone([int(pid) for pid in note.read_text().split()]) == []


@pytest.mark.slow
def test_the_deadline_of_the_cell_counts_where_it_is_earlier(tmp_path):
    message = Message("user", str(tmp_path / "pids"))
    conversation = Conversation(f"{BAD}:hangs", deadline=time.monotonic() + 1.5)

    started = time.monotonic()
    said = error_of(conversation.view, [message])

    assert time.monotonic() - started < 5
    assert said.endswith(
        "and was stopped; that is all that its cell had left, raise --cell-timeout"
    )


def test_the_process_ends_with_its_conversation():
    conversation = Conversation(f"{GOOD}:plain")
    pid = conversation.compactor.worker._process.pid
    assert is_running(pid)

    del conversation

    assert wait_until_gone([pid]) == []


def test_code_that_hangs_while_it_is_imported_is_stopped(monkeypatch):
    monkeypatch.setattr(foreign, "START_SECONDS", 0.5)

    said = error_of(load_foreign, f"{FIXTURES / 'hangs_at_import.py'}:f")

    assert said.endswith("gave no answer within 0.5 s and was stopped")


def test_a_module_that_cannot_be_imported_says_why_and_where(tmp_path):
    broken = tmp_path / "bad_syntax.py"
    shutil.copy(FIXTURES / "bad_syntax.txt", broken)

    said = [
        error_of(load_foreign, spec).removeprefix(spec)
        for spec in (
            f"{FIXTURES / 'bad_import.py'}:f",
            f"{broken}:f",
            f"{FIXTURES / 'exits_at_import.py'}:f",
            "no_such_module_anywhere:f",
            f"{tmp_path / 'nothing.py'}:f",
        )
    ]

    assert said == [
        " raised ModuleNotFoundError: No module named 'no_such_module_anywhere'"
        " (bad_import.py, line 1)",
        " raised SyntaxError: invalid syntax (bad_syntax.py, line 5)",
        " raised SystemExit: 2 (exits_at_import.py, line 3)",
        " raised ModuleNotFoundError: No module named 'no_such_module_anywhere'",
        f" cannot be loaded: there is no file {tmp_path / 'nothing.py'}",
    ]


def test_a_missing_name_lists_what_is_there():
    said = error_of(load_foreign, f"{GOOD}:compact")

    assert "has no 'compact'; it has: plain, with_context, " in said
    assert "Window" in said
    assert error_of(load_foreign, f"{GOOD}:Names.first").endswith("has no 'first'; it has: last")


@pytest.mark.parametrize(
    ("name", "parameters", "said"),
    [
        ("not_callable", {}, "is neither a function nor an object with view(messages)"),
        ("plain", {"keep": 2}, "takes no such parameters"),
        ("an_object", {"keep": 2}, "takes no such parameters"),
        ("Window", {"size": 2}, "raised TypeError: Window.__init__() got an unexpected keyword"),
    ],
)
def test_code_that_cannot_be_started_says_so(name, parameters, said):
    assert f"{GOOD}:{name} {said}" in error_of(load_foreign, f"{GOOD}:{name}", parameters)


def test_five_megabytes_come_back_whole():
    (text,) = Conversation(f"{BAD}:returns_five_megabytes").texts()

    assert text == "x" * 5_000_000


def test_noise_on_any_stream_does_not_reach_the_answer():
    assert Conversation(f"{BAD}:makes_noise").texts() == list(TEXTS)


@pytest.mark.parametrize("name", ["prints_by_every_way", "forks_and_comes_back", "forks_and_exits"])
def test_what_is_printed_and_what_a_fork_returns_is_no_answer(name):
    conversation = Conversation(f"{BAD}:{name}")

    assert [conversation.texts(), conversation.texts()] == [list(TEXTS), list(TEXTS)]


def test_a_fork_that_lives_on_does_not_hide_that_the_code_died(tmp_path):
    note = tmp_path / "pids"
    conversation = Conversation(f"{BAD}:forks_and_dies")

    said = error_of(conversation.view, [Message("user", str(note))])

    assert said.endswith("its process ended (exit 5)")
    assert wait_until_gone([int(pid) for pid in note.read_text().split()]) == []


def test_code_that_writes_into_the_pipe_is_told_so():
    said = error_of(Conversation(f"{BAD}:writes_into_the_pipe").view, MESSAGES)

    assert "wrote 'text\\n' where only its answers go, and was stopped" in said


@pytest.mark.slow
def test_a_view_that_nobody_takes_is_not_waited_for_without_end():
    conversation = Conversation(f"{BAD}:stops_reading", timeout_seconds=1)
    conversation.view(MESSAGES)
    time.sleep(0.4)

    said = error_of(conversation.view, [*MESSAGES, Message("user", "x" * 1_000_000)])

    assert said.endswith("gave no answer within 1 s and was stopped; raise --timeout")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ('f.promises = {"keeps_all": True}', "promises 'keeps_all'; known: accounts_for_all, "),
        ("f.promises = {1: True}", "promises '1'; known: accounts_for_all, "),
        ('f.promises = ["keeps_system"]', "has promises that are a list; write a dict"),
        ('f.promises = "keeps_system"', "has promises that are a str; write a dict"),
        ("f.promises = lambda: {}", "has promises that are a function; write a dict"),
        ('f.promises = {"undoable": {1}}', "has promises that are not JSON: "),
        (
            'f.promises = {"keeps_system": "yes"}',
            "promises keeps_system = 'yes'; it must be true or false",
        ),
        (
            'f.promises = {"keep_last_results": -1}',
            "promises keep_last_results = -1; it must be a whole number from 0 on",
        ),
        (
            'f.promises = {"keep_last_results": True}',
            "promises keep_last_results = True; it must be a whole number from 0 on",
        ),
        (
            'f.promises = {"counts_within_fraction": "1"}',
            "promises counts_within_fraction = '1'; it must be a number from 0 on",
        ),
        (
            'f.promises = {"monotone_parameters": "keep"}',
            "promises monotone_parameters = 'keep'; it must be a list of names of parameters",
        ),
        (
            'f.promises = {"mode": "views"}',
            "promises mode = 'views'; it must be one of rewriting, viewing",
        ),
        ('f.mode = "views"', "has the mode 'views'; known: rewriting, viewing"),
        ("f.mode = 3", "has the mode '3'; known: rewriting, viewing"),
    ],
)
def test_what_is_declared_wrong_is_named_and_not_passed_over(tmp_path, code, said):
    path = tmp_path / "mine.py"
    path.write_text(f"def f(messages):\n    return messages\n\n\n{code}\n")

    assert f"{path}:f {said}" in error_of(load_foreign, f"{path}:f")


@pytest.mark.parametrize(
    "code",
    [
        'f.promises = MappingProxyType({"keeps_system": True, "mode": "viewing"})',
        'f.promises = SimpleNamespace(keeps_system=True, mode="viewing")',
        'f.promises, f.mode = {"keeps_system": True}, "viewing"',
        'f.promises = slotted("Slotted", {"keeps_system": True, "mode": "viewing"})',
    ],
)
def test_promises_are_read_from_mappings_and_objects_of_every_kind(tmp_path, code):
    path = tmp_path / "mine.py"
    path.write_text(
        "from dataclasses import make_dataclass\n"
        "from types import MappingProxyType, SimpleNamespace\n\n\n"
        "def slotted(name, fields):\n"
        "    return make_dataclass(name, fields, slots=True)(**fields)\n\n\n"
        f"def f(messages):\n    return messages\n\n\n{code}\n"
    )

    assert load_foreign(f"{path}:f").promises == Promises(keeps_system=True, mode="viewing")


def test_code_that_reads_the_standard_input_finds_it_empty():
    conversation = Conversation(f"{BAD}:reads_the_input")

    assert [conversation.texts(), conversation.texts()] == [["''"], ["''"]]


def test_what_the_code_does_to_its_input_does_not_reach_us():
    messages = tuple(Message("user", text) for text in TEXTS)

    assert Conversation(f"{GOOD}:mutate").texts(messages) == ["after"]
    assert messages == MESSAGES


def test_half_a_character_goes_there_and_comes_back():
    conversation = Conversation(f"{BAD}:returns_a_surrogate")

    assert conversation.texts([Message("user", "\ud83d alone")]) == ["\ud83d alone", "half \udc80"]


@pytest.mark.parametrize(
    ("name", "rule"),
    [("returns_too_much", "never_grows"), ("returns_a_result_without_id", "calls_stay_paired")],
)
def test_a_bad_view_is_a_violation_and_no_crash(name, rule):
    messages = (*MESSAGES, Message("assistant", "answer"))
    strategy = load_foreign(f"{BAD}:{name}")
    checker = Checker(strategy.promises)

    (step,) = replay(prepare(Transcript("t", single_segment(messages))), strategy, ScriptedChat([]))

    found = checker.see(
        step.history,
        step.view,
        twin=step.twin,
        tokens_before=step.request.tokens,
        tokens_after=step.tokens,
    )
    assert rule in {item.rule for item in found}


def test_an_edit_of_the_file_makes_another_version(tmp_path, monkeypatch):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("from package.inner import f\n")
    inner = tmp_path / "package" / "inner.py"
    monkeypatch.chdir(tmp_path)

    versions = []
    for body in ("messages", "messages", "messages[-1:]"):
        inner.write_text(f"def f(messages):\n    return {body}\n")
        for spec in ("package/inner.py:f", "package.inner:f", "package:f"):
            strategy = load_foreign(spec)
            assert strategy.name == spec
            versions.append(strategy.version)

    assert versions[:3] == versions[3:6]
    assert not set(versions[:3]) & set(versions[6:])


def test_the_view_of_the_history_is_the_same_entries_where_nothing_was_done():
    history = History(MESSAGES[:2])
    conversation = Conversation(f"{GOOD}:plain")

    view = conversation.view(MESSAGES[:2])

    assert view == View.of(history)
    assert os.getpid() != conversation.compactor.worker._process.pid
