"""Write the work of all tools into a folder: the planted session in both forms, a bundled log.

usage: make_input.py FOLDER DATASET
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

from compaction.messages import Message, messages_to_openai
from evals.loading import load_bundled
from evals.synthetic import generate
from evals.transcripts import Transcript, single_segment, to_native

ROUNDS = 5
N_MESSAGES = 163
"""80 tool rounds, so that a fact in every second one makes 40."""
ROUND_CHARS = 600


def main() -> None:
    folder, dataset = Path(sys.argv[1]), sys.argv[2]
    planted = generate(N_MESSAGES, round_chars=ROUND_CHARS, facts_every=2)
    _write(folder / "session.json", [_turn(item) for item in planted.messages[:-1]])
    _write(folder / "canaries.json", [_canary(fact) for fact in planted.facts])
    _write(folder / "planted.json", to_native(_with_rounds(planted)))
    [recorded] = load_bundled(dataset)
    positions = [item.position for segment in recorded.segments for item in segment.requests]
    messages = messages_to_openai(recorded.messages)
    _write(folder / "recorded.json", {"messages": messages, "positions": positions})


def _with_rounds(planted: Transcript) -> Transcript:
    """Return the conversation with more requests at its end, every fact asked at each of these."""
    ending = tuple(Message("assistant", "ok") for _ in range(ROUNDS - 1))
    segments = single_segment(planted.messages + ending)
    first = len(segments[0].requests) - ROUNDS
    facts = [
        {**fact, "id": f"{fact['id']}@{number}", "needed_at": first + number}
        for number in range(ROUNDS)
        for fact in planted.facts
    ]
    return replace(planted, segments=segments, facts=tuple(facts))


def _turn(message):
    return {"role": message.role, "content": message.text}


def _canary(fact):
    return {
        "id": fact["id"],
        "type": "fact",
        "content": fact["evidence"],
        "required_tokens": [fact["values"][0][0]],
        "direct_question": fact["question"],
    }


def _write(path, value):
    path.write_text(json.dumps(value), encoding="utf-8")


if __name__ == "__main__":
    main()
