"""What the columns about instructions, tasks, files and written texts mean; of `evals.metrics`."""

from typing import Final

from evals.results import Metric

SURVIVAL_METRICS: Final = (
    Metric(
        "constraints_kept_fraction",
        "Constraints kept",
        "share of constraints",
        "higher",
        "Sentences of the user that say what to do or not to do (always, never, must, only, from "
        "now on, 不得, 必须 ...), of at least four words; at most 100 a segment. At the last "
        "request of each segment, of those whose message no longer stands whole: the share that "
        "another whole message of the user or the assistant repeats word by word, or of which a "
        "sentence or two in a row have at least 90 % of the words, in a text that the strategy "
        "wrote or in what it left of a message. Of all segments of a transcript together, then "
        "the mean over transcripts. Never pooled with other facts. By place (first, middle, last "
        "third) and after each compaction in the sidecars.",
    ),
    Metric(
        "obligations_kept_fraction",
        "Open tasks kept",
        "share of open tasks",
        "higher",
        "Open items of the last todo list or check boxes that were recorded. At the last request "
        "of each segment, if the list's message no longer stands whole: the share of which a "
        "sentence or two in a row have at least 90 % of the words, in a text that the strategy "
        "wrote or in what it left of a message.",
    ),
    Metric(
        "obligations_ticked",
        "Tasks ticked",
        "open tasks",
        "lower",
        "Open items that a text which the strategy wrote lists as done, after any compaction that "
        "was looked at, where the list's message no longer stands whole; each item once.",
    ),
    Metric(
        "files_lost_fraction",
        "Files lost",
        "share of files",
        "lower",
        "Files that calls read or changed and that no text or call of the view names any more, at "
        "the last request of each segment. By the last folder and name, unless two files share "
        "them. What shell commands do to files is not seen.",
    ),
    Metric(
        "files_stale_fraction",
        "Files stale",
        "share of files",
        "lower",
        "Files that the view names, but not with what was done to them last (read, modified, "
        "deleted): by a visible call, or by a line that the strategy wrote and that says so.",
    ),
    Metric(
        "cliff_round",
        "Cliff",
        "compactions",
        "higher",
        "The first compaction of a segment after which less than half was left of the constraints "
        "whose message no longer stands whole, or of the needs over long gaps up to the next one "
        "looked at or the end of the segment; none if that never happened. Looked at: compactions "
        "1, 2, 3, 4, 6, 8, 12 and so on, and the end. The curve is in the sidecars.",
    ),
    Metric(
        "unsupported_fraction",
        "Unsupported",
        "share of references",
        "lower",
        "Of the distinct paths, URLs, ids, names and values in texts that the strategy wrote, its "
        "own handles aside: those that stand nowhere in the conversation before, and values whose "
        "key has others there. A wrong sentence made of right "
        "names is not found.",
    ),
    Metric(
        "drifted_pairs",
        "Drifted values",
        "key=value pairs",
        "lower",
        "Of the unsupported references: pairs whose key the conversation has, with other values "
        "only.",
    ),
)
