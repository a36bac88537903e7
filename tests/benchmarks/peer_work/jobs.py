"""What is run with each tool, how its output is read, and what it cannot do (read in its code)."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

DATASET = "winter-ridership"
OURS = "compaction-evals"


@dataclass(frozen=True)
class Job:
    tool: str
    package: str
    what: str
    command: tuple[str, ...]
    """`{python}`, `{bin}`, `{work}`, `{data}`, `{input}`, `{fresh}` are filled in."""
    read: Callable[[str, Path, dict], str]
    """Make what is reported of the output, the fresh folder and the outputs of earlier jobs."""
    cannot: str
    keep_as: str = ""


def differing(mine: Sequence[Sequence[int]], theirs: Sequence[Sequence[int]]) -> str:
    """Say in how many requests two tools edited the same messages, and which side edited more."""
    same = sum(set(a) == set(b) for a, b in zip(mine, theirs, strict=True))
    pairs = list(zip(mine, theirs, strict=True))
    only_mine = {index for a, b in pairs for index in set(a) - set(b)}
    only_theirs = {index for a, b in pairs for index in set(b) - set(a)}
    return (
        f"same results cleared in {same} of {len(pairs)} requests "
        f"({len(only_mine)} results cleared only here, {len(only_theirs)} only there)"
    )


def _kit_curve(output: str, _folder: Path, _kept: dict) -> str:
    [finding] = json.loads(output)["findings"]
    n_facts = len(json.loads(output)["diagnoses"])
    kept = ", ".join(str(round(share * n_facts)) for share in finding["survival_curve"])
    return (
        f"facts held of {n_facts} after rounds 1 to {len(finding['survival_curve'])}: {kept}; "
        f"verdict {finding['verdict']}, cliff in round {finding['cliff_round']}"
    )


def _our_curve(_output: str, folder: Path, _kept: dict) -> str:
    [cell] = (folder / "run" / "cells").glob("*.json")
    rows = json.loads(cell.read_text(encoding="utf-8"))["facts"]["rows"]
    requests = sorted({request for _, _, request, *_ in rows})
    held = [sum(row[2] == at and row[3] == "kept" for row in rows) for at in requests]
    return (
        f"facts held of {len(rows) // len(requests)} after rounds 1 to {len(requests)}: "
        f"{', '.join(map(str, held))}; {_columns(folder)}"
    )


def _columns(folder: Path) -> str:
    row = json.loads((folder / "run" / "rows.jsonl").read_text(encoding="utf-8").splitlines()[0])
    return f"one row of {len(row)} columns (tokens, needs, facts, invariants, dollars), a report"


def _run_row(_output: str, folder: Path, _kept: dict) -> str:
    return _columns(folder)


def _views(output: str, _folder: Path, _kept: dict) -> str:
    made = json.loads(output)
    return f"{len(made['digests'])} views of {made['chars']:,} characters in all"


def _against(name: str) -> Callable[[str, Path, dict], str]:
    def read(output: str, folder: Path, kept: dict) -> str:
        own = _views(output, folder, kept)
        if name not in kept:
            return own
        made, other = json.loads(output), kept[name]
        pairs = zip(made["digests"], other["digests"], strict=True)
        equal = sum(a == b for a, b in pairs)
        compared = differing(made["edited"], other["edited"]) if made["edited"][-1] else ""
        return f"{own}; against the tool above: {equal} views equal in text. {compared}"

    return read


def _view_job(preset: str, name: str, how: str, cannot: str, against: str) -> Job:
    what = {
        "views": f"preset `{preset}` over the same requests, trigger 0, views alone",
        "replay": "the same by `replay`: every view made twice and counted with tiktoken, "
        "preparing included",
    }[how]
    parameters = '{"trigger_tokens": 0}'
    script = ("{python}", "{work}/our_views.py", DATASET, preset, parameters, how)
    return Job(OURS, OURS, what, script, _against(against), cannot, keep_as=name)


INSPECT_CANNOT = (
    "a library of strategies: `compact` gives messages back and says nothing of what was lost; "
    "tokens are counted by its `compaction()` handler alone, which needs a model"
)
SHORT_LEFT = "clears no thinking; leaves results shorter than the placeholder of 21 characters"
OUR_RUN = ("{bin}/compaction-evals", "run", "--no-controls", "--out", "{fresh}/run")
JOBS = (
    Job(
        "compaction-conformance-kit",
        "compaction-conformance-kit",
        "`check`: 5 rounds of keeping the last 30 % of the text, 40 facts planted in 162 messages",
        (
            *("{bin}/compaction-kit", "check", "{work}/keep_tail.py:KeepTail"),
            *("--session", "{input}/session.json", "--canaries", "{input}/canaries.json"),
            *("--rounds", "5", "--format", "json"),
        ),
        _kit_curve,
        "reads role and text of a turn, no calls; a round sees only the last output, no new "
        "messages; sizes in characters, no tokens or prices; facts must be given; substring match",
    ),
    Job(
        OURS,
        OURS,
        "`run`: the same code, conversation and facts; it compacts at the last 5 of 85 requests",
        (
            *OUR_RUN,
            *("{input}/planted.json", "--strategy", "{work}/keep_tail.py:compact"),
        ),
        _our_curve,
        "no verdict per round and type: rounds have to be laid into the conversation; no budget "
        "leaderboard; no behaviour or exact-use probe without a model",
    ),
    Job(
        "inspect-ai",
        "inspect-ai",
        f"`CompactionEdit` (keep 3) at each request of `{DATASET}`, fed its own output",
        ("{python}", "{work}/inspect_views.py", "{input}/recorded.json", "edit"),
        _views,
        INSPECT_CANNOT,
        keep_as="their_edit",
    ),
    _view_job("inspect_edit", "our_edit", "views", SHORT_LEFT, "their_edit"),
    _view_job("inspect_edit", "", "replay", SHORT_LEFT, "their_edit"),
    Job(
        "inspect-ai",
        "inspect-ai",
        f"`CompactionTrim` (preserve 0.8) at each request of `{DATASET}`, fed its own output",
        ("{python}", "{work}/inspect_views.py", "{input}/recorded.json", "trim"),
        _views,
        INSPECT_CANNOT,
        keep_as="their_trim",
    ),
    _view_job("inspect_trim", "", "views", "-", "their_trim"),
    Job(
        "cutctx",
        "cutctx",
        "`ObservationMaskingPolicy` (keep 3, smallest budget) planned and applied at each request "
        f"of `{DATASET}`",
        ("{python}", "{work}/cutctx_views.py", "{input}/recorded.json"),
        lambda output, folder, kept: (
            f"{_views(output, folder, kept)}; a hash of each plan, ids of masked and dropped "
            "turns, tokens before and after as estimated from characters; against `inspect_edit`: "
            + (
                differing(json.loads(output)["edited"], kept["our_edit"]["edited"])
                if "our_edit" in kept
                else "not compared"
            )
        ),
        "no command line, no measure of what was lost, no token counts of its own; leaves results "
        "shorter than its stub, which is longer than Inspect's",
    ),
    Job(
        OURS,
        OURS,
        f"`run` of `inspect_edit` over `{DATASET}`: all scored, start-up and report included",
        (
            *OUR_RUN,
            f"{{data}}/{DATASET}",
            "--strategy",
            "inspect_edit",
            "--set",
            "trigger_tokens=0",
        ),
        _run_row,
        "no plan that can be approved before it is applied, as CutCtx has",
    ),
)
