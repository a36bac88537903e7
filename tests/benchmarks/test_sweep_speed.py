"""A sweep of 48 settings against one tiktoken pass over the transcript's unique text, one of 24
against single runs, and how long `--help` takes.

Run with `pytest tests/benchmarks/test_sweep_speed.py -n 0 -s`. Processor seconds; the pass is the
best of three, a sweep (reading, preparing and writing included, loading of modules not) is run
once.

The goal of 8 passes for all 48 is not met: a setting whose views differ from those of all others is
replayed twice, for itself and for its twin, and that alone costs more than the sixth of a pass that
there would be for it. What is asserted is that a setting costs no more than it does now.
"""

import gc
import json
import resource
import subprocess
import sys
import time

import pytest

from compaction.vocabulary import load_encoding
from evals.extraction.common_names import is_common_name
from evals.loading import survey
from evals.results import RunFolder
from evals.settings import expand
from evals.sweep import Plan, run_plan
from evals.synthetic import generate
from evals.transcripts import to_native

N_MESSAGES = 2_203
GOAL_RATIO = 8.0
"""Of the whole sweep; printed, not asserted."""
MAX_RATIO_OF_A_SETTING = 2.0
MAX_SINGLE_RUNS = 6.0
MAX_HELP_MILLISECONDS = 150.0
GRIDS = {
    "clear_tool_results": {
        "keep_last_results": ["1", "2", "3", "5", "8", "13", "21", "34"],
        "trigger_tokens": ["none", "25%", "40%", "50%", "60%", "75%"],
    },
    "xun": {
        "toolcall_keep_max": ["1", "2", "4", "8", "12", "24"],
        "summary_keep_max": ["8", "16"],
        "token_threshold": ["25%", "40%", "50%", "75%"],
    },
}
HALVES = {
    "clear_tool_results": ["keep_last_results=1,2,3,5,8,13,21,34", "trigger_tokens=25%,50%,75%"],
    "xun": ["toolcall_keep_max=1,2,4,8,12,24", "summary_keep_max=8,16", "token_threshold=25%,50%"],
}
"""24 settings each."""


def tiktoken_pass_seconds(transcript):
    texts = {message.text for message in transcript.messages}
    texts |= {call.arguments for message in transcript.messages for call in message.tool_calls}
    encoding, best = load_encoding(), float("inf")
    for _ in range(3):
        gc.collect()
        started = time.process_time()
        for text in texts:
            encoding.encode_ordinary(text)
        best = min(best, time.process_time() - started)
    return best


def log_of(transcript, folder):
    folder.mkdir()
    path = folder / "log.json"
    path.write_text(json.dumps(to_native(transcript)), encoding="utf-8")
    return path


def sweep_seconds(settings, path, out):
    folder = RunFolder(out)
    folder.create()
    rows = []
    started = time.process_time()
    run_plan(Plan(settings), survey([path]).locations, folder, jobs=1, progress=rows.append)
    spent = time.process_time() - started
    assert [row.error for row in rows if row.status == "error"] == []
    return spent


@pytest.mark.parametrize("strategy", GRIDS)
def test_a_sweep_of_48_settings_costs_few_tokenizer_passes(strategy, tmp_path):
    settings = tuple(expand(strategy, {}, GRIDS[strategy]))
    assert len(settings) == 48
    is_common_name("warm")
    transcript = generate(N_MESSAGES)
    one_pass = tiktoken_pass_seconds(transcript)
    loading = sweep_seconds(settings[:1], log_of(generate(203), tmp_path / "short"), tmp_path / "s")
    path = log_of(transcript, tmp_path / "long")
    first = sweep_seconds(settings[:1], path, tmp_path / "first")

    spent = sweep_seconds(settings, path, tmp_path / "all")

    print(
        f"\n{strategy}: 48 settings in {spent:.1f} s of processor time, "
        f"{spent / one_pass:.1f} tiktoken passes of {one_pass:.2f} s (goal {GOAL_RATIO:g}), "
        f"{spent / 48 / one_pass:.2f} a setting; the first alone {first / one_pass:.1f}, "
        f"loading modules {loading / one_pass:.1f}"
    )
    assert spent / 48 / one_pass <= MAX_RATIO_OF_A_SETTING


def command_seconds(*arguments):
    """Return the processor seconds of a command of ours, and the seconds that it took."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "evals.cli", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return processor, time.perf_counter() - started


@pytest.mark.parametrize("strategy", HALVES)
def test_a_sweep_of_24_settings_costs_less_than_six_runs_of_one(strategy, tmp_path):
    path = log_of(generate(N_MESSAGES), tmp_path / "logs")
    fixed = ["run", path, "--strategy", strategy, "--no-controls", "--jobs", 1]
    grid = [item for values in HALVES[strategy] for item in ("--grid", values)]
    one = [item for values in HALVES[strategy] for item in ("--set", values.split(",")[0])]

    single, _ = command_seconds(*fixed, *one, "--out", tmp_path / "one")
    sweep, _ = command_seconds(*fixed, *grid, "--out", tmp_path / "sweep")

    assert len(list(RunFolder(tmp_path / "sweep").rows())) == 24
    print(f"\n{strategy}: 24 settings {sweep:.1f} s, one {single:.1f} s: {sweep / single:.1f} runs")
    assert sweep / single < MAX_SINGLE_RUNS


def test_help_is_there_at_once():
    measured = [command_seconds("--help") for _ in range(20)]

    processor, wall = (1000 * min(kind) for kind in zip(*measured, strict=True))
    print(f"\n--help: {processor:.0f} ms of processor time, {wall:.0f} ms in all, best of 20")
    assert processor < MAX_HELP_MILLISECONDS


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_bundled_corpus_is_shared_out(jobs, tmp_path):
    processor, wall = command_seconds("run", "--jobs", jobs, "--out", tmp_path / "run")

    rows = sum(1 for _ in RunFolder(tmp_path / "run").rows())
    print(
        f"\n{jobs} workers: {rows} rows of the bundled corpus in {wall:.0f} s, {processor:.0f} s "
        "of processor time"
    )
    assert rows > 0
