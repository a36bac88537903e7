from hypothesis import example, given
from hypothesis import strategies as st

from evals.recording.cassette_misses import MAX_LINES, explain_miss


def body(*messages, **more):
    return {"model": "m", "messages": list(messages), **more}


def user(text):
    return {"role": "user", "content": text}


def calling(arguments, name="read"):
    call = {"id": "call_1", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def test_the_request_with_the_longest_equal_beginning_is_compared():
    recorded = [body(user("a")), body(user("a"), user("b"), user("c")), body(user("x"))]

    summary, diff = explain_miss(body(user("a"), user("b"), user("d")), recorded)

    assert summary == (
        "the nearest is request 2 of 3; message 2 of 3 (user) differs: 'c' became 'd'"
    )
    assert diff.splitlines() == [
        "--- recorded",
        "+++ sent",
        "@@ -1,2 +1,2 @@",
        " [user]",
        "-c",
        "+d",
    ]


def test_a_changed_role_and_changed_arguments_are_named():
    summary, _ = explain_miss(body(user("a")), [body({"role": "system", "content": "a"})])
    assert "message 0 of 1 (system became user) differs" in summary

    summary, diff = explain_miss(body(calling('{"n": 2}')), [body(calling('{"n": 1}'))])
    assert "(assistant) differs" in summary
    assert '-call call_1 read({"n": 1})' in diff.splitlines()
    assert '+call call_1 read({"n": 2})' in diff.splitlines()


def test_a_message_more_or_less_is_named_with_its_beginning():
    recorded = [body(user("a"), user("and this was said"))]

    more, _ = explain_miss(body(user("a"), user("and this was said"), user("new")), recorded)
    less, diff = explain_miss(body(user("a")), recorded)

    assert more.endswith("message 2 of 3 is new: user 'new'")
    assert less.endswith("message 1 of 1 is missing: user 'and this was said'")
    assert "-and this was said" in diff.splitlines()


def test_equal_messages_with_other_fields_name_the_fields():
    tools = [{"name": "a"}, {"name": "b"}]
    summary, diff = explain_miss(
        body(user("a"), tools=tools[:1], temperature=1), [body(user("a"), tools=tools)]
    )

    assert summary.endswith("the same 1 messages, but temperature, tools differ")
    assert [line for line in diff.splitlines()[3:] if line[0] != " "] == [
        "-temperature: null",
        "+temperature: 1",
        '-tools: {"name": "b"}',
    ]


def test_an_equal_request_is_said_to_be_answered_already():
    summary, diff = explain_miss(body(user("a")), [body(user("a"))])

    assert (summary, diff) == ("the nearest is request 1 of 1, equal but answered already", "")


def test_nothing_recorded_is_said():
    assert explain_miss(body(), []).summary == "nothing was recorded for this method and path"


def test_a_change_far_inside_a_long_line_is_seen():
    text = "x" * 50_000

    summary, diff = explain_miss(body(user(text + "b" + text)), [body(user(text + "a" + text))])

    assert "a" in summary.split("differs: ")[1].split(" became ")[0]
    changed = [line for line in diff.splitlines() if line.startswith("-x")]
    assert len(changed) == 1
    assert "a" in changed[0]
    assert len(diff) < 2_000


def test_a_long_diff_is_clipped_and_says_so():
    old, new = ("\n".join(f"{word} {n}" for n in range(500)) for word in ("old", "new"))

    diff = explain_miss(body(user(new)), [body(user(old))]).diff.splitlines()

    assert len(diff) == MAX_LINES + 1
    assert diff[-1].startswith("... ")


def test_pictures_are_shown_by_size_and_digest():
    def seen(data):
        url = {"url": f"data:image/png;base64,{data}"}
        return body({"role": "user", "content": [{"type": "image_url", "image_url": url}]})

    _, diff = explain_miss(seen("A" * 99 + "B"), [seen("A" * 100)])

    lines = [line for line in diff.splitlines() if "image/png, 100 characters of base64" in line]
    assert len(lines) == 2
    assert len(set(lines)) == 2
    assert "AAAA" not in diff


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["messages", "role", "content", "tool_calls", "x"]), inner
        )
    ),
    max_leaves=6,
)


@given(json_values, st.lists(json_values, max_size=3))
@example([{"role": None, "tool_calls": 1}], [None])
def test_whatever_is_sent_the_summary_is_one_line(sent, recorded):
    summary, _ = explain_miss(sent, recorded)

    assert summary
    assert "\n" not in summary
