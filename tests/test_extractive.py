"""The stand-in for a model: what it keeps, that it fits, and that it cannot invent."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compaction.contract.generators import conversations
from compaction.extractive import DEFAULT_OUTPUT_TOKENS, ExtractiveModel, size_quarters
from compaction.extracts import kind_of, specificity
from compaction.llm import ModelCall
from compaction.messages import Message, ToolCall
from compaction.prompts import SUMMARY_SECTIONS

PI_SECTIONS = (
    "## Goal",
    "## Constraints & Preferences",
    "## Progress",
    "### Done",
    "### In Progress",
    "### Blocked",
    "## Key Decisions",
    "## Next Steps",
    "## Critical Context",
)
FILLER = tuple(
    Message("tool", "\n".join(f"plain prose without anything to keep {n}" for n in range(60)))
    for _ in range(3)
)


def summary_of(*subject, **options):
    call = ModelCall(messages=(), subject=(*subject, *FILLER), **options)
    return ExtractiveModel().complete(call).text


def section(summary, heading):
    """Return the lines under a heading."""
    lines = summary.split("\n")
    start = lines.index(heading) + 1
    end = next((at for at in range(start, len(lines)) if lines[at].startswith("#")), len(lines))
    return lines[start:end]


texts = st.lists(
    st.sampled_from(
        [
            "Fix src/auth.py, it must not change the API.",
            "端口必须是 8443，不要修改 tests/",
            "Error: no such table: users",
            "## Goal",
            "# Overview",
            "timeout = 30",
            "  indented\tline  ",
            "I decided to use uv because it is faster.",
            "Next: add a test.",
            "x" * 5_000,
            "a b " * 400,
            "😀" * 50,
            "",
            "\u2028\x0b",
        ]
    ),
    max_size=8,
).map("\n".join)


@st.composite
def calls(draw):
    subject = draw(
        st.lists(
            st.tuples(st.sampled_from(["system", "user", "assistant", "tool"]), texts).map(
                lambda pair: Message(pair[0], pair[1])
            ),
            max_size=6,
        )
    )
    return ModelCall(
        messages=(),
        subject=tuple(subject) + draw(conversations(max_turns=1, max_rounds=2)),
        previous_summary=draw(st.none() | texts),
        sections=draw(st.sampled_from([(), PI_SECTIONS, ("goal", "key_facts")])),
        focus=draw(st.none() | st.just("auth.py")),
        max_output_tokens=draw(st.none() | st.integers(1, 300)),
    )


@given(call=calls())
def test_every_line_is_a_heading_or_part_of_a_line_that_was_given(call):
    sources = [message.text for message in call.subject]
    sources += [c.arguments for message in call.subject for c in message.tool_calls]
    sources.append(call.previous_summary or "")
    headings = call.sections or SUMMARY_SECTIONS

    for line in ExtractiveModel().complete(call).text.split("\n"):
        assert line in headings or any(line in source for source in sources)


@given(call=calls())
def test_a_summary_fits_its_limit_and_is_the_same_each_time(call):
    text = ExtractiveModel().complete(call).text
    limit = call.max_output_tokens or DEFAULT_OUTPUT_TOKENS

    assert size_quarters(text) <= 4 * limit
    assert ExtractiveModel().complete(call).text == text


@pytest.mark.parametrize("max_output_tokens", range(1, 120, 3))
def test_headings_count_in_the_limit(max_output_tokens):
    facts = "\n".join(f"setting_{n} = {n}" for n in range(50))
    subject = (Message("user", "Do it, but never twice."), Message("assistant", facts))
    summary = summary_of(*subject, sections=PI_SECTIONS, max_output_tokens=max_output_tokens)

    assert size_quarters(summary) <= 4 * max_output_tokens


@example(call=ModelCall(messages=(), previous_summary="# Overview"))
@example(call=ModelCall(messages=(), previous_summary="Fix it.\n## Goal", sections=("goal",)))
@example(call=ModelCall(messages=(), subject=(Message("user", "## Goal"),)))
@given(call=calls())
def test_no_line_of_the_conversation_passes_for_a_heading(call):
    for line in ExtractiveModel().complete(call).text.split("\n"):
        assert not line.startswith("#") or line in (call.sections or SUMMARY_SECTIONS)


@given(call=calls())
def test_a_summary_is_empty_only_if_there_was_nothing(call):
    text = ExtractiveModel().complete(call).text
    given_text = any(message.text.replace("#", "").strip() for message in call.subject)

    assert bool(text.strip()) or not given_text


@given(call=calls())
def test_headings_stand_in_the_order_asked_for_and_once(call):
    lines = ExtractiveModel().complete(call).text.split("\n")
    found = [line for line in lines if line in call.sections]

    assert found == [heading for heading in call.sections if heading in found]


def test_each_kind_of_line_goes_under_its_heading():
    summary = summary_of(
        Message(
            "user", "Fix the login bug.\nYou must never change the public API.\n不要修改 tests 目录"
        ),
        Message(
            "assistant",
            "I chose a refresh token because sessions expire.\nNext: cover the refresh path.",
            tool_calls=(ToolCall("c", "read", '{"path": "src/auth.py"}'),),
        ),
        Message("tool", "ok\nValueError: bad token\nport: 8443", tool_call_id="c"),
        sections=(
            "## Goal",
            "## Constraints",
            "## Facts",
            "## Files",
            "## Errors",
            "## Decisions",
            "## Open Tasks",
        ),
    )

    assert "Fix the login bug." in section(summary, "## Goal")
    constraints = section(summary, "## Constraints")
    assert "You must never change the public API." in constraints
    assert "不要修改 tests 目录" in constraints
    assert section(summary, "## Facts") == ["port: 8443"]
    assert "src/auth.py" in section(summary, "## Files")
    assert section(summary, "## Errors") == ["ValueError: bad token"]
    assert "I chose a refresh token because sessions expire." in section(summary, "## Decisions")
    assert "Next: cover the refresh path." in section(summary, "## Open Tasks")


def test_a_heading_above_deeper_ones_holds_no_lines_itself():
    summary = summary_of(
        Message("user", "Do it."), Message("assistant", "It is finished."), sections=PI_SECTIONS
    )

    assert "## Progress" not in summary.split("\n")
    assert "It is finished." in section(summary, "### Done")


def test_lines_of_the_previous_summary_stay_under_their_heading():
    summary = summary_of(
        Message("user", "Go on."),
        previous_summary="## Goal\nShip release 2.0\n## Critical Context\nport = 99",
        sections=PI_SECTIONS,
    )

    assert "Ship release 2.0" in section(summary, "## Goal")
    assert "port = 99" in section(summary, "## Critical Context")


def test_a_long_previous_summary_leaves_room_for_what_is_new():
    old = "\n".join(f"old fact number {n} = {n * 7}" for n in range(500))
    summary = summary_of(
        Message("user", "The new port is 8443 and must stay."),
        Message("tool", "\n".join(f"new_key_{n} = {n}" for n in range(200)), tool_call_id="c"),
        previous_summary=f"## Facts\n{old}",
        sections=("## Goal", "## Facts"),
        max_output_tokens=400,
    )

    assert "The new port is 8443 and must stay." in summary
    assert any(line.startswith("new_key") for line in section(summary, "## Facts"))
    assert any(line.startswith("old fact") for line in section(summary, "## Facts"))


def test_lines_about_the_focus_go_before_all_others():
    facts = "\n".join(f"setting_{n} = {n}" for n in range(500))
    summary = summary_of(
        Message("tool", f"{facts}\nthe ledger id is LEDGER-77\n{facts}", tool_call_id="c"),
        sections=("## Facts",),
        focus="ledger",
        max_output_tokens=40,
    )

    assert "the ledger id is LEDGER-77" in summary


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("## Goal", "goal"),
        ("## Constraints & Preferences", "constraints"),
        ("### Blocked", "errors"),
        ("## Key Decisions", "decisions"),
        ("## Next Steps", "open"),
        ("## Critical Context", "facts"),
        ("### In Progress", "progress"),
        ("system_context", "system"),
        ("overview", "goal"),
        ("key_facts", "facts"),
        ("user_preferences", "constraints"),
        ("pending_tasks", "open"),
        ("open_questions", "open"),
        ("tone_context", "progress"),
        ("## Relevant Files", "files"),
        ("## 关键决策", "decisions"),
    ],
)
def test_headings_are_understood_by_their_words(heading, kind):
    assert kind_of(heading) == kind


@pytest.mark.parametrize(
    ("line", "specific"),
    [
        ("the port is set as port=8443", True),
        ("see src/auth/token.py for it", True),
        ("commit 3f2a9bc1", True),
        ("ticket ABC-1234", True),
        ("it took 350 ms", True),
        ("https://example.org/a?b=1", True),
        ("this is a sentence about nothing.", False),
        ("Hello, world", False),
        ("and so on", False),
    ],
)
def test_specific_values_are_recognized(line, specific):
    assert (specificity(line) > 0) is specific


@pytest.mark.parametrize(
    "unit", ["a", "a/", "a.b-", "1", "=: ", "\n", "0123456789abcdef ", "key=1, ", "../", "a_", "-"]
)
@pytest.mark.timing
def test_a_megabyte_of_anything_takes_seconds_at_most(unit):
    message = Message("tool", (unit * (1_000_000 // len(unit)))[:1_000_000], tool_call_id="c")
    started = time.process_time()
    ExtractiveModel().complete(ModelCall(messages=(), subject=(message,)))
    seconds = time.process_time() - started

    assert seconds < 4, f"{seconds:.1f} s"


def test_replies_claim_no_usage():
    reply = ExtractiveModel().complete(ModelCall(messages=(), subject=FILLER))

    assert (reply.usage, reply.model, reply.finish_reason) == (None, "extractive", "stop")
