"""The index of quotes finds what looking at every message would."""

import json

from hypothesis import given
from hypothesis import strategies as st

from compaction.messages import Message, ToolCall
from evals.extraction.quotes import QuoteIndex, quotable_text

PIECES = st.sampled_from(
    [
        "def",
        "export",
        "(ledger)",
        " ",
        "\n",
        "    ",
        "1",
        "12→",
        " 3|",
        "4: ",
        "_x",
        "值",
        "\t",
        "é",
        "=",
    ]
)
TEXTS = st.lists(PIECES, max_size=14).map("".join)


@st.composite
def messages(draw):
    text = draw(TEXTS)
    role = draw(st.sampled_from(("user", "assistant", "tool")))
    if role == "assistant":
        call = ToolCall("c", "edit", json.dumps({"old_string": draw(TEXTS)}))
        return Message(role, text, tool_calls=(call,))
    return Message(role, text, tool_call_id="c" if role == "tool" else None)


@given(st.lists(messages(), max_size=6), st.data())
def test_the_index_finds_what_a_scan_finds(conversation, data):
    quotes = data.draw(st.lists(TEXTS, max_size=3))
    for message in conversation:
        whole = data.draw(st.sampled_from((message.text, quotable_text(message))))
        start = data.draw(st.integers(0, len(whole)))
        quotes.append(whole[start : data.draw(st.integers(start, len(whole)))])
    before = data.draw(st.integers(0, len(conversation)))

    index = QuoteIndex(conversation, quotes)

    for quote in quotes:
        scanned = [
            at
            for at, message in enumerate(conversation[:before])
            if quote in message.text or quote in quotable_text(message)
        ]
        assert index.holders(quote, before) == scanned
