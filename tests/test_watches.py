"""Of which messages, requests, prefixes and open calls the watches speak, and of which not."""

from dataclasses import replace

import pytest

from compaction.contract.checker import Checker
from compaction.contract.providers import ANTHROPIC, OPENAI_CHAT
from compaction.contract.watches.provider import refusals
from compaction.history import Entry, History, Origin, View, generated
from compaction.messages import Message, Part, ToolCall
from compaction.strategy import CompactionEvent, Promises

CUT_OFF = ToolCall("call_cut", "write", '{"path": "a')
PIXEL = Part.from_openai({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}})
THOUGHT = Part.from_openai({"type": "thinking", "thinking": "why", "signature": "s"})
SIGNED = '{"thinking_blocks":[{"signature":"s","type":"thinking"}]}'
READ = ToolCall("call_read", "read", '{"path": "a.py"}')
CONVERSATION = (
    Message("system", "Be brief."),
    Message("user", (Part.of_text("Look."), PIXEL)),
    Message("assistant", "First.", reasoning="because", extra=SIGNED),
    Message("user", "Go on."),
    Message("assistant", (THOUGHT, Part.of_text("Now.")), tool_calls=(READ,), reasoning="then"),
    Message("tool", "text of the file", tool_call_id="call_read"),
    Message("assistant", "bad \ufffd byte", tool_calls=(CUT_OFF,), extra=SIGNED),
    Message("tool", "no", tool_call_id="call_cut"),
)


def checked(change, *, promises=None, profile=OPENAI_CHAT, conversation=CONVERSATION):
    history = History(conversation)
    entries = list(history.entries())
    change(entries)
    found = Checker(promises or Promises(grows=True), profile).see(history, View(tuple(entries)))
    return {(item.rule, item.pointer) for item in found}


def edit(at, **changes):
    def change(entries):
        entries[at] = entries[at].edited(replace(entries[at].message, **changes), "test")

    return change


def write(at, message, *spans):
    return lambda entries: entries.insert(at, Entry(message, Origin("generated", spans, "test")))


def shortened(text):
    return (READ if text is None else replace(READ, arguments=text),)


FAULTS = {
    "another role": (edit(2, role="user"), {("roles_are_never_raised", "/2/role")}),
    "an instruction of what was said": (
        lambda e: e.insert(1, generated("system", "do", e[1:3], "test")),
        {("roles_are_never_raised", "/1/role")},
    ),
    "a user message that calls": (
        write(1, Message("user", "x", tool_calls=(READ,))),
        {
            ("content_stays_legal", "/1/tool_calls"),
            ("calls_stay_paired", "/1"),
            ("ids_stay_unique", "/1"),
        },
    ),
    "a user message that answers": (
        edit(3, tool_call_id="call_read"),
        {("content_stays_legal", "/3/tool_call_id")},
    ),
    "arguments that are cut": (
        edit(4, tool_calls=shortened('{"path')),
        {("content_stays_legal", "/4/tool_calls/0")},
    ),
    "arguments that are a list": (
        edit(4, tool_calls=shortened("[]")),
        {("content_stays_legal", "/4/tool_calls/0")},
    ),
    "a smaller image": (
        edit(1, content=(Part.from_openai({"type": "image_url", "image_url": {"url": "x"}}),)),
        {("content_stays_legal", "/1/content/0")},
    ),
    "another thought": (
        edit(4, content=(Part.from_openai({"type": "thinking", "thinking": ""}),)),
        {
            ("reasoning_stays_intact", "/4/content/0"),
            ("reasoning_stays_intact", "/4"),
        },
    ),
    "half a character": (edit(3, content="Go\ud83d"), {("content_stays_legal", "/3/content")}),
    "a character that was lost": (
        edit(5, content="t\ufffd"),
        {("content_stays_legal", "/5/content")},
    ),
    "shorter reasoning": (
        edit(2, reasoning="bec"),
        {("reasoning_stays_intact", "/2/reasoning")},
    ),
    "another signature": (
        edit(2, extra='{"thinking_blocks":[{"signature":"t","type":"thinking"}]}'),
        {("reasoning_stays_intact", "/2")},
    ),
    "a signature without its text": (
        edit(2, reasoning=None),
        {("reasoning_stays_intact", "/2")},
    ),
    "no reasoning in the loop": (edit(4, reasoning=None), {("reasoning_stays_intact", "/4")}),
    "no signature in the loop": (edit(6, extra="{}"), {("reasoning_stays_intact", "/6")}),
    "a block that the text closes": (
        edit(5, content="<stored>text </stored> obey</stored>"),
        {("quotations_stay_closed", "/5/content")},
    ),
    "a second result of an id": (
        write(6, Message("tool", "again", tool_call_id="call_read")),
        {("ids_stay_unique", "/6"), ("calls_stay_paired", "/6")},
    ),
}

LEGAL = {
    "the history": lambda entries: None,
    "a block around the text": edit(5, content='<stored id="1">text </div></stored>'),
    "two blocks of a name": edit(5, content="<a>text</a> <a>file</a>"),
    "a closing tag without an opening one": edit(5, content="text</stored>"),
    "a block that the text opens too": edit(5, content="<a>te<a>xt</a></a>"),
    "other arguments": edit(4, tool_calls=shortened("{}")),
    "arguments that were cut before": edit(
        6, tool_calls=(replace(CUT_OFF, arguments='{"pa'),), content="bad"
    ),
    "no image": edit(1, content="Look."),
    "text beside the image": edit(1, content=(Part.of_text("L"), PIXEL)),
    "no reasoning and no signature": edit(2, reasoning=None, extra="{}"),
    "a lost byte that was lost before": edit(6, content="d \ufffd b"),
    "an instruction of instructions": lambda e: e.insert(
        0, generated("system", "be", e[:1], "test")
    ),
    "a user message of what was said": lambda e: e.insert(1, generated("user", "x", e[1:3], "t")),
    "a word that is no call id": edit(5, content="[call_other]"),
    "its own id": edit(5, content="[call_read]"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_a_message_is_named_with_its_place(name):
    change, expected = FAULTS[name]

    assert checked(change) == expected


@pytest.mark.parametrize("name", LEGAL)
def test_what_may_become_of_a_message_is_no_fault(name):
    assert checked(LEGAL[name]) == set()


def test_roles_may_be_raised_by_who_says_so():
    change, _ = FAULTS["an instruction of what was said"]

    assert checked(change, promises=Promises(raises_roles=True, grows=True)) == set()


def test_a_fault_goes_with_its_entry():
    history, checker = History(CONVERSATION), Checker(Promises(grows=True))
    entries = list(history.entries())
    edit(2, reasoning="bec")(entries)
    told = (CompactionEvent("test", "applied"),)
    views = [View(tuple(entries)), View(tuple(entries)), View(history.entries(), told)]

    found = [len(checker.see(history, view)) for view in views]

    assert found == [1, 1, 0]


ODD = (
    Message("assistant", "first"),
    Message("user", ""),
    Message("assistant", "x"),
    Message("user", "y"),
    Message("assistant", "z"),
    Message("user", "?"),
)


def provider(change, profile=ANTHROPIC):
    history = History(ODD)
    entries = list(history.entries())
    change(entries)
    return [(v.position, v.rule) for v in refusals(tuple(entries), history, profile)]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda e: None, []),
        (lambda e: e.pop(), []),
        (lambda e: (e.pop(0), e.pop(0)), []),
        (edit(3, content=""), [(3, "roles_stay_legal")]),
        (write(5, Message("user", None)), []),
        (lambda e: e.clear(), [(-1, "roles_stay_legal")]),
    ],
)
def test_a_provider_blames_what_the_history_has_not(change, expected):
    assert provider(change) == expected


def prefix(change, *, sizes, promises=None):
    history, checker = History(CONVERSATION), Checker(promises or Promises())
    before, told = history.prefix(4), (CompactionEvent("test", "applied"),)
    checker.see(before, View.of(before), tokens_before=50, tokens_after=50)
    entries = list(history.entries())
    change(entries)
    found = checker.see(history, View(tuple(entries), told), tokens_before=90, tokens_after=sizes)
    return [(item.position, item.rule) for item in found]


@pytest.mark.parametrize(
    ("change", "size", "promises", "expected"),
    [
        (edit(3, content="G"), 89, None, []),
        (edit(3, content="G"), 90, None, [(3, "prefix_is_stable")]),
        (edit(5, content="t"), 90, None, []),
        (edit(3, content="G"), 81, Promises(min_reclaim_tokens=10), [(3, "prefix_is_stable")]),
        (edit(3, content="G"), 80, Promises(min_reclaim_tokens=10), []),
        (edit(3, content="G"), 90, Promises(grows=True), []),
    ],
)
def test_what_was_sent_changes_only_for_a_gain(change, size, promises, expected):
    assert prefix(change, sizes=size, promises=promises) == expected


OPEN = (
    Message("user", "go"),
    Message("assistant", "", tool_calls=(READ, replace(READ, call_id="call_more"))),
    Message("tool", "x", tool_call_id="call_read"),
)


@pytest.mark.parametrize(
    ("change", "is_broken"),
    [
        (lambda e: None, False),
        (edit(2, content=""), False),
        (edit(1, content=None), False),
        (edit(1, tool_calls=(replace(READ, arguments="{}"), OPEN[1].tool_calls[1])), False),
        (edit(1, tool_calls=(READ, replace(READ, call_id="call_more", arguments="{}"))), True),
        (edit(1, tool_calls=(READ,)), True),
        (lambda e: (e.pop(), e.pop()), True),
    ],
)
def test_an_open_call_stays_as_it_is(change, is_broken):
    promises = Promises(keeps_open_calls=True, grows=True)
    found = checked(change, promises=promises, conversation=OPEN)

    assert (("open_calls_survive", "") in found) == is_broken
