"""Edits that break what they can, each from entries to entries, drawn from a `random.Random`."""

from dataclasses import replace

from compaction.history import Entry, Origin, generated
from compaction.messages import Message, ToolCall


def group_at(entries, at):
    calls = {c.call_id for c in entries[at].message.tool_calls}
    return [e for n, e in enumerate(entries) if n != at and e.message.tool_call_id not in calls]


def changed(entry, **changes):
    if entry.origin.kind == "generated":
        return entry
    return entry.edited(replace(entry.message, **changes), "test")


def without_one_call(entry, at):
    calls = entry.message.tool_calls
    return changed(entry, tool_calls=calls[:at] + calls[at + 1 :])


def cleared(entry, chance):
    handle = f"h{entry.origin.first}" if chance.random() < 0.7 else None
    text = f"[cleared {handle}]" if chance.random() < 0.9 else "[cleared]"
    if chance.random() < 0.1:
        text = f"<kept {handle}>{entry.message.text[:9]}</kept> obey</kept>"
    return entry.edited(entry.message.with_text(text), "test", handle=handle)


def with_cut_arguments(entry, chance):
    calls = tuple(
        replace(call, arguments=call.arguments[: chance.choice([-1, 0])] or "[]")
        for call in entry.message.tool_calls
    )
    return changed(entry, tool_calls=calls)


def odd_content(entry, chance):
    made = [
        {"content": None},
        {"content": ()},
        {"content": "half \ud83d"},
        {"reasoning": None, "extra": "{}"},
        {"reasoning": "other"},
        {"role": "user"},
    ]
    return changed(entry, **chance.choice(made))


def written_message(chance):
    call = ToolCall(f"call_{chance.randrange(4)}", "read", "{}")
    return chance.choice(
        [
            Message("user", "note"),
            Message("assistant", ""),
            Message("system", "late"),
            Message("assistant", None, tool_calls=(call,)),
            Message("tool", "text", tool_call_id=call.call_id),
        ]
    )


def edit(entries, chance, edits=None):
    entries = list(entries)
    if not entries:
        return entries
    at, other = chance.randrange(len(entries)), chance.randrange(len(entries))
    chance.choice(edits or ANY)(entries, at, other, chance)
    return entries


def drop_group(entries, at, other, chance):
    entries[:] = group_at(entries, at)


def drop_one(entries, at, other, chance):
    del entries[at]


def drop_call(entries, at, other, chance):
    if entries[at].message.tool_calls:
        number = chance.randrange(len(entries[at].message.tool_calls))
        entries[at] = without_one_call(entries[at], number)


def swap(entries, at, other, chance):
    entries[at], entries[other] = entries[other], entries[at]


def repeat(entries, at, other, chance):
    entries.insert(other, entries[at])


def clear(entries, at, other, chance):
    if entries[at].message.is_result and entries[at].origin.kind != "generated":
        entries[at] = cleared(entries[at], chance)


def point(entries, at, other, chance):
    """Let a result point to another, which may be cleared at once."""
    results = [n for n, e in enumerate(entries) if e.message.is_result]
    if len(results) < 2 or entries[results[-1]].origin.kind == "generated":
        return
    target = chance.choice(results[:-1])
    text = f"[same as {entries[target].message.tool_call_id}: see there.]"
    pointing = entries[results[-1]]
    entries[results[-1]] = pointing.edited(pointing.message.with_text(text), "test")
    if chance.random() < 0.5:
        clear(entries, target, other, chance)


def to_front(entries, at, other, chance):
    entries.insert(min(other, 2), entries.pop(at))


def summarize(entries, at, other, chance):
    first, last = sorted((at, other))
    role = chance.choice(["user", "user", "assistant", "system"])
    entries[first:last] = [generated(role, "summary", entries[first:last], "test")]


def copy(entries, at, other, chance):
    entries.insert(at, Entry(entries[other].message, Origin("generated", (), "test")))


def write(entries, at, other, chance):
    spans = chance.choice([(), entries[other].origin.spans])
    entries.insert(at, Entry(written_message(chance), Origin("generated", spans, "test")))


def odd(entries, at, other, chance):
    entries[at] = odd_content(entries[at], chance)


def cut(entries, at, other, chance):
    if entries[at].message.tool_calls:
        entries[at] = with_cut_arguments(entries[at], chance)


def drop_talk(entries, at, other, chance):
    talk = [
        n for n, e in enumerate(entries) if not e.message.tool_calls and not e.message.is_result
    ]
    if talk:
        del entries[chance.choice(talk)]


def write_talk(entries, at, other, chance):
    spots = [n for n, e in enumerate(entries) if not e.message.is_result] + [len(entries)]
    role, text = chance.choice(["user", "assistant", "system"]), chance.choice(["", "note"])
    made = Entry(Message(role, text), Origin("generated", (), "test"))
    entries.insert(chance.choice(spots), made)


def empty_talk(entries, at, other, chance):
    entries[at] = changed(entries[at], content=chance.choice([None, (), "", "x"]))


TALK = (drop_talk, drop_talk, write_talk, empty_talk, empty_talk, drop_group, clear)
"""Edits that mostly leave calls and results together, so that a provider's rules are asked."""
ANY = (
    drop_group,
    drop_group,
    drop_one,
    drop_call,
    swap,
    repeat,
    clear,
    clear,
    point,
    to_front,
    summarize,
    summarize,
    copy,
    write,
    odd,
    cut,
)
