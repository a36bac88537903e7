"""One truncating rule for both sides: the last 30 % of the text, whole lines.

`KeepTail` is for `compaction-kit check`, `compact` for `compaction-evals`. Needs neither to be
installed where the other is.
"""

KEPT_FRACTION = 0.3
FIRST_ROUND = 80
"""Request index at which `compact` starts: the generated conversation is complete there."""


def keep_tail(turns):
    """Return the tail of (role, text) pairs as one text; a cut line is dropped."""
    text = "\n".join(f"[{role}] {said}" for role, said in turns)
    tail = text[-max(1, int(len(text) * KEPT_FRACTION)) :]
    return tail.partition("\n")[2] if "\n" in tail else tail


class KeepTail:
    name = "keep-tail"

    def compact(self, turns, round_num=1):
        from compaction_kit.compacted import CompactedContext

        text = keep_tail([(turn.role, turn.text) for turn in turns])
        return CompactedContext(text=text, compactor_name=self.name, round_num=round_num)


def compact(messages, context):
    if context["request"] < FIRST_ROUND:
        return messages
    turns = [(message["role"], message.get("content") or "") for message in messages]
    return [{"role": "system", "content": keep_tail(turns)}]
