"""A dataset on disk, small enough to ask a scripted endpoint about, for the tests of probes."""

import json
from pathlib import Path

from compaction.llm import ModelCall, OpenAIChat
from compaction.messages import messages_from_openai
from evals.cassettes import load_cassette
from evals.loading import load_file
from evals.prepare import Prepared, prepare
from evals.recording.recorder import recorder
from evals.recording.scripted_answers import Reply
from evals.recording.scripted_endpoint import serve_script

MODEL = "small-model"
SYSTEM = {"role": "system", "content": "You work on a relay."}
TOOL = {
    "type": "function",
    "function": {
        "name": "read",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
    },
}
FACTS = [
    {
        "id": "port",
        "kind": "value",
        "values": [["9451"]],
        "stated_at": 3,
        "evidence": "port 9451",
        "question": "Which port does the upstream use?",
        "answers": ["9451"],
    },
    {
        "id": "ticket",
        "kind": "identifier",
        "values": [["WX-3318"]],
        "stated_at": 1,
        "evidence": "Ticket WX-3318",
        "question": "What is the ticket?",
        "answers": ["WX-3318"],
    },
    {
        "id": "late",
        "kind": "value",
        "values": [["LATE-77"]],
        "stated_at": 9,
        "evidence": "code LATE-77",
        "question": "What is the code?",
        "answers": ["LATE-77"],
    },
]
FILLER = "The relay keeps its queue and answers every frame with a line. " * 4


def _round(number: int, result: str) -> list[dict]:
    call = {
        "id": f"c{number}",
        "type": "function",
        "function": {"name": "read", "arguments": json.dumps({"path": f"f{number}.txt"})},
    }
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
    ]


def conversation() -> list[dict]:
    """Return 12 messages: facts at 1, 3 and 9, requests at 2, 4, 6, 8 and 10."""
    return [
        SYSTEM,
        {"role": "user", "content": "Ticket WX-3318: repair the relay."},
        *_round(0, f"Host is new, port 9451. {FILLER}"),
        *_round(1, FILLER),
        *_round(2, FILLER),
        *_round(3, f"Take code LATE-77. {FILLER}"),
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Thanks."},
    ]


def write_dataset(folder: Path) -> Path:
    """Record the conversation as a cassette with facts beside it, and return the cassette."""
    chat = conversation()
    messages = messages_from_openai(chat)
    positions = [at for at, message in enumerate(chat) if message["role"] == "assistant"]
    said = iter(chat[at] for at in positions)

    def say(_: object) -> Reply:
        message = next(said)
        return Reply(message["content"], tuple(message.get("tool_calls", ())))

    cassette = folder / "cassette.json"
    with serve_script(say, model="agent-model") as endpoint, recorder(cassette, mode="record"):
        agent = OpenAIChat("agent-model", endpoint.base_url, max_retries=0)
        for at in positions:
            agent.complete(ModelCall(messages[:at], tools=(TOOL,)))
    (folder / "facts.json").write_text(json.dumps(FACTS), encoding="utf-8")
    return cassette


def prepared_dataset(folder: Path) -> Prepared:
    return prepare(load_file(write_dataset(folder))[0])


def reader_that_reads(body: dict) -> Reply:
    """Answer as a model would that finds every value in what it is sent, and nothing else."""
    text = " ".join(str(message["content"]) for message in body["messages"])
    asked = str(body["messages"][-1]["content"])
    if "<answer>" in text:
        return Reply("yes")
    if "next tool call" in asked:
        path = "f3.txt" if "f2.txt" in text else "f1.txt"
        return Reply(json.dumps({"tool": "read", "arguments": {"path": path}}))
    wanted = {"port": "9451", "ticket": "WX-3318"}
    for word, value in wanted.items():
        if f"{word}" in asked and "answer exactly UNKNOWN" in text:
            context = text.partition("<conversation>")[2].partition("</conversation>")[0]
            return Reply(value if value in context else "UNKNOWN")
    return Reply("## Goal\nRepair the relay under ticket WX-3318.")


def answers_in(cassette: Path) -> int:
    return len(load_cassette(cassette)) if cassette.is_file() else 0
