"""`ContextManager` as an agent uses it, alone and with a session behind it."""

import asyncio
from pathlib import Path

import pytest

from compaction.errors import ModelError, SessionError
from compaction.llm import ModelReply, ScriptedChat, Usage
from compaction.messages import Message
from compaction.session import Session
from compaction.systems.my_pi_agent import (
    ContextCompacted,
    ContextManager,
    ContextSessionBridge,
    MyPiAgent,
    estimate_tokens,
)
from tests.pi_cases import GOOD_REPLY, SUMMARY, chat, one_order, system, tool_round

WIDE = MyPiAgent(max_messages=10**9)


def manager(
    replies: list[ModelReply | str | ModelError] | None = None,
    *,
    budget: int = 3_000,
    results_dir: Path | None = None,
    settings: MyPiAgent = WIDE,
) -> tuple[ContextManager, ScriptedChat]:
    model = ScriptedChat([GOOD_REPLY] if replies is None else replies)
    context = ContextManager(budget=budget, llm=model, results_dir=results_dir, settings=settings)
    return context, model


def session_of(messages: list[Message], path: Path | None = None) -> Session:
    session = Session(path, sync=False)
    for message in messages:
        session.append(message)
    return session


def test_the_list_of_the_agent_is_never_changed() -> None:
    context, _ = manager()
    messages = chat(30)
    before = list(messages)

    view = context.prepare(messages)

    assert messages == before
    assert view[0] == messages[0]
    assert SUMMARY in view[1].text


def test_a_view_that_fits_costs_nothing() -> None:
    context, model = manager(budget=10**6)

    assert context.prepare(one_order(2)) == one_order(2)
    assert context.pending_compaction is None
    assert model.calls == []


def test_after_a_summary_only_what_is_new_is_added() -> None:
    context, model = manager()
    messages = chat(30)
    first = context.prepare(messages)

    second = context.prepare([*messages, Message("user", "More?")])

    assert second[:2] == first[:2]
    assert second[-1] == Message("user", "More?")
    assert context.pending_compaction is None
    assert len(model.calls) == 1


def test_without_a_folder_nothing_is_persisted_and_with_one_the_text_comes_back(
    tmp_path: Path,
) -> None:
    messages = [system(), Message("user", "go"), *tool_round(1, chars=25_000)]
    without, _ = manager(budget=10**6)
    within, _ = manager(budget=10**6, results_dir=tmp_path)

    assert without.prepare(messages) == messages
    assert "persisted-output" in within.prepare(messages)[-1].text
    (event,) = within.events
    assert within.recover(event.handles[0]) == messages[-1].text


def test_force_compact_summarizes_far_below_the_threshold() -> None:
    model = ScriptedChat([GOOD_REPLY])
    context = ContextManager(budget=20_000, llm=model, keep_recent_tokens=100, settings=WIDE)
    messages = chat(30)

    view = context.force_compact(messages, focus="the login")

    assert context.pending_compaction is not None
    assert SUMMARY in view[1].text
    assert context.events[-1].trigger == "manual"
    assert model.calls[0].focus == "the login"
    assert "the login" in model.calls[0].messages[1].text
    assert messages[3].text in model.calls[0].messages[1].text


def test_force_compact_with_nothing_before_the_tail_changes_nothing() -> None:
    context, model = manager()
    messages = [system(), Message("user", "Hello")]

    assert context.force_compact(messages) == messages
    assert context.events[-1].outcome == "skipped"
    assert model.calls == []


def test_usage_is_taken_as_a_value_as_the_apis_dict_or_not_at_all() -> None:
    messages = chat(12, chars=100)
    chars = estimate_tokens(messages, 1.0)

    for usage in (Usage(chars, 1), {"prompt_tokens": chars, "completion_tokens": 1}):
        context, _ = manager(budget=chars)
        context.prepare(messages)
        assert context.events == ()
        context.record_usage(usage)
        context.prepare(messages)
        assert context.events[-1].trigger.startswith(f"tokens {chars} >")
    context, _ = manager(budget=chars)
    context.prepare(messages)
    context.record_usage(None)
    context.record_usage({})
    context.prepare(messages)
    assert context.events == ()


def test_reset_forgets_the_summary() -> None:
    context, model = manager([GOOD_REPLY, GOOD_REPLY])
    context.prepare(chat(30))

    context.reset()

    assert context.pending_compaction is None
    context.prepare(chat(30))
    assert model.calls[1].previous_summary is None


def test_a_list_changed_inside_the_condensed_part_is_not_shown_the_old_summary() -> None:
    context, model = manager([GOOD_REPLY, GOOD_REPLY])
    messages = chat(30)
    context.prepare(messages)
    messages[1] = Message("user", "Something else?")

    context.prepare(messages)

    assert [event.tier for event in context.events if event.outcome == "failed"] == [
        "restore_cache"
    ]
    assert model.calls[1].previous_summary is None


def test_a_new_system_prompt_keeps_the_summary() -> None:
    context, model = manager()
    messages = chat(30)
    context.prepare(messages)
    messages[0] = Message("system", "You are terse.")

    view = context.prepare(messages)

    assert view[0] == messages[0]
    assert SUMMARY in view[1].text
    assert context.events == ()
    assert len(model.calls) == 1


def test_the_asynchronous_methods_do_the_same() -> None:
    waiting, _ = manager()
    direct, _ = manager()

    view = asyncio.run(waiting.aprepare(chat(30)))

    assert view == direct.prepare(chat(30))
    forced, model = manager()
    asyncio.run(forced.aforce_compact(chat(30)))
    assert len(model.calls) == 1


def test_a_restarted_process_goes_on_without_paying_again(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    messages = chat(30)
    session = session_of(messages, path)
    context, _ = manager()
    first = context.prepare(session.get_full_history_messages())
    ContextSessionBridge(session).write_compaction(context)

    reloaded = Session.load(path)
    resumed, model = manager([])
    found = ContextSessionBridge(reloaded).restore_cache(resumed)
    view = resumed.prepare([*reloaded.get_full_history_messages(), Message("user", "And?")])

    assert found is True
    assert view == [*first, Message("user", "And?")]
    assert model.calls == []
    assert reloaded.get_full_history_messages() == tuple(messages)


def test_a_further_summary_after_a_restart_tells_of_what_it_condenses_and_of_nothing_else() -> None:
    messages = chat(30)
    session = session_of(messages)
    context, _ = manager()
    context.prepare(messages)
    ContextSessionBridge(session).write_compaction(context)
    resumed, model = manager()
    ContextSessionBridge(session).restore_cache(resumed)

    resumed.prepare([*messages, *chat(30)[1:]])

    first, second = context.pending_compaction, resumed.pending_compaction
    assert first is not None
    assert second is not None
    assert len(model.calls) == 1
    told = [event for event in resumed.events if event.tier == "Summarize"]
    assert [event.messages_removed for event in told] == [
        second.covered_count - first.covered_count
    ]


def test_an_older_entry_with_its_snapshot_is_restored() -> None:
    messages = chat(30)
    snapshot = [
        {"role": "user", "content": messages[-6].text},
        *({"role": m.role, "content": m.content, "metadata": _metadata(m)} for m in messages[-5:]),
    ]
    context, model = manager([])

    context.restore_cache(SUMMARY, len(messages) - 6, snapshot)
    view = context.prepare(messages)

    assert SUMMARY in view[1].text
    assert view[2:] == messages[-6:]
    assert model.calls == []


def _metadata(message: Message) -> dict[str, object] | None:
    rest = {k: v for k, v in message.to_openai().items() if k not in ("role", "content")}
    return rest or None


def test_a_session_without_the_system_prompt_restores_into_a_list_with_one() -> None:
    messages = chat(30)
    session = session_of(messages[1:])
    context, _ = manager()
    first = context.prepare(messages)
    entry = ContextSessionBridge(session).write_compaction(context)

    resumed, model = manager([])
    ContextSessionBridge(session).restore_cache(resumed)

    assert entry is not None
    assert resumed.prepare(messages) == first
    assert model.calls == []


def test_a_restored_summary_of_other_messages_is_not_used_and_said_so() -> None:
    context, _ = manager([], budget=10**6)
    messages = chat(2)

    context.restore_cache(SUMMARY, 2, [Message("user", "never said")])

    assert context.prepare(messages) == messages
    assert (context.events[0].tier, context.events[0].outcome) == ("restore_cache", "failed")


def test_the_bridge_writes_a_summary_once_and_nothing_without_one() -> None:
    session = session_of(chat(30))
    bridge = ContextSessionBridge(session)
    context, _ = manager()

    assert bridge.write_compaction(context) is None
    context.prepare(session.get_full_history_messages())
    assert bridge.write_compaction(context) is not None
    assert bridge.write_compaction(context) is None
    kinds = [entry.type for entry in session.entries.values()]
    assert kinds.count("compaction") == 1


def test_the_bridge_names_a_folder_beside_the_session_file(tmp_path: Path) -> None:
    on_disk = ContextSessionBridge(Session(tmp_path / "s.jsonl"))

    assert on_disk.results_dir() == tmp_path / ".my_agent_core" / "tool-results"
    assert ContextSessionBridge(Session()).results_dir() is None


def test_the_event_carries_the_first_group_of_the_information() -> None:
    context, _ = manager()
    context.prepare(chat(30))
    info = context.pending_compaction

    assert info is not None
    assert ContextCompacted.of(info) == ContextCompacted(
        info.tokens_before, info.tokens_after, info.summarized_count
    )


def test_a_session_that_lacks_the_condensed_messages_refuses_the_summary() -> None:
    session = session_of(chat(1)[:3])
    context, _ = manager()
    context.prepare(chat(30))

    with pytest.raises(SessionError, match="covered_count must be from 1 to 3"):
        ContextSessionBridge(session).write_compaction(context)
