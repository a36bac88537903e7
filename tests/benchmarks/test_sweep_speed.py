"""A sweep of 48 settings against one tiktoken pass over the transcript's unique text.

Run with `pytest tests/benchmarks/test_sweep_speed.py -n 0 -s`. Processor seconds of one process;
the pass is the best of three, the sweep (reading, preparing and writing included) is run once.

The goal of 8 passes for all 48 is not met, by far: each setting is replayed and scored alone, which
costs some passes each. What is asserted is that a setting costs no more than it does now.
"""

import gc
import json
import time

import pytest

from compaction.vocabulary import load_encoding
from evals.common_names import is_common_name
from evals.loading import survey
from evals.results import RunFolder
from evals.settings import expand
from evals.sweep import Plan, run_plan
from evals.synthetic import generate
from evals.transcripts import to_native

N_MESSAGES = 2_203
GOAL_RATIO = 8.0
"""Of the whole sweep; printed, not asserted."""
MAX_RATIO_OF_A_SETTING = 6.0
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


@pytest.mark.parametrize("strategy", GRIDS)
def test_a_sweep_of_48_settings_costs_few_tokenizer_passes(strategy, tmp_path):
    transcript = generate(N_MESSAGES)
    path = tmp_path / "logs" / "long.json"
    path.parent.mkdir()
    path.write_text(json.dumps(to_native(transcript)), encoding="utf-8")
    settings = tuple(expand(strategy, {}, GRIDS[strategy]))
    assert len(settings) == 48
    is_common_name("warm")
    one_pass = tiktoken_pass_seconds(transcript)
    folder = RunFolder(tmp_path / "run")
    folder.create()
    rows = []

    started = time.process_time()
    run_plan(Plan(settings), survey([path]).locations, folder, jobs=1, progress=rows.append)
    spent = time.process_time() - started

    print(
        f"\n{strategy}: 48 settings in {spent:.1f} s of processor time, "
        f"{spent / one_pass:.1f} tiktoken passes of {one_pass:.2f} s (goal {GOAL_RATIO:g}), "
        f"{spent / 48 / one_pass:.2f} a setting"
    )
    assert [row.error for row in rows if row.status == "error"] == []
    assert spent / 48 / one_pass <= MAX_RATIO_OF_A_SETTING
