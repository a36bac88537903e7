"""Append, compact, rewind, kill, reload and restore in any order, against a model in lists."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from compaction.errors import SessionError
from compaction.llm import ScriptedChat
from compaction.messages import Message
from compaction.session import Session
from compaction.session_bridge import ContextSessionBridge
from compaction.systems.my_pi_agent import ContextManager, MyPiAgent

WIDE = MyPiAgent(max_messages=10**9)
BUDGET = 10**6


class SessionMachine(RuleBasedStateMachine):
    """The model: the path of each message, the floor, and the summaries that were made."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "s.jsonl"
        self.session = Session(self.path, sync=False)
        self.manager = self.new_manager()
        self.paths: dict[str | None, list[tuple[str, Message]]] = {None: []}
        self.current: str | None = None
        self.floor: str | None = None
        self.summary: tuple[str, int] | None = None
        self.count = 0

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    def new_manager(self) -> ContextManager:
        model = ScriptedChat(f"<summary>S{number}</summary>" for number in range(100))
        return ContextManager(budget=BUDGET, llm=model, keep_recent_tokens=40, settings=WIDE)

    @property
    def here(self) -> list[Message]:
        return [message for _, message in self.paths[self.current]]

    @initialize(with_system=st.booleans())
    def begin(self, with_system: bool) -> None:
        if with_system:
            self.add(Message("system", "You are careful."))

    def add(self, message: Message) -> None:
        entry = self.session.append(message)
        self.paths[entry.entry_id] = [*self.paths[self.current], (entry.entry_id, message)]
        self.current = entry.entry_id

    @rule(role=st.sampled_from(["user", "assistant"]), chars=st.integers(0, 400))
    def append(self, role: str, chars: int) -> None:
        self.count += 1
        self.add(Message(role, f"{self.count}:" + "é" * chars))

    @rule()
    def compact(self) -> None:
        self.manager.force_compact(self.here)
        entry = ContextSessionBridge(self.session).write_compaction(self.manager)
        if entry is None:
            assert self.manager.events[-1].outcome in ("skipped", "failed")
            return
        info = self.manager.pending_compaction
        assert info is not None
        self.summary = (info.summary, info.covered_count)
        self.floor = self.current

    @precondition(lambda self: self.current is not None)
    @rule(data=st.data())
    def rewind(self, data: st.DataObject) -> None:
        target = data.draw(st.sampled_from([one for one in self.paths if one is not None]))
        allowed = self.floor is None or self.floor in [one for one, _ in self.paths[target]]
        size = self.path.stat().st_size

        if allowed:
            self.session.rewind(target)
            self.current = target
        else:
            with pytest.raises(SessionError, match="was compacted"):
                self.session.rewind(target)
            assert self.path.stat().st_size == size

    @precondition(lambda self: self.path.exists())
    @rule(half=st.sampled_from([b"", b"{", b'{"id": "e9', b'{"id": "e9", "par\xc3', b"\0" * 30]))
    def kill_and_reload(self, half: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(half)
        torn = not self.path.read_bytes().endswith(b"\n")
        self.session = Session.load(self.path, sync=False)
        self.manager = self.new_manager()
        ContextSessionBridge(self.session).restore_cache(self.manager)
        assert (self.session.torn_line is not None) is torn

    @rule()
    def restore_elsewhere(self) -> None:
        resumed = self.new_manager()
        found = ContextSessionBridge(self.session).restore_cache(resumed)
        view = resumed.prepare(self.here)

        assert found is (self.summary is not None)
        assert resumed.events == ()
        if self.summary is None:
            assert view == self.here
            return
        text, covered = self.summary
        opening = [m for m in self.here[:1] if m.role == "system"]
        assert view[: len(opening)] == opening
        assert view[len(opening)].text.endswith(f"\n\n{text}")
        assert view[len(opening) + 1 :] == self.here[covered:]

    @invariant()
    def the_truth_is_kept(self) -> None:
        for session in (self.session, Session.load(self.path)) if self.path.exists() else ():
            assert list(session.get_full_history_messages()) == self.here
            assert session.current_id == self.current
            assert session.compaction_floor == self.floor
            state = session.get_state()
            assert state.summary == (self.summary[0] if self.summary else None)

    @invariant()
    def the_fold_is_summary_and_tail(self) -> None:
        if self.summary is None:
            return
        folded = self.session.get_state().messages
        assert (
            list(folded[-len(self.here[self.summary[1] :]) or len(folded) :])
            == (self.here[self.summary[1] :])
        )
        assert sum("Previous conversation summary:" in m.text for m in folded) == 1


TestSession = SessionMachine.TestCase


def test_a_restored_summary_is_no_event_of_the_call_that_goes_on_from_it():
    machine = SessionMachine()
    machine.begin(with_system=False)
    machine.append("assistant", 50)
    machine.append("user", 0)
    machine.compact()

    assert machine.summary == ("S0", 1)
    machine.restore_elsewhere()
    machine.teardown()
