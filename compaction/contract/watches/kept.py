"""What a strategy promised to keep: instructions, the user's words, results, originals (I8-I30)."""

from collections.abc import Iterator, Sequence

from compaction.contract.faults import Fault, Violation, violation
from compaction.contract.standing import Standing
from compaction.contract.watches.watch import Evidence
from compaction.messages import INSTRUCTION_ROLES
from compaction.tiers.results import original_text


class KeptWatch:
    """Has no memory: what is promised is at few places."""

    def see(
        self, standing: Standing, evidence: Evidence, found: Sequence[Violation]
    ) -> Iterator[Violation]:
        promises, history = evidence.promises, standing.history
        if promises.keeps_system:
            yield from _check_system(standing)
        if promises.keeps_last_user:
            last = history.last_user_position()
            if last is not None and not _is_whole(last, standing):
                text = f"message {last} is gone or changed"
                yield violation("last_user_is_kept", -1, text, concerns=last)
        if promises.keep_last_results:
            for index in history.result_positions()[-promises.keep_last_results :]:
                if not _is_whole(index, standing):
                    text = f"result {index} is gone or changed"
                    yield violation("last_results_are_kept", -1, text, concerns=index)


def _check_system(standing: Standing) -> Iterator[Violation]:
    history, view = standing.history, standing.view
    for index in range(len(history)):
        message = history[index]
        if message.role not in INSTRUCTION_ROLES:
            return
        if index >= len(view) or view.entries[index].message != message:
            position = index if index < len(view) else -1
            yield violation(
                "system_is_kept", position, f"message {index} is gone or changed", concerns=index
            )


def _is_whole(index: int, standing: Standing) -> bool:
    entry = standing.shown.get(index)
    return entry is not None and entry.message == standing.history[index]


class HandleWatch:
    """Asks for the original behind each handle once, when it comes into the view."""

    def __init__(self) -> None:
        self._unresolved: dict[int, Fault] = {}
        """By object id of the entry that names the handle."""

    def see(
        self, standing: Standing, evidence: Evidence, found: Sequence[Violation]
    ) -> Iterator[Violation]:
        for entry in standing.gone if self._unresolved else ():
            self._unresolved.pop(id(entry), None)
        if evidence.recover is not None and evidence.promises.recoverable:
            for entry in standing.come:
                handle, index = entry.origin.handle, entry.origin.first
                if handle is None or index < 0:
                    continue
                if handle not in entry.message.text:
                    text = f"handle {handle!r} is not in the text"
                elif evidence.recover(handle) != original_text(standing.history[index]):
                    text = f"handle {handle!r} does not give back the original"
                else:
                    continue
                self._unresolved[id(entry)] = Fault("handles_resolve", entry, text)
        for fault in self._unresolved.values():
            yield violation(fault.rule, standing.place_of(fault.entry), fault.explanation)
