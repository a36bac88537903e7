"""Request bodies and replies of both APIs, without a network."""

from dataclasses import replace
from types import SimpleNamespace

import openai
import pytest

from compaction.errors import ModelError
from compaction.llm import ModelCall, OpenAIChat
from compaction.messages import Message, ToolCall
from compaction.model_wire import refused_parameter, reply_of, request_body

SCHEMA = {"type": "object"}
CALL = ModelCall(
    (
        Message("system", "Be brief."),
        Message("user", "Read a.txt"),
        Message("assistant", None, tool_calls=(ToolCall("c1", "read", '{"path":"a.txt"}'),)),
        Message("tool", "empty", tool_call_id="c1"),
    ),
    max_output_tokens=20,
    response_schema=SCHEMA,
    seed=7,
)
COMPLETION = {
    "id": "x",
    "object": "chat.completion",
    "created": 1,
    "model": "m-1",
    "choices": [
        {
            "index": 0,
            "finish_reason": "length",
            "message": {"role": "assistant", "content": "half an ans"},
        }
    ],
    "usage": {
        "prompt_tokens": 30,
        "completion_tokens": 4,
        "total_tokens": 34,
        "prompt_tokens_details": {"cached_tokens": 10},
    },
}


def test_a_chat_body_holds_what_was_asked_and_nothing_that_was_not():
    body = request_body(CALL, model="m", temperature=0.5)

    assert body["messages"][3] == {"role": "tool", "content": "empty", "tool_call_id": "c1"}
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA
    assert {
        key: body[key] for key in ("model", "max_completion_tokens", "temperature", "seed")
    } == {
        "model": "m",
        "max_completion_tokens": 20,
        "temperature": 0.5,
        "seed": 7,
    }
    bare = request_body(ModelCall((Message("user", "hi"),)), model="m", temperature=None)
    assert set(bare) == {"model", "messages"}


def test_refused_parameters_are_left_out_and_the_limit_takes_its_older_name():
    refused = ("temperature", "max_completion_tokens", "response_format", "seed")
    first = replace(CALL, seed=1)

    body = request_body(first, model="m", temperature=0.5, refused=refused)

    assert set(body) == {"model", "messages", "max_tokens"}
    assert body["max_tokens"] == 20


def test_a_replicate_that_would_be_the_same_request_as_the_first_is_an_error():
    with pytest.raises(ModelError, match="takes no seed"):
        request_body(CALL, model="m", temperature=0.0, refused=("seed",))


def test_a_responses_body_splits_calls_and_results_into_items():
    first = replace(CALL, seed=1)

    body = request_body(first, model="m", temperature=0.0, api="responses")

    assert body["input"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Read a.txt"},
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path":"a.txt"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "empty"},
    ]
    assert (body["max_output_tokens"], body["temperature"], body["store"]) == (20, 0.0, False)
    assert body["text"]["format"]["schema"] == SCHEMA


@pytest.mark.parametrize(
    ("text", "parameter"),
    [
        ("Unsupported value: 'temperature' does not support 0 with this model.", "temperature"),
        (
            "Unsupported parameter: 'max_completion_tokens' is not supported with this model.",
            "max_completion_tokens",
        ),
        ("seed: Extra inputs are not permitted", "seed"),
        ("This model's maximum context length is 8192 tokens; reduce max_completion_tokens", None),
        ("Unsupported parameter: 'logit_bias'", None),
    ],
)
def test_a_refusal_names_a_parameter_that_was_sent(text, parameter):
    body = {"temperature": 0, "max_completion_tokens": 5, "seed": 1}

    assert refused_parameter(text, body) == parameter


def test_a_chat_reply_says_how_it_ended_and_what_it_used():
    reply = reply_of(COMPLETION, seconds=2.5)

    assert (reply.text, reply.finish_reason, reply.model) == ("half an ans", "length", "m-1")
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (30, 4)
    assert reply.usage.cached_input_tokens == 10
    assert reply.seconds == 2.5


def test_a_responses_reply_is_read_from_its_items():
    raw = {
        "model": "m-2",
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "message", "content": [{"type": "output_text", "text": "WX-3318"}]},
        ],
        "usage": {"input_tokens": 9, "output_tokens": 3},
    }

    reply = reply_of(raw, api="responses")

    assert (reply.text, reply.finish_reason) == ("WX-3318", "length")
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (9, 3)
    refused = {"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]}
    assert reply_of(refused, api="responses").refusal == "No."
    called = {"output": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}]}
    assert reply_of(called, api="responses").finish_reason == "tool_calls"


@pytest.mark.parametrize("raw", [{}, {"choices": []}, {"choices": [{"index": 0}]}, "<html>", None])
def test_an_answer_without_a_message_is_an_error(raw):
    with pytest.raises(ModelError, match="the reply"):
        reply_of(raw)


class Refusing:
    """A client whose model takes neither temperature nor the newer limit."""

    def __init__(self):
        self.bodies = []
        self.chat = self.completions = self

    def create(self, **body):
        self.bodies.append(body)
        for parameter in ("temperature", "max_completion_tokens"):
            if parameter in body:
                text = f"Unsupported parameter: {parameter!r} is not supported with this model."
                response = SimpleNamespace(request=None, status_code=400, headers={})
                raise openai.BadRequestError(text, response=response, body=None)
        return openai.types.chat.ChatCompletion.model_validate(COMPLETION)


def test_an_endpoint_that_refuses_parameters_is_asked_without_them_from_then_on():
    client = Refusing()
    chat = OpenAIChat("m", temperature=0.0, _clients={"sync": client})

    first, second = chat.complete(CALL), chat.complete(CALL)

    assert first.text == second.text == "half an ans"
    assert [
        sorted(set(body) & {"temperature", "max_completion_tokens", "max_tokens"})
        for body in client.bodies
    ] == [
        ["max_completion_tokens", "temperature"],
        ["max_completion_tokens"],
        ["max_tokens"],
        ["max_tokens"],
    ]
