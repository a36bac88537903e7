"""All `view` invariants before each request: `Checker`, and what is only looked at in a check.

Like `Checker` it looks again only at what changed. The rules of a provider concern a whole request;
in a long conversation they are looked at so seldom that the work stays linear.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Final

from compaction.contract.checker import Checker
from compaction.contract.content import check_edited, check_generated, has_lost_reasoning
from compaction.contract.faults import Fault, Violation, index_of, violation
from compaction.contract.providers.profiles import Illegality, Profile, check_messages
from compaction.history import Entries, Entry, History, View, equal_prefix, exchanged
from compaction.messages import Message
from compaction.pairing import Pairing, call_key, result_key
from compaction.strategy import Promises

PROVIDER_WORK: Final = 20_000
"""Messages that the provider's rules may be asked about in any case."""
PROVIDER_WORK_PER_MESSAGE: Final = 4
SHORT_VIEW: Final = 1_000
"""Messages; a longer view that was only appended to is looked at in the end."""
_PAIRING_RULES: Final = frozenset(
    {"calls_stay_paired", "batches_stay_whole", "results_stay_adjacent", "open_calls_survive"}
)
"""Where one of these is broken, a provider would only say the same again."""
_WORD: Final = re.compile(r"[\w.:-]{6,}")


class RequestChecks:
    """Checks the views of one conversation in order."""

    short_view: Final = SHORT_VIEW

    def __init__(self, promises: Promises, profile: Profile) -> None:
        self._promises = promises
        self._profile = profile
        self._checker = Checker(promises)
        self._entries: Entries = ()
        self._pairing = Pairing()
        self._made: Counter[str] = Counter()
        """Call keys in the history, and in the view; results stand beside them as `key:result`."""
        self._shown: Counter[str] = Counter()
        self._written: dict[int, Entry] = {}
        self._faults: dict[int, list[Fault]] = {}
        self._thoughtless: dict[int, Entry] = {}
        self._pointers: dict[int, tuple[Entry, tuple[int, ...]]] = {}
        self._results_by_id: dict[str, list[int]] = {}
        self._whole: Counter[int] = Counter()
        self._provider_work = 0
        self._previous: tuple[float, float] | None = None
        """Size of the view before and of the history before."""

    def see(
        self,
        history: History,
        view: View,
        *,
        twin: View | None = None,
        history_size: float,
        view_size: float,
        recover: Callable[[str], str | None] | None = None,
    ) -> list[Violation]:
        """Return what is broken at this request; `history` extends the one before."""
        same = equal_prefix(self._entries, view.entries)
        view = View(self._entries[:same] + view.entries[same:], view.events)
        found = self._checker.see(
            history,
            view,
            unchanged=same,
            twin=twin,
            tokens_before=history_size,
            tokens_after=view_size,
            recover=recover,
        )
        self._learn(history)
        self._exchange(history, view, same)
        found += self._placed(view, history, recover)
        found += self._check_ids(view)
        found += self._check_loop(history, view)
        if self._promises.keeps_open_calls:
            found += self._check_open(history, view)
        if not self._promises.grows:
            found += self._check_prefix(view, same, history_size, view_size)
        if not any(item.rule in _PAIRING_RULES for item in found):
            found += self._check_provider(history, view, same)
        self._entries, self._previous = view.entries, (view_size, history_size)
        return found

    def _learn(self, history: History) -> None:
        for index in range(len(self._pairing), len(history)):
            message = history[index]
            self._pairing.append(message)
            self._made.update(_keys(message))
            if message.is_result and message.tool_call_id:
                self._results_by_id.setdefault(message.tool_call_id, []).append(index)

    def _exchange(self, history: History, view: View, same: int) -> None:
        gone, come = exchanged(self._entries, view.entries, same)
        for entry in gone:
            self._shown.subtract(_keys(entry.message))
            self._written.pop(id(entry), None)
            self._faults.pop(id(entry), None)
            self._pointers.pop(id(entry), None)
            self._thoughtless.pop(id(entry), None)
            if entry.origin.kind == "whole":
                self._whole[entry.origin.first] -= 1
        for entry in come:
            self._shown.update(keys := _keys(entry.message))
            if entry.origin.kind == "whole":
                self._whole[entry.origin.first] += 1
                continue
            if entry.origin.kind == "edited":
                faults = list(check_edited(entry, history))
                if has_lost_reasoning(entry.message, history[entry.origin.first]):
                    self._thoughtless[id(entry)] = entry
                if pointed := self._pointed(entry, history):
                    self._pointers[id(entry)] = entry, pointed
            else:
                faults = list(check_generated(entry, history))
                if keys:
                    self._written[id(entry)] = entry
            if faults:
                self._faults[id(entry)] = faults

    def _pointed(self, entry: Entry, history: History) -> tuple[int, ...]:
        """Return results whose call ids an edit wrote into a message: `same as call_12 above`."""
        before = history[entry.origin.first]
        own = {before.tool_call_id, entry.origin.handle}
        words = set(_WORD.findall(entry.message.text)) - set(_WORD.findall(before.text))
        named = {word.rstrip(".:") for word in words - own} - own
        return tuple(self._results_by_id[word][-1] for word in named if word in self._results_by_id)

    def _placed(
        self, view: View, history: History, recover: Callable[[str], str | None] | None
    ) -> Iterator[Violation]:
        faults = [fault for faults in self._faults.values() for fault in faults]
        for entry, pointed in self._pointers.values():
            for index in pointed:
                call_id = history[index].tool_call_id or ""
                is_stored = recover is not None and recover(call_id) is not None
                if self._whole[index] <= 0 and not is_stored:
                    text = f"it points to {call_id!r}, which is neither visible nor stored"
                    faults.append(Fault("pointers_resolve", entry, text, "/content"))
        if faults:
            places = {id(entry): at for at, entry in enumerate(view.entries)}
            for fault in faults:
                if self._is_wanted(fault.rule):
                    at = places[id(fault.entry)]
                    yield violation(fault.rule, at, fault.explanation, fault.field)

    def _is_wanted(self, rule: str) -> bool:
        return rule != "roles_are_never_raised" or not self._promises.raises_roles

    def _check_ids(self, view: View) -> Iterator[Violation]:
        for entry in self._written.values():
            twice = [key for key in _keys(entry.message) if self._shown[key] > self._made[key]]
            if twice:
                at = next(at for at, other in enumerate(view.entries) if other is entry)
                text = f"{twice[0].partition(':')[2]!r} is here more often than in the history"
                yield violation("ids_stay_unique", at, text)

    def _check_loop(self, history: History, view: View) -> Iterator[Violation]:
        """Name edits since the latest user message that took the reasoning away."""
        last = history.last_user_position()
        for entry in self._thoughtless.values():
            if last is not None and entry.origin.first > last:
                at = next(at for at, other in enumerate(view.entries) if other is entry)
                text = "its reasoning is gone though the tool loop is not finished"
                yield violation("reasoning_stays_intact", at, text)

    def _check_open(self, history: History, view: View) -> Iterator[Violation]:
        start = len(history)
        while start and history[start - 1].is_result:
            start -= 1
        if not start or not history[start - 1].tool_calls:
            return
        caller = start - 1
        calls = Counter(history[caller].tool_calls)
        calls.subtract(
            self._pairing.call_of[at][1] for at in self._pairing.results_of.get(caller, [])
        )
        if not +calls:
            return
        tail = takewhile(lambda entry: entry.origin.first >= caller, reversed(view.entries))
        shown = next((entry for entry in tail if index_of(entry) == caller), None)
        if shown is None or +calls - Counter(shown.message.tool_calls):
            text = f"message {caller} has open calls and is gone or changed"
            yield violation("open_calls_survive", -1, text, concerns=caller)

    def _check_prefix(
        self, view: View, same: int, history_size: float, view_size: float
    ) -> Iterator[Violation]:
        if self._previous is None or same == len(self._entries):
            return
        same += View(view.entries[same:]).unchanged_since(View(self._entries[same:]))
        if same == len(self._entries):
            return
        size_before, history_before = self._previous
        reclaimed = size_before + (history_size - history_before) - view_size
        wanted = max(1, self._promises.min_reclaim_tokens or 0)
        if reclaimed < wanted:
            text = (
                f"what was sent before changes here, which makes the view {reclaimed:.0f} smaller"
            )
            yield violation("prefix_is_stable", same if same < len(view) else -1, text)

    def _check_provider(self, history: History, view: View, same: int) -> Iterator[Violation]:
        """Ask for the provider's rules as long as the work stays linear in the conversation."""
        if same == len(self._entries) and len(view) > SHORT_VIEW:
            return
        self._provider_work += len(view)
        if self._provider_work <= PROVIDER_WORK + PROVIDER_WORK_PER_MESSAGE * len(history):
            yield from check_provider(history, view, self._profile)


def check_provider(history: History, view: View, profile: Profile) -> list[Violation]:
    """Return what a provider would refuse in the view and not in the history."""
    found = check_messages(view.messages, profile)
    if not found:
        return []
    excused = _excuses(check_messages(history.messages(), profile))
    return [
        violation(
            "roles_stay_legal", item.position, f"{profile.name}: {item.explanation}", item.field
        )
        for item in found
        if not excused & _claims(item, view.entries)
    ]


def _excuses(illegal: list[Illegality]) -> set[tuple[str, int]]:
    return {(item.rule, item.position) for item in illegal} | {(item.rule, -2) for item in illegal}


def _claims(item: Illegality, entries: Entries) -> set[tuple[str, int]]:
    """Return what of the history would excuse this: the same fault of the same message.

    Faults at the two ends have moved with the ends.
    """
    if item.position < 0 or item.is_at_end:
        return {(item.rule, -2)}
    index = index_of(entries[item.position])
    return {(item.rule, index)} if index is not None else set()


def _keys(message: Message) -> list[str]:
    keys = [f"call:{call_key(call)}" for call in message.tool_calls]
    return [*keys, f"result:{result_key(message)}"] if message.is_result else keys
