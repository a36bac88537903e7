import asyncio
from types import MappingProxyType

import pytest

from compaction.contract.callables import as_strategy
from compaction.contract.targets import promises_of
from compaction.errors import StrategyError
from compaction.history import History
from compaction.llm import NoModel, drive
from compaction.messages import Message
from compaction.store import MemoryStore
from compaction.strategy import Context, Promises, Request
from compaction.systems.xun import Xun
from compaction.tokens import CharCounter

MESSAGES = (
    Message("system", "Be brief."),
    Message("user", "one"),
    Message("assistant", "two"),
    Message("user", "three"),
)


def views(target, *lengths, **options):
    compactor = as_strategy(target, **options).start(Context(CharCounter(), MemoryStore()))
    whole = History(MESSAGES)
    return [
        drive(compactor.steps(whole.prefix(length), Request(number)), NoModel())
        for number, length in enumerate(lengths)
    ]


def texts(view):
    return [message.text for message in view.messages]


def last_two(messages):
    return messages[-2:]


async def last_two_later(messages):
    await asyncio.sleep(0)
    return messages[-2:]


def with_context(messages, context):
    return messages[: context["request"] + 1]


def make(keep=2):
    return lambda messages: messages[-keep:]


class Remembering:
    def __init__(self):
        self.given = []

    def view(self, messages):
        self.given.append(len(messages))
        return messages[-2:]

    def recover(self, handle):
        return "original" if handle == "h" else None


class Viewing(Remembering):
    mode = "viewing"


@pytest.mark.parametrize(
    "target", [last_two, last_two_later, make, Remembering, Remembering(), Viewing]
)
def test_every_form_of_a_callable_keeps_its_last_two(target):
    (view,) = views(target, 4)

    assert texts(view) == ["two", "three"]
    assert [entry.origin.spans for entry in view.entries] == [((2, 3),), ((3, 4),)]


def test_a_callable_is_given_its_last_output_and_what_is_new():
    target = Remembering()

    views(target, 3, 4)

    assert target.given == [3, 3]


def test_one_that_declares_viewing_is_given_everything():
    target = Viewing()

    views(target, 3, 4)

    assert target.given == [3, 4]


def test_a_class_makes_one_compactor_for_each_conversation():
    strategy = as_strategy(Remembering)
    first, second = (strategy.start(Context(CharCounter(), MemoryStore())) for _ in range(2))

    assert first.target is not second.target


def test_a_function_of_two_arguments_is_given_the_context():
    assert [len(view) for view in views(with_context, 2, 4)] == [1, 2]


def test_an_async_function_works_inside_a_running_loop():
    async def inside():
        return views(last_two_later, 4)

    (view,) = asyncio.run(inside())

    assert texts(view) == ["two", "three"]


def test_what_was_removed_is_told_as_an_event():
    first, second = views(last_two, 4, 4)

    assert [(e.outcome, e.messages_removed) for e in first.events] == [("applied", 2)]
    assert second.events == ()


def test_a_strategy_is_returned_as_it_is_and_a_class_of_one_is_made():
    strategy = Xun(token_threshold=5)

    assert as_strategy(strategy) is strategy
    assert as_strategy(Xun) == Xun()


def test_what_is_not_said_is_not_promised():
    assert as_strategy(last_two).promises == Promises()
    assert as_strategy(Viewing).promises == Promises(mode="viewing", recoverable=True)


def test_promises_are_taken_from_the_attribute_or_the_argument():
    class Promising(Remembering):
        promises = MappingProxyType({"keeps_last_user": True, "recoverable": False})

    assert as_strategy(Promising).promises == Promises(keeps_last_user=True)
    given = Promises(keeps_system=True)
    assert as_strategy(Promising, promises=given).promises == given


def test_a_promise_that_nobody_knows_is_refused():
    class Promising(Remembering):
        promises = MappingProxyType({"keeps_everything": True})

    with pytest.raises(StrategyError, match="promises 'keeps_everything'; known: accounts_for_all"):
        as_strategy(Promising)


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"promises": ["keeps_system"]}, "has promises that are a list; write a dict"),
        ({"promises": {"keeps_system": 1}}, "keeps_system = 1; it must be true or false"),
        ({"mode": "views"}, "has the mode 'views'; known: rewriting, viewing"),
    ],
)
def test_what_is_declared_wrong_is_refused(attributes, said):
    with pytest.raises(StrategyError, match=said):
        as_strategy(type("Odd", (Remembering,), attributes))


def test_a_promise_of_the_command_line_is_of_its_kind():
    assert promises_of({"monotone_parameters": ["keep"]}).monotone_parameters == ("keep",)
    with pytest.raises(StrategyError, match="keep_last_results = 'x'; it must be a whole number"):
        promises_of({"keep_last_results": "x"})


def test_recover_asks_the_object_and_takes_text_only():
    compactor = as_strategy(Remembering).start(Context(CharCounter(), MemoryStore()))

    assert (compactor.recover("h"), compactor.recover("x")) == ("original", None)


def test_a_call_that_changes_its_list_is_noticed_and_changes_nothing_of_ours():
    def clear(messages):
        messages[1]["content"] = "cleared"
        return messages

    compactor = as_strategy(clear).start(Context(CharCounter(), MemoryStore()))

    drive(compactor.steps(History(MESSAGES), Request(0)), NoModel())

    assert compactor.changed_input == 1
    assert MESSAGES[1].text == "one"


def test_a_call_that_shortens_its_list_is_noticed_at_the_first_message_that_is_gone():
    def pop(messages):
        messages.pop()
        return messages

    compactor = as_strategy(pop).start(Context(CharCounter(), MemoryStore()))

    drive(compactor.steps(History(MESSAGES), Request(0)), NoModel())

    assert compactor.changed_input == 3


def test_a_change_is_remembered_when_later_calls_change_nothing():
    def clear_once(messages, context):
        if context["request"] == 0:
            messages[0]["content"] = ""
        return messages

    compactor = as_strategy(clear_once).start(Context(CharCounter(), MemoryStore()))

    for number in range(2):
        drive(compactor.steps(History(MESSAGES), Request(number)), NoModel())

    assert compactor.changed_input == 0


def raising(messages):
    raise KeyError("role")


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (raising, "f raised KeyError: 'role'"),
        (lambda messages: None, "f returned None; it must return a list of message dicts"),
        (lambda messages: "text", "f returned a str; it must return a list"),
        (lambda messages: [{"role": "x"}], "f returned a bad list: message 0: unknown role"),
        (lambda messages: [*messages, object()], "f returned a message 4 that is no JSON"),
    ],
)
def test_what_a_callable_does_wrong_is_one_line_with_its_name(target, text):
    with pytest.raises(StrategyError, match=text) as raised:
        views(target, 4, name="f")

    assert "\n" not in str(raised.value)


def test_what_cannot_be_called_is_refused():
    with pytest.raises(StrategyError, match="neither a function nor an object with view"):
        as_strategy(object(), "thing")
