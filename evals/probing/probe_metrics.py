"""What the columns of recorded answers mean: probes and next actions."""

from typing import Final

from evals.results import Metric

_WHO: Final = (
    "Recorded answers of the model that the row names; they say nothing about other models."
)

PROBE_METRICS: Final = (
    Metric(
        "probes",
        "Probes",
        "questions",
        "neither",
        "Questions with accepted answers about key facts stated before the boundary (the first "
        "request with at least 35 % of the largest request's counted tokens), at most 10 a "
        "transcript, evenly spread. Asked one at a time over the view at that request; the reader "
        f"is told to answer UNKNOWN where the text does not say. {_WHO}",
    ),
    Metric(
        "probes_counted",
        "Counted probes",
        "questions",
        "neither",
        "Those that count: recorded uncompacted, without context and over this view, answered "
        "right from the uncompacted history, and graded; none where the view at the boundary is "
        "the whole history. Unrecorded, not read (the reader fails even uncompacted) and ungraded "
        "ones are counted apart and are no failures. Ungraded: empty, refused, a tool call instead "
        "of text, or left open by grader and judge; `probe_fault` says why.",
    ),
    Metric(
        "probe_right_fraction",
        "Probes right",
        "share of counted probes",
        "higher",
        "Answered right over the view: exactly, or after folding case, width, punctuation and "
        "thousands separators, as a whole or as the only value of a short answer, or by a strict "
        "judge where those do not decide. All of these "
        "were right uncompacted, so uncompacted this is 100 %; what only the view gets right is "
        "not counted.",
    ),
    Metric(
        "probe_unknown_fraction",
        "Probes unknown",
        "share of counted probes",
        "neither",
        "The reader says that the text does not say.",
    ),
    Metric(
        "probe_wrong_fraction",
        "Probes wrong",
        "share of counted probes",
        "lower",
        "The reader gives another answer: worse than none.",
    ),
    Metric(
        "probe_guessed_fraction",
        "Probes guessed",
        "share of counted probes",
        "neither",
        "Answered right without any conversation: what the question gives away.",
    ),
    Metric(
        "probe_effect_retained",
        "Effect retained",
        "share of the context's effect",
        "higher",
        "(right over the view - guessed) / (right uncompacted - guessed): 1 keeps all that the "
        "context is good for, 0 is no better than no context, below 0 is worse.",
    ),
    Metric(
        "probe_variance_answers",
        "Variance of answers",
        "squared share",
        "lower",
        "Of right (1) or not (0) between replicates of one question over one view, by the method "
        "of moments; `probe_variance_questions` is the part between questions. Only where each "
        "question was asked several times (`probe --replicates`). Where summaries were written "
        "several times (`summary_once`, `--grid replicate=0,1,2,3,4`), the report splits the share "
        "of right answers into a part between conversations and one between their summaries.",
    ),
    Metric(
        "judge_kappa",
        "Judge's kappa",
        "Cohen's kappa",
        "higher",
        "Agreement beyond chance of the judge with the grading that needs no model, over the "
        "recorded answers of the cell on which both decided (`judge_pairs`).",
    ),
    Metric(
        "action_call_fraction",
        "Same next call",
        "share of sampled requests",
        "higher",
        "At the first requests from the boundary on whose recorded answer calls a tool, at most "
        "3 a transcript: the model, at temperature 0.3 and a fixed seed, proposes the same tool "
        "with the same arguments (canonical JSON) as from the full history. Not among them: "
        "requests at which the whole history is sent, and those with a reply that is no such "
        "proposal, counted apart (`actions_unreadable`, `action_fault`) and no disagreement. "
        f"{_WHO}",
    ),
    Metric(
        "action_tool_fraction",
        "Same next tool",
        "share of sampled requests",
        "higher",
        "The same, whatever the arguments.",
    ),
    Metric(
        "action_call_aa_fraction",
        "Same next call, A/A",
        "share of sampled requests",
        "neither",
        "Control: at the same requests, asked twice from the full history under two seeds, the "
        "model proposes the same call. What it does not repeat itself, no view can keep.",
    ),
    Metric(
        "action_call_beyond_aa",
        "Next call beyond A/A",
        "share of sampled requests",
        "higher",
        "Same next call minus how often the model repeats its own proposal from the full history "
        "under another seed (A/A): 0 is no worse than asking twice.",
    ),
    Metric(
        "action_tool_beyond_aa",
        "Next tool beyond A/A",
        "share of sampled requests",
        "higher",
        "The same for the tool alone.",
    ),
    Metric(
        "own_seconds",
        "Own seconds",
        "seconds",
        "lower",
        "Time of the strategy's own model calls, as recorded or measured, on whatever machine "
        "answered.",
    ),
)
