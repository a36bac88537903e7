"""Record a scenario: an agent, real tools in a scratch folder, the real client, a cassette.

Without a model, the scenario's authored agent answers, through a scripted endpoint on loopback:
the same scenario gives the same bytes, which is how the bundled datasets are made. With a model,
the user's turns are sent to it in order and it works with the tools; what was recorded before an
interruption is not sent again. Tools always run, so that the scratch folder is as it was.
"""

import hashlib
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from compaction.agent import AGENT_PURPOSE
from compaction.errors import StrategyError
from compaction.extractive import ExtractiveModel
from compaction.llm import ChatModel, ModelCall, ModelReply, OpenAIChat
from compaction.strategy import Strategy
from compaction.tokens import TiktokenCounter
from evals.cassettes import load_cassette
from evals.prepare import prepare
from evals.recording.recorder import recorder, resumable_recorder
from evals.recording.recording_live import (
    MAX_REQUESTS,
    LiveModel,
    RecordingError,
    Say,
    asking,
    follow_model,
)
from evals.recording.scenario_agent import Ask, ScenarioAgent
from evals.recording.scenario_scratch import scratch_copy, tools_at, user_message
from evals.recording.scenarios import Scenario, Step, load_scenario
from evals.recording.scripted_answers import Reply
from evals.recording.scripted_endpoint import serve_script
from evals.settings import Setting, bind
from evals.transcripts import Transcript

RECORDINGS_FOLDER: Final = Path("compaction-recordings")
AUTHORED_TEMPERATURE: Final = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRequest:
    """The flags of `record`."""

    scenario: Path
    cassette: Path
    strategy: str = "identity"
    parameters: Mapping[str, str] = field(default_factory=dict)
    model: LiveModel | None = None
    """None lets the scenario's authored agent answer."""
    max_requests: int = MAX_REQUESTS
    """Of a model in one user turn; then the next user message follows."""


class Recorded(NamedTuple):
    """What one recording wrote."""

    cassette: Path
    sha256: str
    """Of the cassette file."""
    requests: int
    """Of the agent; those of the compaction come on top."""
    answers: int
    """In the cassette, those to the compaction's calls included."""
    compactions: int
    reused: int = 0
    """Answers that an interrupted recording had kept."""


def record(asked: RecordRequest, say: Say) -> Recorded:
    """Record a scenario; `say` is told, in single lines, how it goes.

    Raises:
        ScenarioError: the scenario cannot be run.
        StrategyError: there is no such strategy, or it takes no such parameters.
        RecordingError: the endpoint failed; what was recorded is kept.
        CassetteError: the cassette of a model is there already.
    """
    scenario = load_scenario(asked.scenario)
    strategy = _strategy(asked.strategy, asked.parameters)
    if asked.model is None:
        return _record_authored(scenario, strategy, asked.cassette)
    return _record_live(scenario, strategy, asked.model, asked, say)


def replay(asked: RecordRequest) -> Recorded:
    """Run a scenario against its cassette, offline: everything must be sent as it was recorded.

    Model, temperature and limits are those of the first recorded request.

    Raises:
        UnrecordedRequestError: something else is sent; shows the first difference.
        RecordingError: less is sent than was recorded.
    """
    scenario = load_scenario(asked.scenario)
    first = load_cassette(asked.cassette)[0]
    body = first.request_body
    chat = OpenAIChat(
        body["model"],
        base_url=first.uri.removesuffix("/chat/completions"),
        max_retries=0,
        temperature=body.get("temperature"),
        _refused={"max_completion_tokens"} if "max_tokens" in body else set(),
    )
    strategy = _strategy(asked.strategy, asked.parameters)
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    with (
        closing(chat),
        recorder(asked.cassette, repeats=False) as tape,
        scratch_copy(scenario) as root,
    ):
        agent = _agent(scenario, strategy, root, chat.complete, chat.name, limit)
        if asked.model is None and chat.name == scenario.model:
            _follow_script(agent, scenario, root)
        else:
            follow_model(agent, scenario, root, asked.max_requests, say=lambda _: None)
        recorded, sent = len(tape), tape.play_count
    if not tape.all_played:
        raise RecordingError(f"{asked.cassette}: {recorded} answers recorded, {sent} asked for")
    return _recorded(asked.cassette, agent)


def _record_authored(scenario: Scenario, strategy: Strategy, cassette: Path) -> Recorded:
    """Write the cassette; an existing one is replaced if all went well."""
    said: deque[Reply] = deque()
    with (
        scratch_copy(scenario) as root,
        serve_script(
            lambda _: said.popleft(),
            model=scenario.model,
            created=scenario.created,
            count_tokens=TiktokenCounter().count_text,
        ) as endpoint,
        recorder(cassette, mode="record"),
        closing(_authors_chat(scenario, endpoint.base_url)) as chat,
    ):
        steps = iter(scenario.steps)
        agent = _agent(scenario, strategy, root, _author(chat, said, steps), scenario.model)
        _follow_script(agent, scenario, root)
    return _recorded(cassette, agent)


def _authors_chat(scenario: Scenario, base_url: str) -> OpenAIChat:
    return OpenAIChat(
        scenario.model, base_url=base_url, max_retries=0, temperature=AUTHORED_TEMPERATURE
    )


def _author(chat: ChatModel, said: deque[Reply], steps: Iterator[Step]) -> Ask:
    """Lay the answer to each call before the endpoint, then ask it.

    The agent's calls get the scenario's answers, in order; a compaction's an extractive summary.
    """

    def ask(call: ModelCall) -> ModelReply:
        is_agent = call.purpose == AGENT_PURPOSE
        said.append(next(steps).reply if is_agent else Reply(ExtractiveModel().complete(call).text))
        return chat.complete(call)

    return ask


def _follow_script(agent: ScenarioAgent, scenario: Scenario, root: Path) -> None:
    time = scenario.created
    for step in scenario.steps:
        if step.user is not None:
            agent.hear(user_message(step.user, root))
        agent.answer(time=time)
        time += step.reply.elapsed_seconds


def _record_live(
    scenario: Scenario, strategy: Strategy, model: LiveModel, asked: RecordRequest, say: Say
) -> Recorded:
    with (
        closing(model.chat()) as chat,
        resumable_recorder(asked.cassette) as recording,
        scratch_copy(scenario) as root,
    ):
        if recording.found:
            say(f"{recording.found} answers were kept by a recording that did not finish")
        ask = asking(chat, recording, say)
        agent = _agent(scenario, strategy, root, ask, model.name, model.max_output_tokens)
        follow_model(agent, scenario, root, asked.max_requests, say)
    return _recorded(asked.cassette, agent, reused=recording.reused)


def _strategy(name: str, parameters: Mapping[str, str]) -> Strategy:
    for key, value in parameters.items():
        if value.endswith("%"):
            raise StrategyError(
                f"--set {key}={value}: nothing is recorded yet that it could be a share of; "
                "give a number"
            )
    return bind(Setting(name, parameters), prepare(Transcript("not recorded yet", ())))


def _agent(
    scenario: Scenario,
    strategy: Strategy,
    root: Path,
    ask: Ask,
    model: str,
    max_output_tokens: int | None = None,
) -> ScenarioAgent:
    return ScenarioAgent(
        ask,
        strategy,
        tools_at(scenario, root),
        model=model,
        system=scenario.system.strip(),
        root=root,
        max_output_tokens=max_output_tokens,
    )


def _recorded(cassette: Path, agent: ScenarioAgent, *, reused: int = 0) -> Recorded:
    digest = hashlib.sha256(cassette.read_bytes()).hexdigest()
    answers = len(load_cassette(cassette))
    return Recorded(cassette, digest, agent.requests, answers, agent.compactions, reused)
