"""What each number of a row means. Written into every run, so that a report carries definitions."""

from typing import Final

from evals.results import Metric

METRICS_VERSION: Final = "1"
"""Part of every cell id: raise it when a definition changes, and old rows are run again."""

METRICS: Final = (
    Metric(
        "saving_fraction",
        "Saved input",
        "share of input tokens",
        "higher",
        "1 - (input tokens of all views) / (input tokens of all recorded requests), over the "
        "requests of a transcript. Calibrated to the recorded usage where there is any. The "
        "strategy's own model calls are not in it; see model calls.",
    ),
    Metric(
        "peak_tokens_after",
        "Peak",
        "tokens",
        "lower",
        "The largest input of one request, as compacted.",
    ),
    Metric(
        "reach",
        "Reach",
        "share of needs",
        "higher",
        "A need is a specific path, URL, id, name, value, error or quote that the recorded "
        "assistant used and that an earlier tool result or user message had brought. Reach is the "
        "share still visible in its source, restated in a line that shares at least three "
        "informative words with it, or recoverable through a handle that was tested. Over gaps of "
        "more than 3 requests; mean over the requests of a transcript that have needs, then over "
        "transcripts. An upper bound on what a model would recall: visible is not understood.",
    ),
    Metric(
        "mentioned",
        "Mentioned",
        "needs",
        "neither",
        "Needs whose reference is visible as a bare word only, without its line. Not part of "
        "reach: a list of all references must not score.",
    ),
    Metric(
        "lost",
        "Lost",
        "needs",
        "lower",
        "Needs over long gaps that are neither visible nor recoverable, nor could be had by "
        "repeating a read-only call that is still visible.",
    ),
    Metric(
        "quote_kept_fraction",
        "Quotes kept",
        "share of quote needs",
        "higher",
        "Earlier bytes that an edit call had to reproduce and that were still in the view.",
    ),
    Metric(
        "facts_kept_fraction",
        "Facts kept",
        "share of facts",
        "higher",
        "Of the annotated key facts whose source no longer stands whole in the view: those kept "
        "with value and meaning, or recoverable. Judged where the fact is needed, else at the "
        "last request.",
    ),
    Metric(
        "compactions",
        "Compactions",
        "requests",
        "neither",
        "Requests at which the strategy changed the view.",
    ),
    Metric(
        "model_calls",
        "Model calls",
        "calls",
        "lower",
        "Calls that the strategy made for itself.",
    ),
    Metric(
        "violations",
        "Violations",
        "requests x rules",
        "lower",
        "Broken invariants, counted once a request and rule.",
    ),
)
"""The columns that a report explains, in the order in which it shows them."""
