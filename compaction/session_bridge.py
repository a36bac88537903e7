"""Carries summaries between a `ContextManager` and a `Session`, so that neither knows the other.

It makes no views, holds no messages and emits no events.
"""

from pathlib import Path
from typing import Final

from compaction.llm import Usage
from compaction.messages import INSTRUCTION_ROLES
from compaction.session import Session
from compaction.session_entries import CompactionEntry
from compaction.systems.my_pi_agent_manager import ContextManager
from compaction.systems.my_pi_agent_pipeline import CompactionInfo

RESULTS_FOLDER: Final = Path(".my_agent_core", "tool-results")


class ContextSessionBridge:
    """The three things an agent needs of both."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._written: CompactionInfo | None = None

    def results_dir(self) -> Path | None:
        """Return where large results go: beside the session file, or nowhere without one."""
        path = self.session.path
        return None if path is None else path.parent / RESULTS_FOLDER

    def restore_cache(self, context: ContextManager) -> bool:
        """Hand the latest summary over, if there is one; the restarted agent pays for none."""
        cache = self.session.get_latest_compaction_cache()
        if cache is not None:
            context.restore_cache(**cache)
        return cache is not None

    def write_compaction(self, context: ContextManager) -> CompactionEntry | None:
        """Write the summary that the last `prepare` made, once.

        The messages given to `prepare` are those of the session's path; instructions at the front
        may be missing from either.

        Raises:
            SessionError: it could not be written, or the path is shorter than the summary says.
        """
        info = context.pending_compaction
        if info is None or info is self._written:
            return None
        history = self.session.get_full_history_messages()
        opening = next(
            (i for i, message in enumerate(history) if message.role not in INSTRUCTION_ROLES),
            len(history),
        )
        entry = self.session.add_summary_cache(
            info.summary,
            opening + info.summarized_count,
            tokens_before=info.tokens_before,
            summary_usage=_usage_record(info.summary_usage),
            summary_model=info.summary_model,
        )
        self._written = info
        return entry


def _usage_record(usage: Usage | None) -> dict[str, int] | None:
    if usage is None:
        return None
    return {"prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens}
