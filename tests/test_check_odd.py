"""Odd code under `check`: whatever it does is a finding or one line, never a way out."""

import json
from xml.etree import ElementTree

import pytest

from compaction.contract.callables import as_strategy
from compaction.contract.search import Plan, search
from compaction.contract.suite import check_conversation
from compaction.contract.targets import Given, Target
from compaction.errors import StrategyError
from compaction.messages import Message
from compaction.strategy import Promises
from evals.check_reports import junit, sarif
from tests.broken_compactors import ask_for, result

ROUNDS = (
    Message("user", "go"),
    ask_for(1),
    result(1, "first " * 30),
    Message("assistant", "Done."),
)


def broken_by(function, messages=ROUNDS):
    return check_conversation(as_strategy(function, "odd"), messages).broken


def returns_none(messages):
    return None


def is_a_generator(messages):
    yield from messages


def returns_text(messages):
    return "hello"


def returns_numbers(messages):
    return [1, 2]


def makes_up_a_role(messages):
    return [{"role": "robot", "content": "x"}]


def returns_no_json(messages):
    return [*messages, {"role": "user", "content": "x", "seen": {1, 2}}]


def asks_for_more(messages, *, keep):
    return messages


def calls_itself(messages):
    return calls_itself(messages)


def leaves_the_process(messages):
    raise SystemExit(3)


@pytest.mark.parametrize(
    "function",
    [
        returns_none,
        is_a_generator,
        returns_text,
        returns_numbers,
        makes_up_a_role,
        returns_no_json,
        asks_for_more,
        calls_itself,
        leaves_the_process,
    ],
)
def test_what_gives_no_list_of_messages_has_no_answer(function):
    assert broken_by(function) == {"every_input_is_answered"}


class Tires:
    """Is good for some calls, then raises at each."""

    def __init__(self, good_calls, error):
        self.left, self.error = good_calls, error

    def __call__(self, messages):
        self.left -= 1
        if self.left < 0:
            raise self.error
        return messages


class Stop(BaseException):
    """Not an Exception."""


def test_what_a_call_raised_is_said_once_with_its_text():
    def stops(messages):
        raise Stop("no more")

    (found,) = check_conversation(as_strategy(stops, "odd"), ROUNDS).violations

    assert found.violation.explanation == (
        "a valid conversation was not answered: odd raised Stop: no more"
    )


def test_a_module_that_stops_while_it_is_imported_is_one_line(tmp_path):
    (tmp_path / "stops.py").write_text("class Stop(BaseException): pass\n\nraise Stop('here')\n")

    with pytest.raises(StrategyError, match=r"stops.py:f cannot be imported: Stop: here"):
        Target("stops.py:f", folder=tmp_path).found()


def test_a_call_that_raises_late_is_found_as_one_that_raises_at_once():
    tireless = Tires(10_000, KeyError())
    assert broken_by(lambda messages: tireless(messages)) == frozenset()
    calls = 10_000 - tireless.left

    for good_calls in range(0, calls, 3):
        for error in (KeyError("role"), SystemExit(3), Stop("no more")):
            tires = Tires(good_calls, error)
            assert broken_by(lambda messages, t=tires: t(messages)) == {"every_input_is_answered"}


def test_a_late_error_of_any_kind_does_not_end_the_search():
    tires = Tires(7, RuntimeError("the 7th"))

    outcome = search(Given(as_strategy(lambda messages: tires(messages))), Plan(examples=3))

    assert outcome.broken["every_input_is_answered"].finding.violation.explanation.endswith(
        "raised RuntimeError: the 7th"
    )


def test_what_changes_its_input_is_told_so_even_if_it_returns_that():
    def blanks(messages):
        for message in messages:
            message["content"] = ""
        return messages

    def empties(messages):
        kept = list(messages)
        messages.clear()
        return kept

    assert "input_is_not_changed" in broken_by(blanks)
    assert broken_by(empties) == {"input_is_not_changed"}


def test_new_ids_for_calls_and_results_are_found_together_and_alone():
    def renamed(messages, *, calls):
        return [
            {
                **message,
                **({"tool_call_id": "new"} if "tool_call_id" in message else {}),
                **(
                    {"tool_calls": [{**call, "id": "new"} for call in message["tool_calls"]]}
                    if calls and "tool_calls" in message
                    else {}
                ),
            }
            for message in messages
        ]

    assert "calls_stay_paired" in broken_by(lambda messages: renamed(messages, calls=False))
    assert "ids_stay_unique" in broken_by(lambda messages: renamed(messages, calls=True))


def test_a_coroutine_is_awaited():
    async def last_one(messages):
        return messages[-1:]

    assert "calls_stay_paired" in broken_by(last_one, ROUNDS[:3])


@pytest.mark.slow
def test_what_fails_on_chinese_text_only_is_found_and_shrunk_to_it():
    def forgets(messages):
        last = max((at for at, m in enumerate(messages) if m["role"] == "user"), default=None)
        if last is None or "结" not in str(messages[last]["content"]):
            return messages
        return messages[:last] + messages[last + 1 :]

    strategy = as_strategy(forgets, promises=Promises(keeps_last_user=True))
    outcome = search(Given(strategy), Plan(examples=20, seed=3))

    (message,) = outcome.broken["last_user_is_kept"].messages
    assert (message.role, "结" in message.text) == ("user", True)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def odd(*, messages): return messages", "missing 1 required keyword-only argument"),
        (
            "class odd:\n    def __init__(self, keep): ...\n    def view(self, m): return m",
            "missing 1 required positional argument: 'keep'",
        ),
        ("odd = 5", "is neither a function nor an object with view"),
        ("def odd(): return 5", "is neither a function nor an object with view"),
        ("raise SystemExit(0)", "cannot be imported: SystemExit: 0"),
        ("def odd(m)\n    return m", "cannot be imported: SyntaxError"),
    ],
)
def test_what_cannot_compact_at_all_is_an_error_before_anything_is_checked(tmp_path, code, message):
    (tmp_path / "odd.py").write_text(code)

    with pytest.raises(StrategyError, match=message):
        search(Target("odd.py:odd", folder=tmp_path), Plan(examples=1))


def test_reports_hold_whatever_an_error_says(tmp_path):
    (tmp_path / "odd.py").write_text(
        "def odd(messages):\n    raise ValueError('\\x1b[31m \\uffff \\ud800 <&> \\x00')"
    )
    target = Target("odd.py:odd", folder=tmp_path)
    outcome = search(target, Plan(examples=1))

    suite = ElementTree.fromstring(junit(target, outcome, tmp_path).encode())
    log = json.loads(sarif(target, outcome, tmp_path).encode())

    assert "<&>" in suite.find(".//failure").get("message")
    assert "<&>" in log["runs"][0]["results"][0]["message"]["text"]
