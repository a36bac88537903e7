"""A conversation from model calls that do not log their whole input.

The parent span has the instructions and the prompt; each call adds its answer, and the tool spans
between them the results. Every call is a request, as the log has it.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence

from compaction.errors import MessageError
from compaction.messages import Json, canonical_json, messages_from_openai
from evals.importers.fields import as_text, mapping, result, text
from evals.importers.genai_messages import history_of
from evals.importers.logged_calls import Origin
from evals.importers.observations import Observation, parsed
from evals.importers.reports import Report, orphan_results
from evals.transcripts import RecordedRequest, Segment, Skipped, Transcript


def conversation_below(
    parent: Observation | None, members: Sequence[Observation], origin: Origin, report: Report
) -> Transcript | None:
    """Put model calls and tool spans together, in order of time; None if no call has an answer."""
    calls = [observation for observation in members if observation.is_model_call]
    where = f"observation {parent.id if parent else None}"
    listed = _opening(parent, calls[0])
    requests: list[RecordedRequest] = []
    waiting = _Waiting()
    for observation in members:
        answer = _answer(observation) if observation.is_model_call else None
        if answer is not None:
            requests.append(_request(observation, len(listed)))
            listed.append(answer)
            waiting.add(answer.get("tool_calls") or ())
        elif observation.is_model_call:
            report.add(f"observation {observation.id}", "a model call without an answer")
        else:
            listed += _result(observation, waiting)
    try:
        messages = messages_from_openai(listed)
    except MessageError as error:
        report.add(where, f"its calls are not understood: {error}")
        return None
    if not requests:
        return None
    note = Skipped(
        where,
        f"{len(requests)} model calls without their whole input: put together in order of time",
        expected=True,
    )
    return Transcript(
        name=origin.name,
        segments=(Segment(messages, tuple(requests)),),
        source=origin.source,
        format=origin.format,
        session=origin.session,
        project=origin.project,
        tools=next((call.tools for call in calls if call.tools), ()),
        skipped=(note, *orphan_results(messages)),
        includes_reasoning=any(message.reasoning for message in messages[:-1]),
    )


def _opening(parent: Observation | None, first: Observation) -> list[Json]:
    """Return what the first call was sent."""
    given = mapping(parent.input) if parent else {}
    system, prompt = text(given.get("system")), text(given.get("prompt"))
    opening: list[Json] = [{"role": "system", "content": system}] if system else []
    sent = history_of(first.input) or (history_of(parent.input) if parent else None)
    if sent:
        has_own = sent[0].get("role") in ("system", "developer")
        return sent if has_own else [*opening, *sent]
    return [*opening, {"role": "user", "content": prompt}] if prompt else opening


def _answer(observation: Observation) -> Json | None:
    made = history_of(observation.output)
    if isinstance(observation.output, str):
        made = [{"role": "assistant", "content": observation.output}]
    return {**made[-1], "role": "assistant"} if made else None


def _request(observation: Observation, position: int) -> RecordedRequest:
    return RecordedRequest(position, observation.time or None, observation.model, observation.usage)


def _result(observation: Observation, waiting: "_Waiting") -> list[Json]:
    """Return the result of the call that a tool span ran."""
    call_id = waiting.taken_by(observation)
    if call_id is None:
        return []
    output = observation.output
    content = output.get("content", output) if isinstance(output, dict) else output
    return [result(call_id, content if isinstance(content, list) else as_text(content))]


class _Waiting:
    """Calls without a result, found by id, by name and arguments, or by name alone, in order."""

    def __init__(self) -> None:
        self._by_key: defaultdict[tuple[str, ...], deque[int]] = defaultdict(deque)
        self._ids: list[str] = []
        self._taken: set[int] = set()

    def add(self, calls: Iterable[Json]) -> None:
        for call in calls:
            call_id, function = as_text(call.get("id")), mapping(call.get("function"))
            name = as_text(function.get("name"))
            arguments = canonical_json(parsed(function.get("arguments")))
            for key in (("id", call_id), ("call", name, arguments), ("name", name)):
                self._by_key[key].append(len(self._ids))
            self._ids.append(call_id)

    def taken_by(self, observation: Observation) -> str | None:
        """Take the call that a tool span answers off the list and return its id."""
        given = mapping(observation.input)
        arguments = canonical_json(given.get("input", given))
        call_id = as_text(observation.attributes.get("gen_ai.tool.call.id"))
        name = observation.name
        for key in (("id", call_id), ("call", name, arguments), ("name", name)):
            found = self._by_key[key]
            while found:
                number = found.popleft()
                if number not in self._taken:
                    self._taken.add(number)
                    return self._ids[number]
        return None
