"""Observations of a trace in one form: from Langfuse exports and from OpenTelemetry (OTLP) JSON.

Here: what each spelling calls its fields. What a conversation is made of is in `langfuse_otel`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from compaction.llm import Usage
from compaction.messages import Json
from evals.importers.fields import as_text, count, first_text, function_tool, mapping, objects, text
from evals.importers.usages import logged_usage, unix_seconds

JsonValue = Any
GENERATION_KINDS: Final = frozenset({"GENERATION", "CHAT", "LLM"})
MODEL_OPERATIONS: Final = frozenset({"chat", "generate_content", "text_completion", "completion"})


@dataclass(frozen=True, slots=True)
class Observation:
    """One span of a trace."""

    id: str
    parent: str | None
    trace: str | None
    kind: str
    """`GENERATION`, `TOOL`, or anything else."""
    name: str
    time: float
    """Of its start."""
    input: JsonValue
    output: JsonValue
    attributes: Mapping[str, Any]
    model: str | None = None
    usage: Usage | None = None
    tools: tuple[Json, ...] = ()

    @property
    def is_model_call(self) -> bool:
        return self.kind in GENERATION_KINDS


def observations_of(value: JsonValue) -> list[Observation]:
    """Return the observations of a logged value, in its order; none if it is no trace."""
    if isinstance(value, dict) and isinstance(value.get("resourceSpans"), list):
        return [_of_span(span) for span in _spans(value)]
    return [_of_langfuse(raw) for raw in _listed(value)]


def is_observation(raw: JsonValue) -> bool:
    return isinstance(raw, dict) and "startTime" in raw and isinstance(raw.get("type"), str)


def is_trace(value: JsonValue) -> bool:
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("resourceSpans"), list):
        return any(key.startswith("gen_ai.") for s in _spans(value) for key in _flat(s))
    return any(map(is_observation, _listed(value)[:5]))


def _listed(value: JsonValue) -> list[Json]:
    """Return raw observations; a trace object beside them repeats them without their texts."""
    if is_observation(value):
        return [value]
    if isinstance(value, list):
        return objects(value)
    given = mapping(value)
    return objects(given.get("observations")) or objects(
        mapping(given.get("trace")).get("observations")
    )


def _of_langfuse(raw: Json) -> Observation:
    metadata = mapping(parsed(raw.get("metadata")))
    attributes = {k: parsed(v) for k, v in mapping(metadata.get("attributes")).items()}
    given = raw.get("input")
    return Observation(
        id=as_text(raw.get("id")),
        parent=first_text(raw, "parentObservationId", "parent_observation_id"),
        trace=first_text(raw, "traceId", "trace_id"),
        kind=str(raw.get("type")).upper(),
        name=as_text(raw.get("name")),
        time=unix_seconds(raw.get("startTime")) or 0.0,
        input=parsed(given),
        output=parsed(raw.get("output")),
        attributes=attributes,
        model=text(raw.get("model")),
        usage=_langfuse_usage(raw),
        tools=_tools(attributes, mapping(parsed(given)), mapping(raw.get("toolDefinitions"))),
    )


def _langfuse_usage(raw: Json) -> Usage | None:
    """Read `usageDetails`, whose entries add up to the total; older ones repeat parts of it."""
    details = mapping(raw.get("usageDetails")) or mapping(raw.get("usage"))
    numbers = {key: n for key, value in details.items() if (n := count(value)) is not None}
    total = numbers.pop("total", None)
    if "input" not in numbers and "output" not in numbers:
        return None
    sent, made = numbers.get("input", 0), numbers.get("output", 0)
    inputs = {key: n for key, n in numbers.items() if "input" in key}
    outputs = {key: n for key, n in numbers.items() if "input" not in key and "output" in key}
    if total is None or total != sent + made:
        sent, made = sum(inputs.values()), sum(outputs.values())
    read = [n for key, n in inputs.items() if "read" in key or "cached" in key]
    written = [n for key, n in inputs.items() if "creation" in key or "write" in key]
    return logged_usage(sent, made, sum(read) if read else None, sum(written) if written else None)


def _spans(value: Json) -> Iterator[Json]:
    for resource in objects(value.get("resourceSpans")):
        scopes = objects(resource.get("scopeSpans"))
        for scope in scopes or objects(resource.get("instrumentationLibrarySpans")):
            yield from objects(scope.get("spans"))


def _flat(span: Json) -> dict[str, JsonValue]:
    """Return a span's attributes as plain values."""
    return {
        as_text(item.get("key")): _plain(mapping(item.get("value")))
        for item in objects(span.get("attributes"))
    }


def _plain(value: Json) -> JsonValue:
    if isinstance(value.get("arrayValue"), dict):
        return [_plain(item) for item in objects(value["arrayValue"].get("values"))]
    if isinstance(value.get("kvlistValue"), dict):
        items = objects(value["kvlistValue"].get("values"))
        return {as_text(item.get("key")): _plain(mapping(item.get("value"))) for item in items}
    return next(iter(value.values()), None)


def _of_span(span: Json) -> Observation:
    attributes = {key: parsed(value) for key, value in _flat(span).items()}
    operation = str(attributes.get("gen_ai.operation.name"))
    kind = "GENERATION" if operation in MODEL_OPERATIONS else "SPAN"
    if operation == "execute_tool":
        kind = "TOOL"
    start = span.get("startTimeUnixNano")
    nanoseconds = int(start) if isinstance(start, str) and start.isdecimal() else count(start)
    system = attributes.get("gen_ai.system_instructions")
    sent = attributes.get("gen_ai.input.messages", attributes.get("gen_ai.tool.call.arguments"))
    if isinstance(system, list) and isinstance(sent, list):
        sent = [{"role": "system", "parts": system}, *sent]
    return Observation(
        id=as_text(span.get("spanId")),
        parent=text(span.get("parentSpanId")),
        trace=text(span.get("traceId")),
        kind=kind,
        name=text(attributes.get("gen_ai.tool.name")) or as_text(span.get("name")),
        time=(nanoseconds or 0) / 1e9,
        input=sent,
        output=attributes.get("gen_ai.output.messages", attributes.get("gen_ai.tool.call.result")),
        attributes=attributes,
        model=first_text(attributes, "gen_ai.response.model", "gen_ai.request.model"),
        usage=_span_usage(attributes),
        tools=_tools(attributes, {}, {}),
    )


def _span_usage(attributes: Mapping[str, Any]) -> Usage | None:
    """Read usage; the convention counts cached tokens as part of the input."""
    names = (
        "input_tokens",
        "output_tokens",
        "cache_read.input_tokens",
        "cache_creation.input_tokens",
    )
    raw = [attributes.get(f"gen_ai.usage.{name}") for name in names]
    numbers = [int(x) if isinstance(x, str) and x.isdecimal() else count(x) for x in raw]
    sent, made, read, written = numbers
    if sent is None or made is None:
        return None
    return logged_usage(sent, made, read, written)


def _tools(attributes: Mapping[str, Any], given: Json, definitions: Json) -> tuple[Json, ...]:
    """Return the tool schemas of a call, wherever its instrumentation puts them."""
    parameters = mapping(attributes.get("model_request_parameters"))
    listed = (
        objects(attributes.get("gen_ai.tool.definitions"))
        or [*objects(parameters.get("function_tools")), *objects(parameters.get("output_tools"))]
        or objects(given.get("tools"))
        or [{"name": name, **mapping(parsed(raw))} for name, raw in definitions.items()]
    )
    return tuple(_tool(raw) for raw in listed)


def _tool(raw: Json) -> Json:
    if isinstance(raw.get("function"), dict):
        return raw
    keys = ("parameters", "parameters_json_schema", "input_schema", "inputSchema")
    schema: JsonValue = next((raw[key] for key in keys if key in raw), {})
    return function_tool(raw.get("name"), raw.get("description"), parsed(schema))


def parsed(value: JsonValue) -> JsonValue:
    """Parse text that is a JSON object, list or string; exports differ in how often they quote."""
    for _ in range(2):
        if not isinstance(value, str) or value[:1] not in ("{", "[", '"'):
            break
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            break
    return value
