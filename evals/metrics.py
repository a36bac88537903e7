"""What each number of a row means. Written into every run, so that a report carries definitions."""

from typing import Final

from evals.fidelity.oracle_metrics import ORACLE_METRICS
from evals.fidelity.survival_metrics import SURVIVAL_METRICS
from evals.money.cost_metrics import COST_METRICS
from evals.probing.probe_metrics import PROBE_METRICS
from evals.results import Metric

METRICS_VERSION: Final = "15"
"""Part of every cell id: raise it when a definition changes, and old rows are run again."""

MADE_BY_REPORTS: Final = frozenset(
    {
        "mean_saving_fraction",
        "mean_peak_tokens_after",
        "matched_reach",
        "reach_difference",
        "compared_reach",
        "dearer",
    }
)
"""Metrics that no row holds: they need rows of several transcripts or settings."""

METRICS: Final = (
    Metric(
        "saving_fraction",
        "Saved input",
        "share of input tokens",
        "higher",
        "1 - (input tokens of all views) / (input tokens of all recorded requests), over the "
        "requests of all transcripts together. Calibrated to the recorded usage where there is "
        "any. The strategy's own model calls are not in it; see model calls.",
    ),
    Metric(
        "mean_saving_fraction",
        "Mean saving",
        "share of input tokens",
        "higher",
        "The saving of each transcript by itself, then the mean: a long transcript counts no more "
        "than a short one.",
    ),
    Metric(
        "engaged",
        "Engaged/scored/all",
        "transcripts",
        "neither",
        "Engaged: the setting saved at least 1 % of the input tokens; only there is it judged by "
        "what it loses. Scored: the replay finished. All: the replay was tried.",
    ),
    Metric(
        "peak_tokens_after",
        "Largest peak",
        "tokens",
        "lower",
        "The largest input of one request, as compacted; of several transcripts the largest.",
    ),
    Metric(
        "mean_peak_tokens_after",
        "Mean peak",
        "tokens",
        "lower",
        "The largest input of one request of each transcript, then the mean.",
    ),
    Metric(
        "calibration_error_fraction",
        "Calibration error",
        "share of a request's tokens",
        "lower",
        "How far the calibrated count is from the recorded usage: the median over requests that "
        "were held back from the fit, every second one. Of several segments that with the most "
        "requests. Without recorded usage there is none, and tokens are as counted.",
    ),
    Metric(
        "needs",
        "Needs",
        "needs",
        "neither",
        "A need is a specific path, URL, id, name, value or error that the recorded assistant used "
        "and that an earlier tool result or user message had brought. Specific: in at most 5 "
        "earlier messages, and not a common name. Once for each reference and request, at most 20 "
        "a request. Counted here: those over long gaps, of more than 3 requests since the last "
        "message that held it, this request included. Not among them, each counted by itself over "
        "all gaps: pinned (also in the instructions, the tool schemas or the first user message, "
        "so hard to lose), derived (first seen in the assistant's own words), reread (used only "
        "to repeat a call that was made before), quotes (see quotes kept) and unresolvable ones.",
    ),
    Metric(
        "reach",
        "Reach",
        "share of needs",
        "higher",
        "The share of needs still visible in their source, restated in a line that shares at least "
        "three informative words with it, or recoverable through a handle that was tested. Over "
        "gaps of more than 3 requests; mean over the requests of a transcript that have needs, "
        "then over transcripts. An estimate from text of what a model could still use: visible "
        "is not understood, so it mostly says too much; what is restated in another form is "
        "missed.",
    ),
    Metric(
        "matched_reach",
        "Truncation",
        "share of needs",
        "neither",
        "What keeping only the newest messages reaches at exactly the saving of the setting, on "
        "each transcript, read between the 16 sizes that were run, and from nothing saved and all "
        "reached on; a mean over the transcripts whose measured sizes go up to that saving.",
    ),
    Metric(
        "reach_difference",
        "Difference",
        "percentage points",
        "higher",
        "Reach minus the reach of truncation at the same saving, on the same transcripts. Above "
        "zero the setting is worth more than dropping old messages. The interval is 95 %, by "
        "bootstrap over sessions, from 10 sessions on; below that the range of the transcripts.",
    ),
    Metric(
        "compared_reach",
        "Compared with truncation",
        "transcripts",
        "neither",
        "Transcripts behind all that stands against truncation: with needs over long gaps, on "
        "which the setting engaged and truncation was measured at its saving. Saved there and "
        "reach there are those of the setting on these transcripts only.",
    ),
    Metric(
        "lost",
        "Lost",
        "needs",
        "lower",
        "Needs over long gaps, of all transcripts together, that are neither visible, be it as a "
        "bare word, nor recoverable, nor could be had by repeating a read-only call that is still "
        "visible. Beside them those that are reached, only mentioned, or repeatable: to be had by "
        "such a call. They add up to all needs, but for those not declared.",
    ),
    Metric(
        "undeclared",
        "Not declared",
        "needs",
        "neither",
        "Needs over long gaps that would be lost, in code that does not say whether it can give "
        "originals back: neither lost nor reached. An object with `recover(handle)` is asked.",
    ),
    Metric(
        "mentioned",
        "Mentioned",
        "needs",
        "neither",
        "Needs over long gaps whose reference is visible as a bare word only, without its line, "
        "and not recoverable. Not part of reach: a list of all references must not score; not lost "
        "either.",
    ),
    Metric(
        "quote_kept_fraction",
        "Quotes kept",
        "share of quote needs",
        "higher",
        "Earlier bytes that an edit call had to reproduce and that were still in the view: in a "
        "message that held them, or verbatim in a text that the strategy wrote or edited. Over all "
        "gaps. The share of a transcript, then the mean over transcripts. Quotes that the "
        "assistant itself had written (derived quotes) are not among them.",
    ),
    Metric(
        "facts_kept_fraction",
        "Facts kept",
        "share of facts",
        "higher",
        "Of the annotated key facts whose source no longer stands whole in the view: those kept "
        "with value and meaning, or recoverable. Judged where the fact is needed, else at the "
        "last request of its segment. The share of a transcript, then the mean over transcripts. "
        "After each compaction, until it is needed, in the sidecars.",
    ),
    Metric(
        "compactions",
        "Requests compacted",
        "requests",
        "neither",
        "Requests at which the strategy changed the view.",
    ),
    Metric(
        "compactions_failed",
        "Failed steps",
        "steps",
        "lower",
        "Steps that came to nothing, in nearly all cases a summary: the call failed, or the text "
        "was empty, cut, refused or no shorter. The view is then what the strategy made without "
        "it.",
    ),
    Metric(
        "model_calls",
        "Model calls",
        "calls",
        "lower",
        "Calls that the strategy made for itself and that were answered.",
    ),
    Metric(
        "violations",
        "Violations",
        "requests x rules",
        "lower",
        "Broken invariants, counted once a request and rule.",
    ),
    *ORACLE_METRICS,
    *SURVIVAL_METRICS,
    *COST_METRICS,
    *PROBE_METRICS,
)
"""The columns that a report explains, in the order in which it explains them."""
