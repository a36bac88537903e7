"""The compactions that a log itself holds, each with what was said before, sent after and said on.

A boundary stands between two segments. Audits ask what became of what was said before it, so the
history before the boundary and what was said after it are joined to one conversation that was never
sent: the only use of the never-sent log. What was really sent after the boundary is a view of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Final, NamedTuple

from compaction.align import align
from compaction.history import Entries, History, View, whole
from compaction.llm import Steps, Usage
from compaction.messages import Message, Messages
from compaction.strategy import CompactionEvent, Compactor, Context, Promises, Request
from evals.prepare import Prepared, prepare
from evals.transcripts import RecordedCompaction, Segment, Transcript

RECORDED: Final = "recorded"
"""Name of the recorded compaction among the strategies."""
SUMMARY_STARTS: Final = ("Another language model started to solve this problem",)
"""How summaries begin that a log holds as a message and does not mark. Codex, local compaction."""


@dataclass(frozen=True)
class RecordedBoundary:
    """One recorded compaction with requests after it."""

    number: int
    """Counts the boundaries of the transcript from 1."""
    segment: int
    """Index of the segment that it opens."""
    opened_by: RecordedCompaction
    n_before: int
    """Messages that were sent before the boundary: the history that was compacted."""
    said: Transcript
    """One segment: that history, then what was said after it, with the requests after it."""
    log: Messages
    """All that was said in the transcript up to the end of this segment, each message once."""
    log_before: int
    """So many of these were said before the boundary."""
    sent: Entries
    """What the first request after the boundary was sent, as entries of the joined history."""
    n_new: int
    """So many of these were said, or put in again, after the boundary."""
    is_readable: bool
    """False if the log has no text of the summary, so that nobody can say what it holds."""

    @cached_property
    def prepared(self) -> Prepared:
        return prepare(self.said)

    @property
    def history(self) -> History:
        """What a compactor is asked with at the boundary: everything before its first request."""
        return self.prepared.segments[0].history.prefix(self.n_before + self.n_new)

    @property
    def view(self) -> View:
        return View(self.sent, (CompactionEvent(RECORDED, "applied"),))

    @property
    def kept(self) -> Messages:
        """Return the messages from before the boundary that were sent on unchanged."""
        return tuple(
            entry.message
            for entry in self.sent
            if entry.origin.kind == "whole" and entry.origin.first < self.n_before
        )


@dataclass(frozen=True)
class Recorded:
    """What was really sent, as a strategy: a recorded summary is itself a contestant."""

    view: View
    name: ClassVar[str] = RECORDED
    version: ClassVar[str] = "1"
    promises: ClassVar[Promises] = Promises()

    def start(self, context: Context) -> Compactor:
        return _Sent(self.view)


@dataclass(frozen=True)
class _Sent:
    view: View

    def steps(self, history: History, request: Request) -> Steps[View]:
        yield from ()
        return self.view

    def record_usage(self, usage: Usage) -> None:
        return

    def recover(self, handle: str) -> str | None:
        return None


@dataclass(frozen=True, slots=True)
class UnusedBoundary:
    """A recorded compaction about which nothing can be asked."""

    segment: int
    opened_by: RecordedCompaction
    reason: str


def boundaries_of(transcript: Transcript) -> Iterator[RecordedBoundary | UnusedBoundary]:
    """Yield the recorded compactions of a transcript in order."""
    log: list[Message] = []
    number = 0
    carried: Messages | None = None
    for index, segment in enumerate(transcript.segments):
        previous = transcript.segments[index - 1].messages if index else ()
        before = previous if carried is None else carried
        carried = None
        opening = _opening(before, segment)
        log_before = len(log)
        log += opening.said_after
        if segment.opened_by is None:
            continue
        if not index:
            reason = "what was before the compaction is not in the file"
            yield UnusedBoundary(index, segment.opened_by, reason)
        elif not segment.requests and _is_compacted_again(transcript, index):
            # Nobody saw what it left: what both did is told at the next one.
            carried = (*before, *opening.said_after)
            reason = "another followed before anything was asked, which is judged for both"
            yield UnusedBoundary(index, segment.opened_by, reason)
        elif not segment.requests:
            yield UnusedBoundary(index, segment.opened_by, "nothing was asked after it")
        else:
            number += 1
            yield RecordedBoundary(
                number=number,
                segment=index,
                opened_by=segment.opened_by,
                n_before=len(before),
                said=_joined(transcript, before, segment, opening),
                log=tuple(log),
                log_before=log_before,
                sent=opening.sent,
                n_new=opening.n_new,
                is_readable=segment.opened_by.kind == "micro" or opening.has_summary,
            )


def _is_compacted_again(transcript: Transcript, index: int) -> bool:
    """Whether a later compaction comes before the next request, with requests after it."""
    for later in transcript.segments[index + 1 :]:
        if later.opened_by is None:
            return False
        if later.requests:
            return True
    return False


class _Opening(NamedTuple):
    """How a segment begins."""

    sent: Entries
    """To its first request: messages from before, the summary, and what is new."""
    said_after: Messages
    """What is new, and all that follows."""
    n_new: int
    has_summary: bool


def _opening(before: Messages, segment: Segment) -> _Opening:
    """Tell what the compaction kept and wrote from what was said, or put in, after it."""
    lead = segment.messages[: segment.requests[0].position if segment.requests else None]
    rest = segment.messages[len(lead) :]
    if not before:
        return _Opening((), segment.messages, len(lead), has_summary=False)
    aligned = align(History(before).entries(), lead, RECORDED)
    unknown = [at for at, entry in enumerate(aligned) if entry.origin.kind == "generated"]
    summaries = [at for at in unknown if _is_summary(lead[at], segment.opened_by)]
    if not summaries and segment.opened_by and segment.opened_by.summary:
        # Where it was sent it is worded in another way; it comes first.
        summaries = unknown[:1]
    new = [at for at in unknown if at not in summaries]
    place = {at: len(before) + number for number, at in enumerate(new)}
    sent = tuple(
        whole(lead[at], place[at]) if at in place else entry for at, entry in enumerate(aligned)
    )
    said_after = (*(lead[at] for at in new), *rest)
    return _Opening(sent, said_after, len(new), has_summary=bool(summaries))


def _is_summary(message: Message, opened_by: RecordedCompaction | None) -> bool:
    if message.text.lstrip().startswith(SUMMARY_STARTS):
        return True
    summary = opened_by.summary.strip() if opened_by and opened_by.summary else ""
    return bool(summary) and summary in message.text


def _joined(
    transcript: Transcript, before: Messages, segment: Segment, opening: _Opening
) -> Transcript:
    shift = len(before) + opening.n_new - segment.requests[0].position
    requests = tuple(
        # What was reported is about what was sent, which is not what is joined here.
        replace(request, position=request.position + shift, usage=None)
        for request in segment.requests
    )
    joined = Segment((*before, *opening.said_after), requests)
    return Transcript(
        name=transcript.name,
        segments=(joined,),
        source=transcript.source,
        format=transcript.format,
        tools=transcript.tools,
        includes_reasoning=transcript.includes_reasoning,
    )
