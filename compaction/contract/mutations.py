"""Named faults put into a conversation: what `doctor --strict` finds and a compactor must survive.

Each takes OpenAI message dicts and a place to start looking from, and returns other dicts, or None
where the conversation has nothing that could be damaged this way. What was given is not changed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from compaction.messages import Json, messages_from_openai
from compaction.pairing import Pairing, pair

Damage = Callable[[Sequence[Json], Pairing, int], "list[Json] | None"]


@dataclass(frozen=True, slots=True)
class Mutation:
    """One way in which real logs are damaged."""

    name: str
    statement: str
    damage: Damage

    def apply(self, messages: Sequence[Json], at: int = 0) -> list[Json] | None:
        """Damage a legal conversation at the first fitting place from index `at` on, else before.

        Returns:
            None if there is no such place.
        """
        return self.damage(messages, pair(messages_from_openai(messages)), at)


def _orphan_result(messages: Sequence[Json], _: Pairing, at: int) -> list[Json] | None:
    orphan = {"role": "tool", "content": "whose is this?", "tool_call_id": "call_of_nobody"}
    return [*messages[:at], orphan, *messages[at:]]


def _dangling_call(messages: Sequence[Json], pairing: Pairing, at: int) -> list[Json] | None:
    caller = _caller_from(pairing, at, min_results=1)
    # In the last group a missing result would be a call that is still open, which is legal.
    if caller is None or pairing.results_of[caller][-1] == len(messages) - 1:
        return None
    gone = set(pairing.results_of[caller])
    return [message for index, message in enumerate(messages) if index not in gone]


def _partial_parallel(messages: Sequence[Json], pairing: Pairing, at: int) -> list[Json] | None:
    caller = _caller_from(pairing, at, min_results=2)
    if caller is None or pairing.results_of[caller][-1] == len(messages) - 1:
        return None
    gone = pairing.results_of[caller][0]
    return [*messages[:gone], *messages[gone + 1 :]]


def _duplicate_result(messages: Sequence[Json], pairing: Pairing, at: int) -> list[Json] | None:
    result = _result_from(pairing, at)
    if result is None:
        return None
    return [*messages[: result + 1], messages[result], *messages[result + 1 :]]


def _duplicate_id(messages: Sequence[Json], pairing: Pairing, at: int) -> list[Json] | None:
    caller = _caller_from(pairing, at, min_results=1)
    if caller is None:
        return None
    calls = [*messages[caller]["tool_calls"], messages[caller]["tool_calls"][0]]
    return _with(messages, caller, {**messages[caller], "tool_calls": calls})


def _result_before_call(messages: Sequence[Json], pairing: Pairing, at: int) -> list[Json] | None:
    result = _result_from(pairing, at)
    if result is None:
        return None
    caller = pairing.call_of[result][0]
    rest = [*messages[caller:result], *messages[result + 1 :]]
    return [*messages[:caller], messages[result], *rest]


def _message_inside(messages: Sequence[Json], pairing: Pairing, at: int) -> list[Json] | None:
    return _inside(messages, pairing, at, {"role": "user", "content": "are you still there?"})


def _system_inside(messages: Sequence[Json], pairing: Pairing, at: int) -> list[Json] | None:
    return _inside(messages, pairing, at, {"role": "system", "content": "be brief"})


def _missing_id(messages: Sequence[Json], pairing: Pairing, at: int) -> list[Json] | None:
    result = _result_from(pairing, at)
    if result is None:
        return None
    kept = {key: value for key, value in messages[result].items() if key != "tool_call_id"}
    return _with(messages, result, kept)


def _invalid_arguments(messages: Sequence[Json], pairing: Pairing, at: int) -> list[Json] | None:
    caller = _caller_from(pairing, at, min_results=1)
    if caller is None:
        return None
    first, *rest = messages[caller]["tool_calls"]
    cut = {**first, "function": {**first["function"], "arguments": '{"path": "src/ma'}}
    return _with(messages, caller, {**messages[caller], "tool_calls": [cut, *rest]})


def _empty_assistant(messages: Sequence[Json], pairing: Pairing, at: int) -> list[Json] | None:
    place = next(cut for cut in range(at, len(messages) + 1) if not _is_inside(pairing, cut))
    return [*messages[:place], {"role": "assistant", "content": ""}, *messages[place:]]


def _unknown_role(messages: Sequence[Json], _: Pairing, at: int) -> list[Json] | None:
    return [*messages[:at], {"role": "narrator", "content": "meanwhile"}, *messages[at:]]


def _is_inside(pairing: Pairing, cut: int) -> bool:
    return any(caller < cut <= result for result, (caller, _) in pairing.call_of.items())


def _inside(messages: Sequence[Json], pairing: Pairing, at: int, added: Json) -> list[Json] | None:
    result = _result_from(pairing, at)
    if result is None:
        return None
    return [*messages[:result], added, *messages[result:]]


def _result_from(pairing: Pairing, at: int) -> int | None:
    return _from(sorted(pairing.call_of), at)


def _caller_from(pairing: Pairing, at: int, *, min_results: int) -> int | None:
    callers = (index for index, found in pairing.results_of.items() if len(found) >= min_results)
    return _from(sorted(callers), at)


def _from(places: Sequence[int], at: int) -> int | None:
    """Return the first place from `at` on, else the first of all."""
    return next((place for place in places if place >= at), places[0] if places else None)


def _with(messages: Sequence[Json], index: int, message: Json) -> list[Json]:
    return [*messages[:index], message, *messages[index + 1 :]]


MUTATIONS: Final[Mapping[str, Mutation]] = {
    mutation.name: mutation
    for mutation in (
        Mutation("orphan_result", "A result answers no call.", _orphan_result),
        Mutation("dangling_call", "A call in the middle has no result.", _dangling_call),
        Mutation("partial_parallel", "One of several calls has no result.", _partial_parallel),
        Mutation("duplicate_result", "A result stands twice.", _duplicate_result),
        Mutation("duplicate_id", "One message makes two calls with one id.", _duplicate_id),
        Mutation("result_before_call", "A result stands before its call.", _result_before_call),
        Mutation("message_inside", "A message parts a call from its result.", _message_inside),
        Mutation("system_inside", "So does a system message.", _system_inside),
        Mutation("missing_id", "A result has no call id.", _missing_id),
        Mutation("invalid_arguments", "Arguments are no JSON.", _invalid_arguments),
        Mutation("empty_assistant", "An assistant message says nothing.", _empty_assistant),
        Mutation("unknown_role", "A message has a role nobody knows.", _unknown_role),
    )
}
"""Name -> fault."""
