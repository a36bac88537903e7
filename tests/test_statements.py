"""Which sentences have to survive, and when another sentence keeps one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.messages import Message, ToolCall
from evals.extraction.statements import (
    MAX_CONSTRAINTS,
    constraints_of,
    instructions_in,
    is_kept_in,
    is_ticked_in,
    plans_of,
)
from tests.needs_cases import prepared, says, steps, user


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Never push to the main branch.", ["Never push to the main branch."]),
        ("Hello there. Please do not touch prod.toml. Thanks!", ["Please do not touch prod.toml."]),
        ("- only use the staging key here\n- run it", ["only use the staging key here"]),
        ("> From now on answer in French.", ["From now on answer in French."]),
        ("报告里不得出现客户姓名。先看日志。", ["报告里不得出现客户姓名。"]),
        (
            "Bitte niemals direkt in die Datenbank schreiben.",
            ["Bitte niemals direkt in die Datenbank schreiben."],
        ),
        # No instruction: nothing is told from then on, too short, code, or pasted.
        ("The build failed on the third step.", []),
        ("Never!", []),
        ("```\nassert never do this at home\n```", []),
        ("You must " + "x" * 400, []),
    ],
)
def test_instructions(text, found):
    assert [*instructions_in(text)] == found


def test_tables_and_what_programs_put_in_are_no_wishes():
    text = (
        "<local-command-caveat>Never respond to any of these messages.</local-command-caveat>\n"
        "| Missing pages | Always use --paginate for comments |\n"
        "Always answer in one short line.\n"
        "<system-reminder>You must never mention this reminder.\n</system-reminder>"
    )

    assert list(instructions_in(text)) == ["Always answer in one short line."]
    unclosed = "The <side-bar> must never be wider than 300 px."
    assert list(instructions_in(unclosed)) == [unclosed]
    assert list(instructions_in("<b>Never push to main today</b> | ok")) == [
        "<b>Never push to main today</b> | ok"
    ]


def test_constraints_are_the_users_and_counted_once_with_their_repetitions():
    rule = "Never push to the main branch."
    talk = prepared(
        user(f"Fix it. {rule}"),
        says(f"I will keep to it: {rule.upper()}"),
        user("And always run the linter first."),
        says("You must trust me on this one."),
        user(f"Again.\n{rule}"),
        says("Done."),
    )

    found = constraints_of(talk.segments[0])

    assert [(each.text, each.stated_at, each.also_at) for each in found] == [
        (rule, 0, (1, 4)),
        ("And always run the linter first.", 2, ()),
    ]


def test_a_pasted_manual_is_cut_off():
    manual = "\n".join(f"You must always do the thing number {n}." for n in range(500))

    assert len(constraints_of(prepared(user(manual), says("ok")).segments[0])) == MAX_CONSTRAINTS


RULE = "Never push anything to the main branch without my written approval."


@pytest.mark.parametrize(
    ("text", "is_kept"),
    [
        (RULE, True),
        (f"## Constraints\n- {RULE.lower()}\n- other", True),
        # 11 words; one missing is 10/11 = 0.91, two are 0.82.
        ("Never push anything to main branch without my written approval.", True),
        ("Never push anything to main branch without my approval.", False),
        ("Never push anything to the main branch.\nWithout my written approval.", True),
        ("The user cares about the main branch.", False),
        ("", False),
    ],
)
def test_a_sentence_is_kept_by_nine_of_ten_words(text, is_kept):
    assert is_kept_in(RULE, text) == is_kept


def test_chinese_is_compared_by_characters():
    assert is_kept_in("报告里不得出现客户姓名。", "约束：\n报告里不得出现客户姓名")
    assert not is_kept_in("报告里不得出现客户姓名。", "约束：\n报告里可以出现编号")


def test_words_that_repeat_must_repeat():
    assert not is_kept_in("port 1 port 2 port 3 port 4", "port 1 2 3 4 other")


WORDS = ["never", "always", "push", "the", "main", "branch", "不", "得"]


@given(st.lists(st.sampled_from(WORDS), min_size=1))
def test_every_sentence_keeps_itself(words):
    assert is_kept_in(" ".join(words), f"before.\n{' '.join(words)}\nafter.")


def call(name, **arguments):
    return Message("assistant", "", tool_calls=(ToolCall("c1", name, json.dumps(arguments)),))


@pytest.mark.parametrize(
    ("message", "items"),
    [
        (
            call("TodoWrite", todos=[
                {"content": "read the log", "status": "completed"},
                {"content": "fix the parser", "status": "in_progress"},
                {"content": "write a test", "status": "pending"},
            ]),
            ("fix the parser", "write a test"),
        ),
        (
            call(
                "update_plan",
                plan=[{"step": "a b", "status": "done"}, {"step": "c d", "status": "open"}],
            ),
            ("c d",),
        ),
        (
            says("- [x] read the log\n- [ ] fix the parser\n 2. [ ] test it"),
            ("fix the parser", "test it"),
        ),
        (call("todo", tasks=[{"title": "a", "done": False}, {"title": "b", "done": True}]), ("a",)),
    ],
)  # fmt: skip
def test_plans(message, items):
    (plan,) = plans_of([user("Go."), message])

    assert (plan.stated_at, plan.open_items) == (1, items)


@pytest.mark.parametrize(
    "message",
    [
        says("```\n- [ ] in code\n```"),
        says("see [x] and [ ] here"),
        call("search", items=[{"title": "a page"}, {"title": "another"}]),
        call("run", plan="do it"),
        Message("assistant", "", tool_calls=(ToolCall("c1", "TodoWrite", '{"todos": [broken'),)),
        Message("tool", "- [ ] from a file", tool_call_id="c1"),
    ],
)
def test_other_lists_are_no_plan(message):
    assert plans_of([message]) == ()


def test_an_item_listed_as_done_is_ticked():
    assert is_ticked_in("fix the parser now", "- [x] Fix the parser now")
    assert not is_ticked_in("fix the parser now", "- [ ] Fix the parser now")
    assert not is_ticked_in("fix the parser now", "Fix the parser now")


def test_steps_have_no_statements():
    assert constraints_of(prepared(user("Go."), *steps(2), says("x")).segments[0]) == ()
