"""inspect-ai's `CompactionEdit` or `CompactionTrim`, request by request, fed its own output.

usage: inspect_views.py RECORDED edit|trim, with this repository on the path: the reader of
inspect-ai, `messages_from_openai`, merges messages, so that positions of requests do not hold.
"""

import asyncio
import json
import sys
from pathlib import Path

from inspect_ai.model import CompactionEdit, CompactionTrim
from views import report

from evals.peers.inspect_edit import to_inspect

STRATEGIES = {
    "edit": lambda: CompactionEdit(keep_tool_uses=3, keep_thinking_turns="all", memory=False),
    "trim": lambda: CompactionTrim(preserve=0.8, memory=False),
}


def views(strategy, messages, positions, loop, edited):
    held, seen = [], 0
    for position in positions:
        held = held + messages[seen:position]
        seen = position
        # The model is asked only about thinking, which is kept.
        held, _ = loop.run_until_complete(strategy.compact(None, held, []))
        at = [message.metadata["index"] for message in held]
        pairs = zip(at, held, strict=True)
        edited.append([index for index, item in pairs if item.text != messages[index].text])
        yield [message.text for message in held]


def main():
    recorded = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    messages = [to_inspect(raw, index) for index, raw in enumerate(recorded["messages"])]
    loop = asyncio.new_event_loop()
    strategy, edited = STRATEGIES[sys.argv[2]](), []
    report(views(strategy, messages, recorded["positions"], loop, edited), edited=edited)
    loop.close()


if __name__ == "__main__":
    main()
