"""What is broken in a view, found by a look at all of it: the statements of the rules, written out.

`compaction.contract.checker` must say the same at every request, though it looks only at changes.
"""

import re
from collections import Counter
from dataclasses import dataclass, field

from compaction.contract.content import check_edited, check_generated, has_lost_reasoning
from compaction.contract.providers import OPENAI_CHAT, check_messages
from compaction.messages import INSTRUCTION_ROLES
from compaction.pairing import call_key, pair, result_key
from compaction.tiers.results import original_text

PAIRING = {"calls_stay_paired", "batches_stay_whole", "results_stay_adjacent", "open_calls_survive"}


@dataclass
class Request:
    """One request with everything that a checker is told of it."""

    history: object
    entries: list
    promises: object
    events: tuple = ()
    twin: list | None = None
    sizes: tuple | None = None
    recover: object = None
    profile: object = OPENAI_CHAT
    previous: "Request | None" = None
    places: dict = field(init=False)
    """History index -> first position."""

    def __post_init__(self):
        self.places = {}
        for position, entry in enumerate(self.entries):
            if entry.origin.kind != "generated":
                self.places.setdefault(entry.origin.first, position)

    @property
    def messages(self):
        return [entry.message for entry in self.entries]

    def place_of(self, entry):
        return next(at for at, other in enumerate(self.entries) if other is entry)

    def is_whole(self, index):
        return index in self.places and self.messages[self.places[index]] == self.history[index]


def broken(request):
    """Return (rule, position) of all that is broken; -1 is what has no place."""
    found = set(order(request)) | set(groups(request)) | set(written(request))
    found |= set(calls(request)) | set(kept(request)) | set(content(request))
    found |= set(pointers(request)) | set(handles(request)) | set(changes(request))
    if not {rule for rule, _ in found} & PAIRING:
        found |= set(provider(request))
    return {(rule, at) for rule, at in found if not is_declared(rule, request.promises)}


def is_declared(rule, promises):
    if rule in ("never_grows", "prefix_is_stable") and promises.grows:
        return True
    is_made_anew = promises.mode == "viewing" and promises.min_reclaim_tokens is None
    return (rule == "prefix_is_stable" and is_made_anew) or (
        rule == "roles_are_never_raised" and promises.raises_roles
    )


def order(request):
    seen, highest = set(), -1
    for position, entry in enumerate(request.entries):
        index = entry.origin.first
        if entry.origin.kind == "generated":
            continue
        if index in seen:
            yield "nothing_stands_twice", position
        elif index < highest:
            yield "order_is_kept", position
        seen.add(index)
        highest = max(highest, index)


def identity_of(call):
    return call.call_id, call.name, call.kind


def groups(request):
    paired, places = pair(request.history.messages()), request.places
    for index, (caller, made) in paired.call_of.items():
        at, place = places.get(caller), places.get(index)
        here = request.messages[at].tool_calls if at is not None else ()
        is_called = identity_of(made) in map(identity_of, here)
        if place is not None and not (is_called and at < place):
            yield "calls_stay_paired", place
        if place is None and is_called:
            yield "calls_stay_paired", at
    for caller, results in paired.results_of.items():
        shown = [places[index] for index in results if index in places]
        at = places.get(caller)
        if len(results) > 1 and shown and (at is None or len(shown) < len(results)):
            yield "batches_stay_whole", shown[0]
        if at is None or results != [caller + 1 + n for n in range(len(results))]:
            continue
        if shown and sorted(shown) != [at + 1 + n for n in range(len(shown))]:
            yield "results_stay_adjacent", shown[-1]


def written(request):
    by_strategy = {at for at, e in enumerate(request.entries) if e.origin.kind == "generated"}
    paired = pair(request.messages)
    for at in by_strategy & set(paired.orphans):
        yield "calls_stay_paired", at
    for at in by_strategy & {at for at, _ in paired.open_calls} - {len(request.entries) - 1}:
        yield "calls_stay_paired", at


def keys(message):
    made = [f"call {call_key(call)}" for call in message.tool_calls]
    return [*made, f"result {result_key(message)}"] if message.is_result else made


def calls(request):
    made = Counter(key for message in request.history.messages() for key in keys(message))
    shown = Counter(key for message in request.messages for key in keys(message))
    for at, entry in enumerate(request.entries):
        is_written = entry.origin.kind == "generated" and at == request.place_of(entry)
        if is_written and any(shown[key] > made[key] for key in keys(entry.message)):
            yield "ids_stay_unique", at
    messages = list(request.history.messages())
    while messages and messages[-1].is_result:
        messages.pop()
    caller = len(messages) - 1
    if not request.promises.keeps_open_calls or caller < 0 or not messages[caller].tool_calls:
        return
    paired = pair(request.history.messages())
    waiting = [call for at, call in paired.open_calls if at == caller]
    place = request.places.get(caller)
    here = list(request.messages[place].tool_calls) if place is not None else []
    if Counter(waiting) - Counter(here):
        yield "open_calls_survive", -1


def kept(request):
    messages, promises = request.history.messages(), request.promises
    n_instructions = next(
        (at for at, m in enumerate(messages) if m.role not in INSTRUCTION_ROLES), len(messages)
    )
    for at in range(n_instructions if promises.keeps_system else 0):
        if at >= len(request.entries):
            yield "system_is_kept", -1
        elif request.messages[at] != messages[at]:
            yield "system_is_kept", at
    users = [at for at, m in enumerate(messages) if m.role == "user"]
    if promises.keeps_last_user and users and not request.is_whole(users[-1]):
        yield "last_user_is_kept", -1
    results = [at for at, m in enumerate(messages) if m.is_result]
    for index in results[-promises.keep_last_results :] if promises.keep_last_results else []:
        if not request.is_whole(index):
            yield "last_results_are_kept", -1


def content(request):
    history = request.history
    last = max((at for at, m in enumerate(history.messages()) if m.role == "user"), default=None)
    for entry in request.entries:
        at = request.place_of(entry)
        if entry.origin.kind == "generated":
            yield from ((fault.rule, at) for fault in check_generated(entry, history))
        if entry.origin.kind == "edited":
            yield from ((fault.rule, at) for fault in check_edited(entry, history))
            index = entry.origin.first
            lost = has_lost_reasoning(entry.message, history[index])
            if lost and last is not None and index > last:
                yield "reasoning_stays_intact", at


def pointers(request):
    history, pattern = request.history, re.compile(r"[\w.:-]{6,}")

    def words(text):
        return {word.rstrip(".:") for word in pattern.findall(text)}

    results = [(at, m.tool_call_id) for at, m in enumerate(history.messages()) if m.is_result]
    first = {index: request.entries[at].origin.kind for index, at in request.places.items()}
    visible = {call_id for at, call_id in results if first.get(at) == "whole"}
    for entry in request.entries:
        if entry.origin.kind != "edited":
            continue
        before = history[entry.origin.first]
        known = {before.tool_call_id, entry.origin.handle, *words(before.text)}
        for word in words(entry.message.text) - known:
            if word not in {call_id for _, call_id in results} or word in visible:
                continue
            if request.recover is None or request.recover(word) is None:
                yield "pointers_resolve", request.place_of(entry)


def handles(request):
    for at, entry in enumerate(request.entries):
        handle = entry.origin.handle
        if request.recover is None or not request.promises.recoverable or handle is None:
            continue
        if entry.origin.spans and request.place_of(entry) == at:
            original = original_text(request.history[entry.origin.first])
            if handle not in entry.message.text or request.recover(handle) != original:
                yield "handles_resolve", at


def changes(request):
    before, after = request.sizes or (None, None)
    if request.sizes and after > before:
        yield "never_grows", -1
    if request.twin is not None and request.promises.deterministic:
        theirs = [entry.message for entry in request.twin]
        if request.messages != theirs:
            yield "is_deterministic", first_difference(request.messages, theirs)
    earlier = request.previous
    if earlier is None:
        return
    at = first_difference(earlier.messages, request.messages)
    is_changed = at < len(earlier.messages)
    place = at if is_changed and at < len(request.entries) else -1
    if is_changed and request.sizes and earlier.sizes:
        reclaimed = earlier.sizes[1] + (before - earlier.sizes[0]) - after
        if reclaimed < max(1, request.promises.min_reclaim_tokens or 0):
            yield "prefix_is_stable", place
    new = range(len(earlier.history), len(request.history))
    missing = ({*earlier.places} | {*new}) - request.places.keys()
    told = [event.messages_removed for event in request.events if event.outcome == "applied"]
    if not told and (is_changed or missing):
        yield "changes_are_told", place
    elif sum(told) < len(missing):
        yield "changes_are_told", -1


def first_difference(one, two):
    pairs = enumerate(zip(one, two, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(two)))


def provider(request):
    found = check_messages(request.messages, request.profile)
    own = check_messages(request.history.messages(), request.profile)
    ends = {item.rule for item in own if item.is_at_end}
    places = {(item.rule, item.position) for item in own if not item.is_at_end}
    for item in found:
        if item.is_at_end or item.position < 0:
            is_own = item.rule in ends
        else:
            entry = request.entries[item.position]
            index = None if entry.origin.kind == "generated" else entry.origin.first
            is_own = (item.rule, index) in places
        if not is_own:
            yield "roles_stay_legal", item.position
