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
        "now on, 不得, 必须 ...), of at least four words. At the last request of each segment, of "
        "those whose message no longer stands whole: the share that another whole message repeats "
        "word by word, or of which a sentence in the strategy's own texts has at least 90 % of the "
        "words. Never pooled with other facts. By place (first, middle, last third) and after each "
        "compaction in the sidecars.",
    ),
    Metric(
        "obligations_kept_fraction",
        "Open tasks kept",
        "share of open tasks",
        "higher",
        "Open items of the last todo list or check boxes that were recorded. At the last request "
        "of each segment, if the list's message no longer stands whole: the share of which the "
        "strategy's own texts have at least 90 % of the words.",
    ),
    Metric(
        "obligations_ticked",
        "Tasks ticked",
        "open tasks",
        "lower",
        "Open items that a text of the strategy lists as done, over all compactions looked at.",
    ),
    Metric(
        "files_lost_fraction",
        "Files lost",
        "share of files",
        "lower",
        "Files that calls read or changed and that the view no longer names, at the last request "
        "of each segment. What shell commands do to files is not seen.",
    ),
    Metric(
        "files_stale_fraction",
        "Files stale",
        "share of files",
        "lower",
        "Files that the view names, but not with what was done to them last (read, modified, "
        "deleted): by a visible call, or by a line of the strategy's texts that says so.",
    ),
    Metric(
        "cliff_round",
        "Cliff",
        "compactions",
        "higher",
        "The first compaction after which less than half of the constraints, or of the needs up to "
        "the next one looked at, was left; none if that never happened. Looked at: compactions "
        "1, 2, 3, 4, 6, 8, 12 and so on. The curve is in the sidecars.",
    ),
    Metric(
        "unsupported_fraction",
        "Unsupported",
        "share of references",
        "lower",
        "Of the distinct paths, URLs, ids, names and values in texts that the strategy wrote: "
        "those that stand nowhere in the conversation before. A wrong sentence made of right "
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
