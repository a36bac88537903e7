"""Call ids that a strategy writes, and calls that wait for their results (I3, I4)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from compaction.contract.faults import Violation, violation
from compaction.contract.standing import Standing
from compaction.contract.watches.watch import Evidence
from compaction.history import Entry
from compaction.messages import Message
from compaction.pairing import call_key, result_key


class CallWatch:
    """Counts ids only from the first call or result on that a strategy wrote."""

    def __init__(self) -> None:
        self._written: dict[int, Entry] = {}
        self._made: Counter[str] | None = None
        """How often each call is made and answered in the history, and in the view."""
        self._shown: Counter[str] = Counter()

    def see(
        self, standing: Standing, evidence: Evidence, found: Sequence[Violation]
    ) -> Iterator[Violation]:
        self._follow(standing)
        yield from self._check_ids(standing)
        if evidence.promises.keeps_open_calls:
            yield from _check_open(standing)

    def _follow(self, standing: Standing) -> None:
        for entry in standing.gone if self._written else ():
            self._written.pop(id(entry), None)
        for entry in standing.come:
            if entry.origin.kind == "generated" and _keys(entry.message):
                self._written[id(entry)] = entry
        if self._made is not None:
            self._made.update(_keys_of(standing.history[at] for at in standing.learned))
            self._shown.subtract(_keys_of(entry.message for entry in standing.taken))
            self._shown.update(_keys_of(entry.message for entry in standing.come))
        elif self._written:
            self._made = Counter(_keys_of(standing.history.messages()))
            self._shown = Counter(_keys_of(standing.view.messages))

    def _check_ids(self, standing: Standing) -> Iterator[Violation]:
        made = self._made or Counter[str]()
        for entry in self._written.values():
            twice = [key for key in _keys(entry.message) if self._shown[key] > made[key]]
            if twice:
                text = f"{twice[0].partition(':')[2]!r} is here more often than in the history"
                yield violation("ids_stay_unique", standing.place_of(entry), text)


def _check_open(standing: Standing) -> Iterator[Violation]:
    history, start = standing.history, len(standing.history)
    while start and history[start - 1].is_result:
        start -= 1
    if not start or not history[start - 1].tool_calls:
        return
    caller = start - 1
    calls = Counter(history[caller].tool_calls)
    calls.subtract(
        standing.pairing.call_of[at][1] for at in standing.pairing.results_of.get(caller, [])
    )
    if not +calls:
        return
    shown = standing.shown.get(caller)
    if shown is None or +calls - Counter(shown.message.tool_calls):
        text = f"message {caller} has open calls and is gone or changed"
        yield violation("open_calls_survive", -1, text, concerns=caller)


def _keys_of(messages: Iterable[Message]) -> Iterator[str]:
    return (key for message in messages for key in _keys(message))


def _keys(message: Message) -> list[str]:
    keys = [f"call:{call_key(call)}" for call in message.tool_calls]
    return [*keys, f"result:{result_key(message)}"] if message.is_result else keys
