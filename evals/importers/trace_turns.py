"""A conversation from model calls that do not log their whole input.

The parent span has the instructions and the prompt; each call adds its answer, and the tool spans
between them the results. Every call is a request, as the log has it.
"""

from collections.abc import Sequence

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
    waiting: list[Json] = []
    for observation in members:
        answer = _answer(observation) if observation.is_model_call else None
        if answer is not None:
            requests.append(_request(observation, len(listed)))
            listed.append(answer)
            waiting += answer.get("tool_calls") or []
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


def _result(observation: Observation, waiting: list[Json]) -> list[Json]:
    """Return the result of the call that a tool span ran, and take the call off the list."""
    given = mapping(observation.input)
    arguments = canonical_json(given.get("input", given))
    call_id = observation.attributes.get("gen_ai.tool.call.id")
    named = [call for call in waiting if call["function"]["name"] == observation.name]
    same = [c for c in named if canonical_json(parsed(c["function"]["arguments"])) == arguments]
    by_id = [call for call in waiting if call["id"] == call_id]
    found = next(iter([*by_id, *same, *named]), None)
    if found is None:
        return []
    waiting.remove(found)
    output = observation.output
    content = output.get("content", output) if isinstance(output, dict) else output
    return [result(found["id"], content if isinstance(content, list) else as_text(content))]
