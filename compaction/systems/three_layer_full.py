"""Layer three of the `three_layer` system: transcript, summary, and the state kept of it."""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from compaction.errors import StoreError
from compaction.history import Origin, View
from compaction.llm import Steps
from compaction.messages import Message, Messages, digest_of
from compaction.store import FolderStore, Store
from compaction.strategy import CompactionEvent, Context, Outcome
from compaction.tiers.summarize import Summarize

MAX_RECENT_FILES: Final = 5


TOOL_RESULTS_DIR: Final = Path(".tool_results")
TRANSCRIPTS_DIR: Final = Path(".transcripts")


def result_files() -> FolderStore:
    return FolderStore(TOOL_RESULTS_DIR)


def transcript_files() -> FolderStore:
    return FolderStore(TRANSCRIPTS_DIR, suffix=".jsonl")


@dataclass(slots=True)
class CompactState:
    """What one conversation knows of its compactions. The seed has one for the whole process."""

    has_compacted: bool = False
    last_summary: str = ""
    recent_files: list[str] = field(default_factory=list)
    """Latest last, none twice; kept over a compaction, since that is when it is needed."""
    max_recent_files: int = MAX_RECENT_FILES
    results: Store = field(default_factory=result_files)
    """Full text of large outputs."""
    transcripts: Store = field(default_factory=transcript_files)
    transcribed: int = 0
    """How many messages the transcripts that could be written hold together."""
    events: list[CompactionEvent] = field(default_factory=list)
    """What the functions of `three_layer` did and failed to do, oldest first."""
    edits: dict[str, Origin] = field(default_factory=dict)
    """Text that a layer put into a message -> where it comes from."""
    originals: dict[tuple[str, int], Message] = field(default_factory=dict)
    """(call id, how many earlier results have it) -> the result that layer two replaced."""


def track_recent_file(state: CompactState, path: str) -> None:
    """Note that a file was read: it becomes the latest, and the oldest beyond the limit goes."""
    if path in state.recent_files:
        state.recent_files.remove(path)
    state.recent_files.append(path)
    del state.recent_files[: max(0, len(state.recent_files) - state.max_recent_files)]


@dataclass(frozen=True, slots=True)
class Transcript:
    """What is written down before a full compaction."""

    messages: Messages
    first: int = 0
    """How many messages of the conversation earlier transcripts hold."""

    def write(self, store: Store) -> str:
        """Write one JSON object per message and return the handle; the same text is written once.

        Raises:
            StoreError: nothing was written.
        """
        lines = [json.dumps(item.to_openai(), ensure_ascii=False) for item in self.messages]
        text = "".join(f"{line}\n" for line in lines)
        handle = f"transcript-{self.first:06d}-{digest_of(text)[:10]}"
        store.put(handle, text)
        return handle


@dataclass(frozen=True, slots=True, kw_only=True)
class FullCompaction:
    """One run of layer three over a view."""

    tier: Summarize
    transcript: Transcript
    trigger: str
    focus: str | None = None
    require_transcript: bool = True

    def steps(self, view: View, context: Context, state: CompactState) -> Steps[View]:
        """Write the transcript, ask for the summary, and return the view that it makes.

        A failure returns the view as it was, with an event that says why; the transcript stays.
        """
        split = self.tier.split(view, context.counter)
        fresh = split and any(entry.origin.kind != "generated" for entry in split.subject)
        if split is None or not fresh:
            return view.with_events(self._event("skipped", "nothing new since the last summary"))
        handles: tuple[str, ...] = ()
        if self.transcript.messages:
            try:
                handles = (self.transcript.write(state.transcripts),)
                state.transcribed = self.transcript.first + len(self.transcript.messages)
            except StoreError as error:
                view = view.with_events(self._event("failed", f"no transcript: {error}"))
                if self.require_transcript:
                    return view
        made = yield from self.tier.steps(view, context, split=split, focus=self.focus)
        *earlier, event = made.events
        event = replace(event, trigger=self.trigger, handles=handles)
        if event.outcome == "applied":
            summaries = map(self.tier.summary_in, made.entries)
            state.last_summary = next(text for text in summaries if text is not None)
            state.has_compacted = True
        return View(made.entries, (*earlier, event))

    def _event(self, outcome: Outcome, reason: str) -> CompactionEvent:
        return CompactionEvent(self.tier.name, outcome, self.trigger, reason)
