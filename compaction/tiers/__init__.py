"""How to shrink a view: one frozen dataclass per file, applied unconditionally.

When to shrink is in `compaction.triggers`, in which order in `compaction.control`.
"""

from compaction.tiers.clear_tool_results import ClearToolResults
from compaction.tiers.drop_oldest import DropOldest
from compaction.tiers.offload_large_results import OffloadLargeResults
from compaction.tiers.snip_middle import SnipMiddle
from compaction.tiers.split import Split, split_for_summary
from compaction.tiers.summarize import Summarize

__all__ = [
    "ClearToolResults",
    "DropOldest",
    "OffloadLargeResults",
    "SnipMiddle",
    "Split",
    "Summarize",
    "split_for_summary",
]
