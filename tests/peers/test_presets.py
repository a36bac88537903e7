"""Presets against the originals: the same conversations into both, the same messages kept.

Triggers are passed, because they say when a system acts, not what it does; texts are longer than
every placeholder and results come in the order of their calls, as each preset's docstring says.
"""

import asyncio
from importlib.util import find_spec

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction.history import History
from compaction.llm import ScriptedChat, drive
from compaction.messages import Message, ToolCall, messages_to_openai
from compaction.registry import make_strategy
from compaction.strategy import Context, Request
from compaction.tokens import CharCounter

pytestmark = pytest.mark.filterwarnings("ignore")
FEW = settings(max_examples=60, deadline=None)
LONG = 300
"""Characters; longer than every placeholder and summary here."""


def needs(module):
    return pytest.mark.skipif(find_spec(module) is None, reason=f"{module} is not installed")


inspect_ai = needs("inspect_ai")
langchain = needs("langchain")
pydantic_ai = needs("pydantic_ai_harness")


@st.composite
def logs(draw, *, max_calls=3):
    """One order, then rounds of calls, now and then a word of the user; it ends with a result."""
    messages = [Message("system", "s" * LONG), Message("user", "u" * LONG)]
    for round_ in range(draw(st.integers(1, 8))):
        if draw(st.integers(0, 3)) == 0:
            messages.append(Message("assistant", "a" * LONG))
            messages.append(Message("user", "u" * LONG))
        tools = draw(st.lists(st.sampled_from(["read", "grep"]), min_size=1, max_size=max_calls))
        calls = tuple(
            ToolCall(f"c{round_}.{at}", tool, '{"path": "p"}') for at, tool in enumerate(tools)
        )
        messages.append(Message("assistant", "a" * LONG, tool_calls=calls))
        messages += [
            Message("tool", "r" * draw(st.integers(LONG, 2 * LONG)), tool_call_id=call.call_id)
            for call in calls
        ]
    return tuple(messages)


def view_of(preset, parameters, messages):
    strategy = make_strategy(preset, {"trigger_tokens": 0, **parameters})
    compactor = strategy.start(Context(CharCounter()))
    model = ScriptedChat(["Short."])
    return drive(compactor.steps(History(messages), Request(0)), model)


def kept_by(preset, parameters, messages):
    """Return the indices of the messages that stand whole in the preset's view."""
    entries = view_of(preset, parameters, messages).entries
    return [entry.origin.first for entry in entries if entry.origin.kind == "whole"]


def to_langchain(messages):
    from langchain_core.messages import convert_to_messages

    raw = [{**item, "content": item.get("content") or ""} for item in messages_to_openai(messages)]
    made = convert_to_messages(raw)
    for index, message in enumerate(made):
        message.id = str(index)
    return made


def chars(messages):
    return sum(len(message.content) for message in messages)


@langchain
@FEW
@given(
    messages=logs(),
    keep=st.integers(0, 5),
    least=st.sampled_from([0, 1, 400, 900, 5_000]),
    exempt=st.sampled_from([(), ("grep",)]),
)
def test_langchain_clears_the_same_results(messages, keep, least, exempt):
    from langchain.agents.middleware import ClearToolUsesEdit

    theirs = to_langchain(messages)
    edit = ClearToolUsesEdit(trigger=0, keep=keep, clear_at_least=least, exclude_tools=exempt)
    edit.apply(theirs, count_tokens=chars)
    parameters = {
        "keep_last_results": keep,
        "stop_after_tokens": least or None,
        "exempt_tools": list(exempt),
    }

    view = view_of("langchain_clear_tool_uses", parameters, messages)

    assert [m.text for m in view.messages] == [m.content for m in theirs]


@langchain
@FEW
@given(messages=logs(), keep=st.integers(0, 4))
def test_langchain_clears_the_same_arguments(messages, keep):
    from langchain.agents.middleware import ClearToolUsesEdit

    theirs = to_langchain(messages)
    ClearToolUsesEdit(trigger=0, keep=keep, clear_tool_inputs=True).apply(
        theirs, count_tokens=chars
    )
    parameters = {"keep_last_results": keep, "clear_arguments": True}

    view = view_of("langchain_clear_tool_uses", parameters, messages)

    emptied = [[call.arguments == "{}" for call in m.tool_calls] for m in view.messages]
    assert emptied == [
        [not call["args"] for call in getattr(message, "tool_calls", ())] for message in theirs
    ]


@langchain
@FEW
@given(messages=logs(), keep=st.integers(1, 12))
def test_langchain_summarises_the_same_messages(messages, keep):
    from langchain.agents.middleware import SummarizationMiddleware
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.messages import RemoveMessage

    middleware = SummarizationMiddleware(
        model=FakeListChatModel(responses=["Short."]),
        trigger=("messages", 1),
        keep=("messages", keep),
    )
    # LangChain holds the system prompt apart.
    given_messages = to_langchain(messages)[1:]
    update = middleware.before_model({"messages": given_messages}, None)
    left = given_messages if update is None else update["messages"]
    ids = {message.id for message in given_messages}
    theirs = [int(m.id) for m in left if not isinstance(m, RemoveMessage) and m.id in ids]

    assert kept_by("langchain_summarization", {"keep_tail_messages": keep}, messages) == [
        0,
        *theirs,
    ]


def compacted_by_inspect(strategy, messages, model=None):
    from evals.peers.inspect_edit import to_inspect

    raw = messages_to_openai(messages)
    made = [to_inspect(item, index) for index, item in enumerate(raw)]
    returned, _ = asyncio.run(strategy.compact(model, made, []))
    originals = {id(message): index for index, message in enumerate(made)}
    return returned, [originals[id(m)] for m in returned if id(m) in originals]


@inspect_ai
@FEW
@given(messages=logs(), keep=st.integers(0, 5))
def test_inspect_clears_the_same_results(messages, keep):
    from inspect_ai.model import CompactionEdit

    strategy = CompactionEdit(keep_tool_uses=keep, keep_thinking_turns="all", memory=False)
    returned, theirs = compacted_by_inspect(strategy, messages)

    view = view_of("inspect_edit", {"keep_last_results": keep}, messages)

    assert [m.text for m in view.messages] == [m.text for m in returned]
    assert kept_by("inspect_edit", {"keep_last_results": keep}, messages) == theirs


@inspect_ai
@FEW
@given(messages=logs(), preserve=st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.8, 0.95, 1.0]))
def test_inspect_trims_the_same_messages(messages, preserve):
    from inspect_ai.model import CompactionTrim

    _, theirs = compacted_by_inspect(CompactionTrim(preserve=preserve, memory=False), messages)
    ours = kept_by("inspect_trim", {"keep_tail_fraction": preserve}, messages)

    # Where nothing whole would be left, ours keeps the last group.
    assert ours == theirs or (theirs == [0, 1] and ours[2:] == last_group(messages))


def last_group(messages):
    start = max(at for at, message in enumerate(messages) if message.tool_calls)
    return list(range(start, len(messages)))


@pytest.fixture(scope="module")
def vocabulary():
    """Give tiktoken the vocabulary that is installed: it would load it from the network."""
    import tiktoken.registry

    from compaction.vocabulary import load_encoding

    encoding = load_encoding()
    tiktoken.registry.ENCODINGS[encoding.name] = encoding


@inspect_ai
@pytest.mark.usefixtures("vocabulary")
@settings(max_examples=10, deadline=None)
@given(messages=logs())
def test_inspect_summarises_the_same_messages(messages):
    from inspect_ai.model import CompactionSummary, get_model

    model = get_model("mockllm/model")
    returned, theirs = compacted_by_inspect(CompactionSummary(memory=False), messages, model)

    assert kept_by("inspect_summary", {}, messages) == theirs == [0, 1]
    assert returned[-1].role == view_of("inspect_summary", {}, messages).messages[-1].role


def to_pydantic_ai(messages):
    """Return the harness' messages and, for each, the indices of ours that it stands for."""
    from pydantic_ai.messages import (
        ModelRequest,
        ModelResponse,
        SystemPromptPart,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )

    names = {call.call_id: call.name for message in messages for call in message.tool_calls}
    made, stands_for = [], []
    for index, message in enumerate(messages):
        if message.role == "assistant":
            calls = [ToolCallPart(c.name, c.arguments, c.call_id) for c in message.tool_calls]
            made.append(ModelResponse(parts=[TextPart(message.text), *calls]))
            stands_for.append([index])
            continue
        part = {
            "system": lambda text: SystemPromptPart(text),
            "user": lambda text: UserPromptPart(text),
            "tool": lambda text, id=message.tool_call_id: ToolReturnPart(names[id], text, id),
        }[message.role](message.text)
        if made and isinstance(made[-1], ModelRequest):
            made[-1].parts.append(part)
            stands_for[-1].append(index)
        else:
            made.append(ModelRequest(parts=[part]))
            stands_for.append([index])
    return made, stands_for


@pydantic_ai
@FEW
@given(messages=logs(), keep=st.integers(0, 5), exempt=st.sampled_from([(), ("grep",)]))
def test_pydantic_ai_clears_the_same_results(messages, keep, exempt):
    from pydantic_ai.messages import ToolReturnPart
    from pydantic_ai_harness.compaction import ClearToolResults

    capability = ClearToolResults(max_messages=1, keep_pairs=keep, exclude_tools=frozenset(exempt))
    made, _ = to_pydantic_ai(messages)
    returned = asyncio.run(capability.compact(made, None))
    theirs = [
        part.content
        for message in returned
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    parameters = {"keep_last_results": keep, "exempt_tools": list(exempt)}

    view = view_of("pydantic_ai_clear_tool_results", parameters, messages)

    assert [message.text for message in view.messages if message.is_result] == theirs


@pydantic_ai
@FEW
@given(messages=logs(max_calls=1), keep=st.integers(2, 12))
def test_the_sliding_window_of_pydantic_ai_keeps_the_same_messages(messages, keep):
    from pydantic_ai_harness.compaction import SlidingWindowCompaction

    made, stands_for = to_pydantic_ai(messages)
    capability = SlidingWindowCompaction(max_messages=1, keep_messages=keep)
    returned = asyncio.run(capability.compact(made, None))
    places = {id(message): index for index, message in enumerate(made)}
    theirs = [index for m in returned for index in stands_for[places[id(m)]]]

    ours = kept_by(
        "pydantic_ai_sliding_window",
        {"keep_tail_messages": keep, "trigger_messages": None},
        messages,
    )

    assert ours == theirs
