"""What the present view shows of a conversation: whole messages, edited ones, written texts.

Looks again only at the entries that changed since the request before.
"""

from collections import defaultdict
from typing import Literal

from compaction.history import Entries, Entry, History, exchanged
from compaction.messages import Message
from compaction.pairing import Pairing
from evals.extraction.message_text import held_text
from evals.extraction.quotes import holds_quote
from evals.extraction.references import Reference
from evals.extraction.tool_names import is_read_only
from evals.matcher.restating import restates, shares_line
from evals.needs import Need, NeedSet

Visibility = Literal["visible_source", "restated", "mentioned"]


class Shown:
    """What the present view shows of one segment's history."""

    def __init__(self, needs: NeedSet) -> None:
        self._needs = needs
        self._entries: Entries = ()
        self._whole: set[int] = set()
        self._edited: dict[int, Entry] = {}
        """History index -> the entry that shows it edited."""
        self._written: defaultdict[Reference, dict[int, Entry]] = defaultdict(dict)
        """Needed reference -> edited and written entries that hold it, by object id."""
        self._texts: dict[int, str] = {}
        """Object id of an edited or written entry -> its text."""
        self._found: dict[Message, tuple[Reference, ...]] = {}
        self._pairing = Pairing()

    def exchange(self, entries: Entries, same: int) -> None:
        """Replace all entries from `same` on.

        Views that did nothing but grow since the last one may have been left out.
        """
        same = min(same, len(self._entries))
        gone, come = exchanged(self._entries, entries, same)
        for entry in gone:
            self._drop(entry)
        for entry in come:
            self._take(entry)
        # Equal leading entries may be other objects; those that were taken are the ones to drop.
        self._entries = self._entries[:same] + entries[same:]

    def _take(self, entry: Entry) -> None:
        index = entry.origin.first
        if entry.origin.kind == "whole":
            self._whole.add(index)
            return
        if entry.origin.kind == "edited":
            self._edited[index] = entry
        self._texts[id(entry)] = held_text(entry.message)
        for reference in self._references_in(entry.message):
            self._written[reference][id(entry)] = entry

    def _drop(self, entry: Entry) -> None:
        index = entry.origin.first
        if entry.origin.kind == "whole":
            self._whole.discard(index)
            return
        if self._edited.get(index) is entry:
            del self._edited[index]
        self._texts.pop(id(entry), None)
        for reference in self._references_in(entry.message):
            self._written[reference].pop(id(entry), None)

    def _references_in(self, message: Message) -> tuple[Reference, ...]:
        found = self._found.get(message)
        if found is None:
            found = tuple(self._needs.index.found_in(held_text(message)))
            self._found[message] = found
        return found

    def is_whole(self, index: int) -> bool:
        return index in self._whole

    def edited_text(self, index: int) -> str | None:
        entry = self._edited.get(index)
        return held_text(entry.message) if entry is not None else None

    def handle_of(self, index: int) -> str | None:
        entry = self._edited.get(index)
        return entry.origin.handle if entry is not None else None

    def best(self, need: Need, reference: Reference, history: History) -> Visibility | None:
        """Return how a reference is visible: in a source, restated, merely mentioned, or not."""
        if any(at in self._whole for at in need.sources):
            return "visible_source"
        texts = []
        for entry in self._written.get(reference, {}).values():
            text = held_text(entry.message)
            index = entry.origin.first
            is_source = entry.origin.kind == "edited" and index in need.sources
            if is_source and shares_line(reference, text, held_text(history[index])):
                return "visible_source"
            texts.append(text)
        texts += [held_text(history[at]) for at in need.others if at in self._whole]
        if not texts:
            return None
        sources = tuple(held_text(history[at]) for at in need.sources)
        if any(restates(reference, text, sources) for text in texts):
            return "restated"
        return "mentioned"

    def is_stale(self, need: Need, reference: Reference, history: History) -> bool:
        """Whether all that is visible of the sources are older versions of what a call changed.

        What is seen together with that call is not: the change is there to be read.
        """
        if not need.changed:
            return False
        changes = dict(need.changed)
        return all(
            at in changes and changes[at] not in self._whole
            for at in need.sources
            if at in self._whole or self._keeps_line(at, reference, history)
        )

    def _keeps_line(self, at: int, reference: Reference, history: History) -> bool:
        text = self.edited_text(at)
        return text is not None and shares_line(reference, text, held_text(history[at]))

    def writes_quote(self, quote: str) -> bool:
        """Whether an edited or written text holds quoted bytes, whoever they are from."""
        long = (text for text in self._texts.values() if len(text) >= len(quote))
        return any(holds_quote(quote, text) for text in long)

    def can_repeat(self, need: Need, history: History) -> bool:
        """Whether a read-only call that brought the reference stands in the view unchanged."""
        for at in range(len(self._pairing), len(history)):
            self._pairing.append(history[at])
        for at in need.sources:
            caller, call = self._pairing.call_of.get(at, (None, None))
            if caller in self._whole and call is not None and is_read_only(call.name):
                return True
        return False
