"""`ContextManager`: what an agent calls before each request, over its own list of messages."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from compaction.history import History, View
from compaction.llm import ChatModel, Steps, Usage, adrive, drive
from compaction.messages import INSTRUCTION_ROLES, Message, Messages
from compaction.session_entries import message_of
from compaction.store import FolderStore, MemoryStore, Store
from compaction.strategy import CompactionEvent, Context
from compaction.systems.my_pi_agent_layers import RecordChars, SummaryCache
from compaction.systems.my_pi_agent_pipeline import CompactionInfo, PiCompactor
from compaction.systems.my_pi_agent_strategy import MyPiAgent
from compaction.tokens import total_of


class ContextManager:
    """Turns an agent's messages into the view to send; the messages are never changed.

    The list given to `prepare` is the whole history each time, usually a little longer than the
    time before. After `prepare`, `pending_compaction` holds what a summary amounted to, if one was
    made, and `events` what was done or failed.
    """

    def __init__(
        self,
        *,
        budget: int,
        llm: ChatModel,
        keep_recent_tokens: int | None = None,
        results_dir: Path | None = None,
        settings: MyPiAgent | None = None,
    ) -> None:
        """Set up without I/O.

        Args:
            budget: Tokens; a summary is made above 80 % of it.
            llm: Writes the summaries.
            keep_recent_tokens: What the tail keeps at least; None is a quarter of the budget.
            results_dir: Where large results go; None leaves them in the view (L3 off).
            settings: All other parameters.
        """
        chosen = replace(
            settings or MyPiAgent(), context_budget=budget, keep_recent_tokens=keep_recent_tokens
        )
        self._settings = chosen if results_dir else replace(chosen, offload_max_chars=None)
        self._llm = llm
        store: Store = FolderStore(results_dir) if results_dir else MemoryStore()
        self._context = Context(counter=RecordChars(), store=store)
        self._restored: tuple[SummaryCache, Messages] | None = None
        self.reset()

    @property
    def pending_compaction(self) -> CompactionInfo | None:
        """What the last call summarized; the next call clears it."""
        return self._compactor.pending_compaction

    def prepare(self, messages: Sequence[Message]) -> list[Message]:
        """Return the view to send for `messages`; at most one model call."""
        return self._taken(drive(self._steps(messages), self._llm))

    async def aprepare(self, messages: Sequence[Message]) -> list[Message]:
        """Do what `prepare` does, awaiting the model."""
        return self._taken(await adrive(self._steps(messages), self._llm))

    def force_compact(
        self, messages: Sequence[Message], *, focus: str | None = None
    ) -> list[Message]:
        """Summarize now whatever the estimate says, if there is a place to cut."""
        return self._taken(drive(self._steps(messages, manual=True, focus=focus), self._llm))

    async def aforce_compact(
        self, messages: Sequence[Message], *, focus: str | None = None
    ) -> list[Message]:
        """Do what `force_compact` does, awaiting the model."""
        steps = self._steps(messages, manual=True, focus=focus)
        return self._taken(await adrive(steps, self._llm))

    def record_usage(self, usage: Usage | Mapping[str, object] | None) -> None:
        """Anchor the estimate on what the provider counted for the last view.

        Takes the API's dict too, of which `prompt_tokens` counts; None changes nothing.
        """
        if isinstance(usage, Mapping):
            tokens = usage.get("prompt_tokens")
            usage = Usage(tokens, 0) if isinstance(tokens, int) else None
        if usage is not None:
            self._compactor.record_usage(usage)

    def restore_cache(
        self,
        summary: str,
        covered_count: int,
        retained_tail: Sequence[Message | Mapping[str, object]],
    ) -> None:
        """Go on from a summary made before; the next `prepare` checks that it fits the messages."""
        tail = tuple(one if isinstance(one, Message) else message_of(one) for one in retained_tail)
        self._compactor.cache = None
        self._restored = (SummaryCache(summary, covered_count, len(tail)), tail)

    def recover(self, handle: str) -> str | None:
        """Return the full text behind a handle in a view, or None if there is none."""
        return self._compactor.recover(handle)

    def reset(self) -> None:
        """Forget summary, ratio and messages; persisted results stay."""
        self.events: tuple[CompactionEvent, ...] = ()
        self._compactor = PiCompactor(self._settings, self._context)
        self._history = History()
        self._restored = None

    def _steps(
        self, messages: Sequence[Message], *, manual: bool = False, focus: str | None = None
    ) -> Steps[View]:
        self.events = ()
        self._follow(tuple(messages))
        if self._restored is not None:
            self._restore(*self._restored)
        return self._compactor.prepare(self._history, manual=manual, focus=focus)

    def _taken(self, view: View) -> list[Message]:
        self.events += view.events
        return list(view.messages)

    def _follow(self, messages: Messages) -> None:
        """Take in the messages; a summary of others than these is forgotten."""
        known = self._history.messages()
        if messages[: len(known)] == known:
            self._history = self._history.extended(messages[len(known) :])
            return
        cache = self._compactor.cache
        self._history = History(messages)
        if cache is not None:
            before, tail = known[: cache.covered], known[cache.covered :][: cache.tail_length]
            self._compactor.cache = None
            if _conversation(before) == _conversation(messages[: len(before)]):
                self._restored = (cache, tail)
            else:
                self._forgot("the messages that the summary stands for were changed")

    def _restore(self, cache: SummaryCache, tail: Messages) -> None:
        """Use a restored summary if its tail is where it says.

        A list may open with instructions that the session does not hold: both places are tried.
        """
        self._restored = None
        messages = self._history.messages()
        opening = len(messages) - len(_conversation(messages, leading=True))
        for covered in dict.fromkeys((cache.covered, cache.covered + opening)):
            found = messages[covered : covered + len(tail)]
            if 0 < covered <= len(messages) and found == tail:
                self._compactor.restore(cache._replace(covered=covered))
                return
        self._forgot("the restored summary does not fit these messages")

    def _forgot(self, reason: str) -> None:
        self.events += (CompactionEvent("restore_cache", "failed", reason=reason),)


def _conversation(messages: Messages, *, leading: bool = False) -> Messages:
    """Return the messages without instructions, or only without those at the front."""
    first = next(
        (i for i, m in enumerate(messages) if m.role not in INSTRUCTION_ROLES), len(messages)
    )
    if leading:
        return messages[first:]
    return tuple(message for message in messages[first:] if message.role not in INSTRUCTION_ROLES)


def chars_of(messages: Sequence[Message]) -> int:
    """Return the length of the JSON list of the records of `messages`."""
    return max(len("[]"), total_of(RecordChars(), messages))
