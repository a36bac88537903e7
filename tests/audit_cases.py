"""One story with a compaction in it, as four agents record it, for the tests of audits.

Before the boundary results bring four things that are used afterwards: `port=8787`, which the
summary retells; `/srv/data/ledger.db`, which is read again first; `deploy/hosts.ini`, which the
summary only lists; and `config/retry.yaml`, which nothing holds any more when it is used. The
summary also lists `/srv/app/ghost_module.py`, which nobody had named. The agent reads
`/srv/app/export.py` again, unchanged.
"""

import json
from pathlib import Path

from compaction.extractive import ExtractiveModel
from compaction.messages import Message, ToolCall
from evals.audit.contestants import default_contestants
from evals.audit.sessions import AuditPlan, audit_session
from evals.loading import load_file
from evals.money.price_choice import PriceChoice
from evals.settings import Setting
from evals.transcripts import RecordedCompaction, Segment, Transcript, requests_at
from tests.import_cases import write_lines

ASKED = "Fix the nightly job and do not touch the billing tables."
EXPORT = (
    "The exporter server listens on port=8787 behind nginx.\n"
    "store: /srv/data/ledger.db\n"
    "def run(): pass"
)
SEARCHED = "deploy/hosts.ini: exporter01\nconfig/retry.yaml: four tries"
SUMMARY = (
    "The exporter server listens on port=8787 behind nginx.\n"
    "Files: deploy/hosts.ini, /srv/app/ghost_module.py"
)
NEXT = "Go on."
BEFORE = (
    ("user", ASKED),
    ("call", "c1", "read_file", {"path": "/srv/app/export.py"}, EXPORT),
    ("call", "c2", "grep", {"pattern": "tries"}, SEARCHED),
    ("says", "I have seen what there is."),
)
AFTER = (
    ("user", NEXT),
    ("call", "c3", "read_file", {"path": "/srv/app/export.py"}, EXPORT),
    ("call", "c4", "run", {"run": "sqlite3 /srv/data/ledger.db"}, "ok"),
    ("call", "c5", "run", {"run": "serve port=8787"}, "ok"),
    ("call", "c6", "run", {"run": "ping deploy/hosts.ini"}, "ok"),
    ("call", "c7", "run", {"run": "lint config/retry.yaml"}, "ok"),
    ("says", "Done."),
)
OUTCOMES = {
    "/srv/data/ledger.db": "read_again",
    "port=8787": "kept",
    "deploy/hosts.ini": "named",
    "config/retry.yaml": "lost",
}


def messages(steps):
    """Return steps as messages."""
    found = []
    for kind, *parts in steps:
        if kind == "call":
            call_id, name, arguments, result = parts
            call = ToolCall(call_id, name, json.dumps(arguments))
            found += [Message("assistant", "", tool_calls=(call,))]
            found += [Message("tool", result, tool_call_id=call_id)]
        else:
            found.append(Message("user" if kind == "user" else "assistant", parts[0]))
    return tuple(found)


def segment(found, *, n_sent=0, opened_by=None):
    """Return a segment whose first `n_sent` messages were no answers to requests of it."""
    positions = (at for at, m in enumerate(found) if m.role == "assistant" and at >= n_sent)
    return Segment(tuple(found), requests_at(positions), opened_by)


def compacted(before=BEFORE, after=AFTER, *, summary=SUMMARY, kind="full"):
    """Return a transcript: everything before is replaced by the summary."""
    opened_by = RecordedCompaction(kind, "auto", 9_000, None, summary)
    written = (Message("user", summary),)
    return Transcript(
        "story",
        (
            segment(messages(before)),
            segment(written + messages(after), opened_by=opened_by),
        ),
        source="story.json",
    )


def plan(*settings, show_text=True):
    chosen = tuple(settings) or tuple(default_contestants())
    prices = PriceChoice(as_of="2026-11-30")
    return AuditPlan(chosen, ExtractiveModel(), prices, show_text=show_text)


def boundary_of(transcript, *settings, show_text=True):
    (found,) = audit_session(transcript, plan(*settings, show_text=show_text)).boundaries
    return found


def control(name):
    return Setting(name)


def claude_code(folder: Path) -> Path:
    lines, parent = [], None

    def add(kind, **fields):
        nonlocal parent
        uuid = f"u{len(lines)}"
        lines.append(
            {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "story-cc", **fields}
        )
        parent = uuid

    def tell(steps):
        for kind, *parts in steps:
            if kind == "user":
                add("user", message={"role": "user", "content": parts[0]})
                continue
            block = {"type": "text", "text": parts[0]}
            if kind == "call":
                block = {"type": "tool_use", "id": parts[0], "name": parts[1], "input": parts[2]}
            made = {"id": f"m{len(lines)}", "role": "assistant", "content": [block]}
            add("assistant", message=made)
            if kind == "call":
                result = {"type": "tool_result", "tool_use_id": parts[0], "content": parts[3]}
                add("user", message={"role": "user", "content": [result]})

    tell(BEFORE)
    logical, parent = parent, None
    metadata = {"trigger": "auto", "preTokens": 9_000}
    add(
        "system",
        subtype="compact_boundary",
        logicalParentUuid=logical,
        compactMetadata=metadata,
        content="Conversation compacted",
    )
    add("user", isCompactSummary=True, message={"role": "user", "content": SUMMARY})
    tell(AFTER)
    return write_lines(folder / "claude.jsonl", lines)


def pi(folder: Path) -> Path:
    """As pi records it: the last entry before the compaction is kept beside the summary."""
    lines = [{"type": "session", "id": "story-pi", "timestamp": _at(0), "cwd": "/srv/app"}]

    def tell(steps):
        for kind, *parts in steps:
            if kind == "user":
                _pi_line(lines, {"role": "user", "content": parts[0]})
            elif kind == "says":
                content = [{"type": "text", "text": parts[0]}]
                _pi_line(lines, {"role": "assistant", "content": content, "stopReason": "stop"})
            else:
                call_id, name, arguments, result = parts
                call = {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}
                _pi_line(lines, {"role": "assistant", "content": [call], "stopReason": "toolUse"})
                answer = {"role": "toolResult", "toolCallId": call_id, "toolName": name}
                content = [{"type": "text", "text": result}]
                _pi_line(lines, {**answer, "content": content, "isError": False})

    tell(BEFORE)
    kept = len(lines) - 1
    lines.append(
        {
            "type": "compaction",
            "timestamp": _at(len(lines)),
            "summary": SUMMARY,
            "firstKeptEntryIndex": kept,
            "tokensBefore": 9_000,
        }
    )
    tell(AFTER)
    return write_lines(folder / "pi.jsonl", lines)


def _pi_line(lines, message):
    lines.append({"type": "message", "timestamp": _at(len(lines)), "message": message})


def codex(folder: Path) -> Path:
    """As Codex records a local compaction: it keeps the user's messages beside the summary."""
    lines = [_codex_line("session_meta", {"id": "story-codex", "cwd": "/srv/app"})]

    def tell(steps):
        for kind, *parts in steps:
            if kind == "call":
                call_id, name, arguments, result = parts
                call = {"type": "function_call", "name": name, "call_id": call_id}
                lines.append(
                    _codex_line("response_item", {**call, "arguments": json.dumps(arguments)})
                )
                output = {"type": "function_call_output", "call_id": call_id, "output": result}
                lines.append(_codex_line("response_item", output))
                continue
            role = "user" if kind == "user" else "assistant"
            block = {"type": "input_text" if kind == "user" else "output_text", "text": parts[0]}
            item = {"type": "message", "role": role, "content": [block]}
            lines.append(_codex_line("response_item", item))

    tell(BEFORE)
    lines.append(_codex_line("compacted", {"message": SUMMARY}))
    tell(AFTER)
    return write_lines(folder / "rollout-story.jsonl", lines)


def _codex_line(kind, payload):
    return {"timestamp": "2026-11-30T10:00:00.000Z", "type": kind, "payload": payload}


def cline(folder: Path) -> Path:
    found = []

    def add(role, content, **more):
        found.append(
            {
                "id": str(len(found)),
                "role": role,
                "content": content,
                "ts": 1_772_355_601_000 + 1_000 * len(found),
                **more,
            }
        )

    def tell(steps):
        for kind, *parts in steps:
            if kind == "call":
                call_id, name, arguments, result = parts
                use = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
                add("assistant", [use])
                answer = {"type": "tool_result", "tool_use_id": call_id, "content": result}
                add("user", [answer])
            else:
                role = "user" if kind == "user" else "assistant"
                add(role, [{"type": "text", "text": parts[0]}])

    tell(BEFORE)
    metadata = {"kind": "compaction_summary", "summary": SUMMARY, "tokensBefore": 9_000}
    add("user", [{"type": "text", "text": f"Context: {SUMMARY}"}], metadata=metadata)
    tell(AFTER)
    path = folder / "cline.json"
    session = {
        "version": 1,
        "agent": "lead",
        "sessionId": "story-cline",
        "system_prompt": "Be kind.",
    }
    path.write_text(json.dumps({**session, "messages": found}))
    return path


def _at(second):
    return f"2026-11-30T10:00:{second:02d}.000Z"


FORMATS = {"claude-code": claude_code, "pi": pi, "codex": codex, "cline": cline}


def read(path):
    (transcript,) = load_file(path)
    return transcript
