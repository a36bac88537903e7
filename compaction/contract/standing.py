"""Which message of the history stands where in a view, followed from request to request.

Each request costs what changed since the one before. Nothing is judged here but the order, which
has to be known before anything else can be.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator

from compaction.contract.faults import Fault, first_shown, forget_from, index_of
from compaction.history import Entries, Entry, History, View, common_prefix, equal_prefix, exchanged
from compaction.pairing import Pairing


class Standing:
    """The view of the latest request, and how it differs from the one before.

    Object identity tells entries apart: leading entries that equal those of the view before are
    taken from there.
    """

    def __init__(self) -> None:
        self.history = History()
        self.view = View(())
        self.previous = View(())
        self.requests = 0
        self.pairing = Pairing()
        """Of the history."""
        self.learned = range(0)
        """Indices of the messages that the history has since."""
        self.same = 0
        """So many leading entries are as they were."""
        self.taken: list[Entry] = []
        """Entries that were taken from their places."""
        self.gone: list[Entry] = []
        """Those of them that stand nowhere else."""
        self.come: list[Entry] = []
        self.moved: set[int] = set()
        """Indices of messages that are shown by another entry than before, or no longer."""
        self.shown: dict[int, Entry] = {}
        """History index -> the entry that shows this message."""
        self.highest: list[int] = []
        """For each position of the view, the highest history index that stands up to there."""
        self.misplaced: dict[int, Fault] = {}
        """By position: out of order, or standing twice."""
        self.was_misplaced = False
        self.seams: list[int] = []
        """Positions whose entry does not stand for the message right behind the one before it."""
        self.new_seams: list[int] = []
        """Those among the entries that are not as they were."""
        self.edits: list[int] = []
        """Positions of edited and generated entries that have come."""
        self.joints: list[int] = []
        """Positions without a seam of entries that have come to stand behind another than before,
        but for whole messages that have just come behind whole ones."""
        self._made: Counter[int] = Counter()
        """How often each entry stands that is not whole, by object id."""
        self._places: dict[int, int] = {}
        self._changed: tuple[int, int] | None = None

    def move(self, history: History, view: View, *, unchanged: int | None = None) -> None:
        """Take in the next request; `history` extends the one before.

        `unchanged` leading entries equal those of the view before, if the caller knows that.
        """
        before = self.view.entries
        self.same = equal_prefix(before, view.entries) if unchanged is None else unchanged
        entries = before[: self.same] + view.entries[self.same :]
        self.previous, self.view = self.view, View(entries, view.events)
        self.history, self._places, self._changed = history, {}, None
        self.requests += 1
        self.taken, self.come = exchanged(before, entries, self.same)
        self.gone = [*self._without_doubles(self.taken)]
        self._learn(history)
        self._exchange()
        self._follow_order(entries)
        if self.misplaced or self.was_misplaced:
            self.shown = first_shown(entries)

    @property
    def changed_at(self) -> int | None:
        """Position from which on what was sent before stands otherwise now; None if nowhere.

        Messages decide, not origins: this is the prefix that a provider's cache would still hold.
        """
        if self._changed is None:
            before, now, same = self.previous.entries, self.view.entries, self.same
            if same < len(before):
                same += common_prefix(before[same:], now[same:])
            self._changed = same - len(before), same
        return None if self._changed[0] == 0 else self._changed[1]

    def place_of(self, entry: Entry) -> int:
        """Return the first position of an entry of the view."""
        if not self._places:
            numbered = [*enumerate(self.view.entries)]
            self._places = {id(one): at for at, one in reversed(numbered)}
        return self._places[id(entry)]

    def is_adjacent(self, caller: int) -> bool:
        """Whether the history itself has the results right behind their call."""
        results = self.pairing.results_of.get(caller, [])
        return results == list(range(caller + 1, caller + 1 + len(results)))

    def callers_of(self, indices: Iterable[int]) -> set[int]:
        """Return the messages that call, of those that call or answer."""
        callers = set()
        for index in indices:
            if index in self.pairing.results_of:
                callers.add(index)
            if index in self.pairing.call_of:
                callers.add(self.pairing.call_of[index][0])
        return callers

    def _without_doubles(self, taken: list[Entry]) -> Iterator[Entry]:
        """Yield what stands nowhere any more: an object may have stood twice."""
        made = self._made
        made.update(id(entry) for entry in self.come if entry.origin.kind != "whole")
        here = set(map(id, self.view.entries)) if self.misplaced else set()
        for entry in taken:
            if entry.origin.kind != "whole":
                made[id(entry)] -= 1
                if made[id(entry)]:
                    continue
                del made[id(entry)]
            if id(entry) not in here:
                yield entry

    def _learn(self, history: History) -> None:
        self.learned = range(len(self.pairing), len(history))
        for index in self.learned:
            self.pairing.append(history[index])

    def _exchange(self) -> None:
        self.moved = set()
        for entry in self.gone:
            index = index_of(entry)
            if index is not None and self.shown.get(index) is entry:
                del self.shown[index]
                self.moved.add(index)
        for entry in self.come:
            index = index_of(entry)
            if index is not None and index not in self.shown:
                self.shown[index] = entry
                self.moved.add(index)

    def _follow_order(self, entries: Entries) -> None:
        """Note from the first changed entry on what is out of order, edited, or joined anew."""
        self.was_misplaced = bool(self.misplaced)
        same, highest_of = self.same, self.highest
        forget_from(same, self.misplaced)
        del highest_of[same:]
        self.seams = self.seams[: bisect_left(self.seams, same)]
        self.new_seams, self.edits, self.joints = [], [], []
        predecessors, come = _Predecessors(self.previous.entries, same), iter(self.come)
        next_new = next(come, None)
        highest = highest_of[-1] if highest_of else -1
        before = entries[same - 1] if same else None
        index_before = -1 if before is None else index_of(before)
        for position in range(same, len(entries)):
            entry = entries[position]
            index, is_new = index_of(entry), entry is next_new
            if is_new:
                next_new = next(come, None)
                if _is_edit(entry):
                    self.edits.append(position)
            if index is None or index_before is None or index != index_before + 1:
                self.new_seams.append(position)
            elif _is_edit(before) if is_new else predecessors.of(entry) is not before:
                self.joints.append(position)
            if index is not None and index <= highest:
                self._misplace(position, index, entries)
            elif index is not None:
                highest = index
            highest_of.append(highest)
            before, index_before = entry, index
        self.seams += self.new_seams

    def _misplace(self, position: int, index: int, entries: Entries) -> None:
        twice = any(index_of(entry) == index for entry in entries[:position])
        rule = "nothing_stands_twice" if twice else "order_is_kept"
        self.misplaced[position] = Fault(
            rule, entries[position], f"message {index} of the history stands at {position}"
        )


class _Predecessors:
    """Behind which entry one stood in a view; cheap as long as they are asked for in order."""

    def __init__(self, entries: Entries, start: int) -> None:
        self._entries, self._at = entries, start
        self._of: dict[int, Entry | None] = {}
        """By object id; filled where entries have changed places."""

    def of(self, entry: Entry) -> Entry | None:
        entries, at = self._entries, self._at
        if self._of:
            return self._of[id(entry)]
        while at < len(entries) and entries[at] is not entry:
            at += 1
        if at == len(entries):
            self._of = dict(zip(map(id, entries), (None, *entries), strict=False))
            return self._of[id(entry)]
        self._at = at
        return entries[at - 1] if at else None


def _is_edit(entry: Entry | None) -> bool:
    return entry is not None and entry.origin.kind != "whole"
