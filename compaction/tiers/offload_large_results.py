"""Moves large tool results into the store and leaves a preview. Free."""

import re
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from compaction.clipping import clip_head, clip_tail
from compaction.errors import StoreError
from compaction.history import Entry, View
from compaction.messages import Message
from compaction.quoting import quote
from compaction.store import place_of
from compaction.strategy import CompactionEvent, Context
from compaction.tiers.growing import Change, Followed, FoundResult, Pass, ResultIndex, applied
from compaction.tiers.results import handle_for, original_text

OFFLOAD_TEMPLATE: Final = """\
<persisted-output handle="{handle}">
Output too large ({chars} characters). The full text is kept under the handle above.
Preview (first {preview_chars} characters):
{preview}{tail}
</persisted-output>"""

TAIL_TEMPLATE: Final = "\n[{omitted_chars} characters omitted]\n{tail}"

_FIELD: Final = re.compile(
    r"\{(handle|path|chars|preview_chars|preview|tail_chars|tail|omitted_chars)\}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffloadLargeResults:
    """Put every result with more than `max_chars` characters of text into the store.

    Promise: the store gives back exactly what a handle in the view stands for; a result is
    replaced only by something shorter, once; if the store fails, the result stays. Media parts
    stay where they are and are also kept. A prompt cache keeps everything before the result.
    """

    name: ClassVar[str] = "OffloadLargeResults"

    max_chars: int = 30_000
    preview_chars: int = 2_000
    tail_chars: int = 0
    exempt_tools: frozenset[str] = frozenset()
    literal_handles: bool = False
    """The handle is the bare call id: as the seeds have it, wrong where a log reuses ids."""
    template: str = OFFLOAD_TEMPLATE
    """Fields: handle, path, chars, preview, preview_chars, tail, tail_chars, omitted_chars.

    `path` is the file in a store that keeps files, else the handle.
    """
    tail_template: str = TAIL_TEMPLATE
    """What `{tail}` in `template` becomes if `tail_chars` is more than 0."""

    def __post_init__(self) -> None:
        for parameter in ("max_chars", "preview_chars", "tail_chars"):
            value = getattr(self, parameter)
            if value < 0:
                raise ValueError(f"{parameter} must be >= 0, got {value}")
        if "{handle}" not in self.template:
            raise ValueError(f"template must name the {{handle}}, got {self.template!r}")

    def apply(self, view: View, context: Context) -> View:
        return applied(self.resume(context), view)

    def settled(self, view: View) -> int:
        return len(view)

    def resume(self, context: Context) -> Pass:
        return _Offloading(self, context)

    def block(self, text: str, handle: str, path: str) -> str:
        """Return what stands in the view for `text`."""
        preview = clip_head(text, self.preview_chars)
        tail = clip_tail(text[len(preview) :], self.tail_chars) if self.tail_chars else ""
        values = {
            "handle": handle,
            "path": path,
            "chars": str(len(text)),
            "preview": quote(preview, self.template),
            "preview_chars": str(len(preview)),
            "tail_chars": str(len(tail)),
            "omitted_chars": str(len(text) - len(preview) - len(tail)),
            "tail": quote(tail, self.template),
        }
        if tail:
            values["tail"] = _FIELD.sub(lambda match: values[match[1]], self.tail_template)
        return _FIELD.sub(lambda match: values[match[1]], self.template)


class _Offloading:
    """`OffloadLargeResults` at work on one growing view."""

    def __init__(self, tier: OffloadLargeResults, context: Context) -> None:
        self._tier = tier
        self._context = context
        self._index = ResultIndex()
        self.output: list[Entry] = []
        self._edits: dict[tuple[Entry, int], Entry] = {}

    def follow(self, change: Change) -> Followed:
        self._index.follow(change)
        self.output[change.same :] = change.added
        handles: list[str] = []
        failures: list[CompactionEvent] = []
        for found in self._index.results[self._index.results_before(change.same) :]:
            entry = self._index.entries[found.position]
            if not self._is_large(entry, found):
                continue
            try:
                edited = self._edited(entry, found.occurrence, handles)
            except StoreError as error:
                failures.append(CompactionEvent(self._tier.name, "failed", reason=str(error)))
                continue
            self.output[found.position] = edited
        done = CompactionEvent(
            self._tier.name, "applied", messages_edited=len(handles), handles=tuple(handles)
        )
        return Followed(change.same, (*((done,) if handles else ()), *failures))

    def _is_large(self, entry: Entry, found: FoundResult) -> bool:
        return (
            entry.origin.kind != "generated"
            and entry.origin.handle is None
            and len(entry.message.text) > self._tier.max_chars
            and found.tool not in self._tier.exempt_tools
        )

    def _edited(self, entry: Entry, occurrence: int, handles: list[str]) -> Entry:
        """Return the preview, or the entry itself if a preview would not be shorter."""
        key = (entry, occurrence)
        if (known := self._edits.get(key)) is not None:
            return known
        text, kept = entry.message.text, original_text(entry.message)
        handle = handle_for(entry.message, occurrence, literal=self._tier.literal_handles)
        block = self._tier.block(text, handle, place_of(self._context.store, handle))
        edited = entry
        if len(block) < len(text):
            self._context.store.put(handle, kept)
            handles.append(handle)
            message = _with_text_parts_replaced(entry.message, block)
            edited = entry.edited(message, self._tier.name, handle=handle)
        self._edits[key] = edited
        return edited


def _with_text_parts_replaced(message: Message, text: str) -> Message:
    """Put `text` in the place of the first text part; media parts stay."""
    if not isinstance(message.content, tuple):
        return message.with_text(text)
    first = next(i for i, part in enumerate(message.content) if part.text)
    parts = tuple(
        part.with_text(text) if i == first else part
        for i, part in enumerate(message.content)
        if i == first or not part.text
    )
    return replace(message, content=parts)
