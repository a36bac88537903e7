"""Messages of pi sessions as OpenAI chat dicts, by way of Anthropic's blocks.

Messages that pi has and no provider knows are worded as pi words them.
Source: github.com/badlogic/pi-mono, packages/coding-agent/src/core/messages.ts
"""

from typing import Any, Final

from compaction.messages import Json
from evals.importers.anthropic_blocks import (
    assistant_message,
    blocks_of,
    result_message,
    user_messages,
)
from evals.importers.reports import Report
from evals.importers.segment_builder import text_of

SUMMARY_TEXT: Final = (
    "The conversation history before this point was compacted into the following summary:\n\n"
    "<summary>\n{}\n</summary>"
)
BRANCH_TEXT: Final = (
    "The following is a summary of a branch that this conversation came back from:\n\n"
    "<summary>\n{}</summary>"
)


def openai_messages(message: Json, line: int, report: Report) -> list[Json]:
    """Convert what stands in a `message` entry; none if it was not sent."""
    role = str(message.get("role"))
    blocks = _blocks(message.get("content"))
    if role == "assistant":
        if not blocks:
            report.count(line, f"answer without content ({message.get('stopReason')}): not sent")
            return []
        return [assistant_message(blocks)]
    if role == "toolResult" and isinstance(message.get("toolCallId"), str):
        is_error = message.get("isError") is True
        result = {"tool_use_id": message["toolCallId"], "content": blocks, "is_error": is_error}
        return [result_message(result)]
    if role == "bashExecution" and message.get("excludeFromContext") is True:
        report.count(line, "command that the user kept out of the context")
        return []
    if role == "bashExecution":
        return [{"role": "user", "content": _bash_text(message)}]
    if role in ("user", "custom", "hookMessage"):
        return user_message_of(message.get("content"))
    if role in ("branchSummary", "compactionSummary"):
        form = BRANCH_TEXT if role == "branchSummary" else SUMMARY_TEXT
        return [{"role": "user", "content": form.format(text_of(message, "summary") or "")}]
    report.count(line, f"message of unknown role {role!r}", expected=False)
    return []


def user_message_of(content: Any) -> list[Json]:
    return user_messages(_blocks(content))


def _blocks(content: Any) -> list[Any]:
    """Write pi's blocks as Anthropic's."""
    return [_block(block) if isinstance(block, dict) else block for block in blocks_of(content)]


def _block(block: Json) -> Json:
    kind = block.get("type")
    if kind == "thinking":
        signature = text_of(block, "thinkingSignature")
        thinking = {"type": "thinking", "thinking": block.get("thinking")}
        return {**thinking, "signature": signature} if signature else thinking
    if kind == "toolCall":
        call = {"type": "tool_use", "id": block.get("id"), "name": block.get("name")}
        return {**call, "input": block.get("arguments")}
    if kind == "image" and isinstance(block.get("data"), str):
        media = {"media_type": block.get("mimeType", "image/png"), "data": block["data"]}
        return {"type": "image", "source": {"type": "base64", **media}}
    return {"type": kind, "text": block.get("text")} if kind == "text" else block


def _bash_text(message: Json) -> str:
    """Word a command that the user ran, as pi does."""
    output = text_of(message, "output")
    text = f"Ran `{message.get('command')}`\n" + (
        f"```\n{output}\n```" if output else "(no output)"
    )
    if message.get("cancelled") is True:
        return f"{text}\n\n(command cancelled)"
    code = message.get("exitCode")
    if isinstance(code, int) and code:
        text += f"\n\nCommand exited with code {code}"
    full = text_of(message, "fullOutputPath")
    if message.get("truncated") is True and full:
        text += f"\n\n[Output truncated. Full output: {full}]"
    return text
