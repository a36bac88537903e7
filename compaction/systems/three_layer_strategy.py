"""The `three_layer` system as a strategy: persist large outputs, clear old results, summarise.

Layer one runs once on every tool result that is appended, layer two before every request, layer
three when what is left exceeds `context_limit_chars`, or when the agent called the `compact` tool.
The functions that the seed names are in `three_layer`, its texts in `three_layer_prompts`.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Final, NamedTuple

from compaction.agent_tools import COMPACT_TOOL, READ_TOOL, parsed_arguments
from compaction.history import Entries, History, View
from compaction.late_results import Arrivals, arrivals
from compaction.llm import Steps, Usage
from compaction.messages import Message, ToolCall
from compaction.store import FolderStore, Store
from compaction.strategy import Context, Promises, Request
from compaction.systems.three_layer_full import (
    MAX_RECENT_FILES,
    CompactState,
    FullCompaction,
    Transcript,
    track_recent_file,
)
from compaction.systems.three_layer_prompts import (
    MICRO_PLACEHOLDER,
    PERSISTED_TEMPLATE,
    CompressPrompt,
    message_template,
)
from compaction.tiers.clear_tool_results import ClearToolResults
from compaction.tiers.file_ledger import FileLedger
from compaction.tiers.growing import Change
from compaction.tiers.offload_large_results import OffloadLargeResults
from compaction.tiers.results import is_error
from compaction.tiers.summarize import Summarize
from compaction.tokens import JsonCharCounter, RunningTotal

PERSIST_THRESHOLD: Final = 30_000
"""Characters; a longer tool output goes to disk."""
PREVIEW_CHARS: Final = 2_000
KEEP_RECENT_TOOL_RESULTS: Final = 10
MICRO_MIN_CHARS: Final = 120
"""Characters; only a result with more is replaced by the placeholder."""
CONTEXT_LIMIT: Final = 100_000
"""Characters of the JSON of the messages; more starts a full compaction."""

_CHARS: Final[Mapping[str, str]] = {"unit": "chars"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreeLayer:
    """The seed's three layers with its defaults.

    A full compaction replaces everything by one user message, the system prompt and the last user
    message included, so neither is promised unless its parameter is set. Recorded prompts keep
    their cache until layer two clears a result, which from the eleventh on is every tool round.
    """

    name: ClassVar[str] = "three_layer"
    version: ClassVar[str] = "2"
    agent_tools: ClassVar[tuple[str, ...]] = (READ_TOOL, COMPACT_TOOL)

    persist_threshold_chars: int = field(default=PERSIST_THRESHOLD, metadata=_CHARS)
    preview_chars: int = field(default=PREVIEW_CHARS, metadata=_CHARS)
    keep_recent_tool_results: int = KEEP_RECENT_TOOL_RESULTS
    micro_min_chars: int = field(default=MICRO_MIN_CHARS, metadata=_CHARS)
    context_limit_chars: int = field(default=CONTEXT_LIMIT, metadata=_CHARS)
    max_recent_files: int = MAX_RECENT_FILES
    keep_system_prompt: bool = False
    """Keep the instruction messages at the front of a compacted view."""
    keep_last_user: bool = False
    """Keep the last user message behind the summary."""
    max_summary_tokens: int | None = None
    """None sends no limit, as the seed has none."""
    read_tools: tuple[str, ...] = ("read_file",)
    """Tools whose file goes into the list of recent files."""
    path_arguments: tuple[str, ...] = ("path", "file_path")
    transcripts_dir: str | None = None
    """Folder of the JSONL transcripts; None puts them into the conversation's store."""
    require_transcript: bool = True
    """Compact only if the transcript could be written."""
    literal_transcripts: bool = False
    """Write what the view holds, placeholders included, instead of the original messages."""
    literal_placeholders: bool = False
    """The placeholder of a persisted result no longer says where the output is."""
    literal_handles: bool = False
    """Name outputs by call id alone, which gives back the wrong one where ids are reused."""
    literal_recent_files: bool = False
    """Also list files whose read failed."""

    def __post_init__(self) -> None:
        for parameter in (
            "persist_threshold_chars",
            "preview_chars",
            "keep_recent_tool_results",
            "micro_min_chars",
            "context_limit_chars",
            "max_recent_files",
        ):
            if getattr(self, parameter) < 0:
                raise ValueError(f"{parameter} must be >= 0, got {getattr(self, parameter)}")
        if self.max_summary_tokens is not None and self.max_summary_tokens < 1:
            raise ValueError(f"max_summary_tokens must be >= 1, got {self.max_summary_tokens}")

    @property
    def promises(self) -> Promises:
        return Promises(
            mode="rewriting",
            keeps_system=self.keep_system_prompt,
            keeps_last_user=self.keep_last_user,
            recoverable=not self.literal_handles,
            keeps_open_calls=True,
            accounts_for_all=True,
            # It decides in characters: on a conversation of some hundred tokens a summary may have
            # fewer characters and more tokens.
            grows=True,
        )

    def start(self, context: Context) -> "ThreeLayerCompactor":
        return ThreeLayerCompactor(self, context)

    def persist(self) -> OffloadLargeResults:
        """Return layer one."""
        return OffloadLargeResults(
            max_chars=self.persist_threshold_chars,
            preview_chars=self.preview_chars,
            exempt_tools=frozenset({READ_TOOL}),
            literal_handles=self.literal_handles,
            template=PERSISTED_TEMPLATE,
        )

    def micro(self) -> ClearToolResults:
        """Return layer two."""
        return ClearToolResults(
            keep_last_results=self.keep_recent_tool_results,
            min_chars=self.micro_min_chars,
            placeholder=MICRO_PLACEHOLDER,
            keep_handle=not self.literal_placeholders,
        )

    def full(self, *, focus: str | None, recent_files: Sequence[str]) -> Summarize:
        """Return layer three for one compaction."""
        return Summarize(
            hoist_last_user=self.keep_last_user,
            place="after_head" if self.keep_system_prompt else "only",
            template=message_template(focus=focus, recent_files=recent_files),
            merge="reread",
            prompt=CompressPrompt(),
            max_summary_tokens=self.max_summary_tokens,
        )


class _Treated(NamedTuple):
    """What layers one and two left."""

    view: View
    same: int
    """So many leading entries are as they were at the request before."""


class ThreeLayerCompactor:
    """The strategy started for one conversation. It decides by characters, so usage is ignored."""

    def __init__(self, settings: ThreeLayer, context: Context) -> None:
        self.state = CompactState(
            max_recent_files=settings.max_recent_files,
            results=context.store,
            transcripts=transcript_store(settings, context.store),
        )
        self._settings = settings
        self._context = replace(context, counter=JsonCharCounter())
        self._total = RunningTotal(self._context.counter)
        self._taken = 0
        self._manual = False
        self._focus: str | None = None
        self._open_reads: defaultdict[str, list[str]] = defaultdict(list)
        self._restart(())

    def steps(self, history: History, request: Request) -> Steps[View]:
        new = history.entries(self._taken)
        self._taken = len(history)
        for entry in new:
            self._watch(entry.message)
        came = arrivals(self._untreated or self._persist.output, new)
        treated = self._treated(came)
        view, trigger = treated.view, self._trigger(treated)
        if trigger is None:
            return view
        compaction = FullCompaction(
            tier=self._settings.full(focus=self._focus, recent_files=self.state.recent_files),
            transcript=self._transcript(history, view),
            trigger=trigger,
            focus=self._focus,
            require_transcript=self._settings.require_transcript,
        )
        compacted = yield from compaction.steps(view, self._context, self.state)
        self._manual, self._focus = False, None
        if compacted.entries is not view.entries:
            self._restart(compacted.entries)
        return compacted

    def request_compaction(self, focus: str | None) -> None:
        """Compact before the next request whatever the size; the latest focus counts."""
        self._manual, self._focus = True, focus or self._focus

    def record_usage(self, usage: Usage) -> None:
        """Learn nothing: the layers decide by characters."""

    def recover(self, handle: str) -> str | None:
        text = self.state.results.get(handle)
        return self.state.transcripts.get(handle) if text is None else text

    def _restart(self, entries: Entries) -> None:
        self._untreated = entries
        self._persist = self._settings.persist().resume(self._context)
        self._micro = self._settings.micro().resume(self._context)

    def _treated(self, came: Arrivals) -> "_Treated":
        """Return the view after layers one and two."""
        added, self._untreated = self._untreated + came.entries, ()
        persist, micro = self._persist, self._micro
        persisted = persist.follow(Change(len(persist.output), added))
        cleared = micro.follow(Change(persisted.same, tuple(persist.output[persisted.same :])))
        view = View(tuple(micro.output), came.events + persisted.events + cleared.events)
        return _Treated(view, cleared.same)

    def _trigger(self, treated: "_Treated") -> str | None:
        entries = treated.view.entries
        total_chars = self._total.total(entries, unchanged=treated.same)
        if self._manual:
            return "manual"
        size_chars = list_size_chars(total_chars, len(entries))
        limit = self._settings.context_limit_chars
        return f"chars {size_chars} > {limit}" if size_chars > limit else None

    def _transcript(self, history: History, view: View) -> Transcript:
        """Return what the next transcript holds: what no earlier one does, word for word."""
        if self._settings.literal_transcripts:
            return Transcript(view.messages)
        start = self.state.transcribed
        return Transcript(history.messages(start), start)

    def _watch(self, message: Message) -> None:
        """Note reads of files, and calls of the compact tool."""
        for call in message.tool_calls:
            if call.name == COMPACT_TOOL:
                self.request_compaction(focus_of(call))
            if paths := paths_read(self._settings, call):
                self._open_reads[call.call_id or call.name] += paths
        if message.is_result:
            done = self._open_reads.pop(message.tool_call_id or message.name or "", [])
            if done and (self._settings.literal_recent_files or not is_error(message)):
                for path in done:
                    track_recent_file(self.state, path)


def list_size_chars(total_chars: int, messages: int) -> int:
    """Return the length of the JSON list of messages whose own JSON has `total_chars`.

    As `json.dumps(messages, ensure_ascii=False)` writes it: two brackets, and a comma and a blank
    between neighbours. The seed does not say what it measures.
    """
    return total_chars + 2 + 2 * max(0, messages - 1)


def transcript_store(settings: ThreeLayer, default: Store) -> Store:
    """Return where transcripts go: a folder of JSONL files, or among the conversation's outputs."""
    if settings.transcripts_dir is None:
        return default
    return FolderStore(Path(settings.transcripts_dir), suffix=".jsonl")


def paths_read(settings: ThreeLayer, call: ToolCall) -> tuple[str, ...]:
    """Return the file that a call reads, if it is one of a reading tool and names one."""
    if call.name not in settings.read_tools:
        return ()
    ledger = FileLedger(
        read_tools=frozenset({call.name.lower()}),
        modify_tools=frozenset(),
        path_arguments=settings.path_arguments,
    )
    return ledger.gather([Message("assistant", tool_calls=(call,))]).read


def focus_of(call: ToolCall) -> str | None:
    """Return the focus that a call of the compact tool names; other arguments are ignored."""
    try:
        focus = parsed_arguments(call).get("focus")
    except ValueError:
        return None
    return focus if isinstance(focus, str) else None
