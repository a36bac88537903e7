"""Record what a model says about conversations: summaries, probes, next actions, a judge's word.

Whatever was answered is on disk before the next request is sent, and is never asked again, so that
an interrupted recording goes on where it was. Calls that share a beginning follow each other, which
is what a prompt cache wants: all questions over one view, then the next view.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from compaction.errors import ModelError
from compaction.llm import ChatModel, ModelCall, ModelReply, OpenAIChat
from compaction.messages import Messages
from compaction.model_wire import FIRST_SEED, Api
from evals.loading import bundled_files, load, survey
from evals.money.prices import PriceVector
from evals.prepare import Prepared, prepare
from evals.probes import MAX_QUESTIONS, Probe, probe_call, probes_of
from evals.probing.answers import TEMPERATURE
from evals.probing.boundaries import Boundary, boundary_of
from evals.probing.grading import fault_of, grade, judge_call
from evals.probing.next_action import (
    ACTION_TEMPERATURE,
    SECOND_SEED,
    action_call,
    sampled_requests,
)
from evals.probing.patience import FIRST_WAIT_SECONDS, PatientChat, Watch
from evals.probing.probe_score import DECIDED
from evals.probing.recordings import ACTIONS, PROBES, SUMMARIES, Recordings, recordings_of
from evals.probing.spending import (
    STAND_IN,
    Estimate,
    EstimatingChat,
    LimitedChat,
    Tariff,
    seconds_per_token,
    tariff_of,
)
from evals.probing.views import views_at
from evals.settings import Setting, bind, boundary_settings, check

Judged = Literal["undecided", "all", "none"]

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class ProbeRequest:
    """The flags of `probe`."""

    model: str
    base_url: str | None = None
    paths: tuple[Path, ...] = ()
    settings: tuple[Setting, ...] = ()
    """Whose views are asked about; none: the contestants with recorded summaries."""
    max_questions: int | None = MAX_QUESTIONS
    with_actions: bool = True
    judged: Judged = "undecided"
    """Which answers a judge sees: those that grading leaves open, all that are right or wrong as
    well (for its kappa), or none."""
    replicates: int = 1
    concurrency: int = 1
    max_cost_usd: float | None = None
    timeout_seconds: float = 600.0
    first_wait_seconds: float = FIRST_WAIT_SECONDS
    api: Api = "chat"
    stream: bool = False
    price: PriceVector | None = None
    """Instead of the list price of the model."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a recording would still ask, and what that takes at most."""

    estimate: Estimate
    tariff: Tariff
    seconds_per_token: float | None

    @property
    def usd(self) -> float | None:
        return self.tariff.usd(self.estimate.input_tokens, self.estimate.output_tokens)

    @property
    def minutes(self) -> float | None:
        """Return the time at the pace of what was recorded of this model; None without any."""
        tokens = self.estimate.input_tokens + self.estimate.output_tokens
        pace = self.seconds_per_token
        return None if pace is None else tokens * pace / 60

    def text(self) -> str:
        """Return what a dry run says."""
        calls = self.estimate.calls
        kinds = ", ".join(f"{count} {purpose}" for purpose, count in sorted(calls.items()))
        usd, minutes = self.usd, self.minutes
        cost = "an unknown sum" if usd is None else f"at most ${usd:.4f}"
        pace = "minutes unknown: nothing of this model was timed yet"
        if minutes is not None:
            pace = f"about {minutes:.0f} minutes at the pace so far"
        return (
            f"at most {sum(calls.values())} calls, not recorded yet ({kinds or 'none'}): "
            f"{self.estimate.input_tokens:,} tokens in, at most {self.estimate.output_tokens:,} "
            f"out, {cost} ({self.tariff.reason}); {pace}"
        )


@dataclass
class Recorded:
    """What a recording did."""

    asked: int = 0
    """Answers that came new."""
    spent_usd: float | None = 0.0
    """None: the prices are not known."""
    skipped: list[str] = field(default_factory=list)
    """Transcripts about which nothing can be asked, and why."""
    failed: list[str] = field(default_factory=list)
    """Calls that stay unanswered, and why; the same command asks them again."""


class Book(ChatModel, Protocol):
    """Answers calls from recordings, or otherwise."""

    def complete_all(
        self, calls: Sequence[ModelCall], *, concurrency: int = 1
    ) -> list[ModelReply | ModelError]: ...


class Books(NamedTuple):
    """One for each file of recordings."""

    summaries: Book
    probes: Book
    actions: Book


def outlook(asked: ProbeRequest) -> Outlook:
    """Say what `record` would still ask; sends nothing."""
    estimate = Estimate()
    replies: list[ModelReply] = []
    for task in _tasks(asked, []):
        books = [
            task.recordings.chat(SUMMARIES),
            task.recordings.chat(PROBES),
            task.recordings.chat(ACTIONS, temperature=ACTION_TEMPERATURE),
        ]
        replies += [reply for book in books for reply in book.recorded.values()]
        estimating = Books(*(EstimatingChat(book, estimate) for book in books))
        _Asking(asked, task, estimating, say=lambda _: None).run()
    return Outlook(estimate, _tariff(asked), seconds_per_token(replies))


def record(asked: ProbeRequest, say: Say) -> Recorded:
    """Ask all that is not recorded; `say` is told, in single lines, how it goes.

    Raises:
        BudgetError: the limit is reached; what was recorded is kept.
        EndpointError: the endpoint answers nobody; what was recorded is kept.
    """
    watch = Watch()
    done = Recorded(failed=watch.failed)
    tariff = _tariff(asked)
    with (
        closing(_chat(asked, TEMPERATURE)) as steady,
        closing(_chat(asked, ACTION_TEMPERATURE)) as wavering,
    ):
        limited = LimitedChat(steady, tariff, asked.max_cost_usd)
        live, proposing = (
            PatientChat(each, watch, asked.first_wait_seconds)
            for each in (limited, limited.sharing(wavering))
        )
        for task in _tasks(asked, done.skipped):
            recordings = task.recordings
            books = Books(
                recordings.chat(SUMMARIES, live=live),
                recordings.chat(PROBES, live=live),
                recordings.chat(ACTIONS, temperature=ACTION_TEMPERATURE, live=proposing),
            )
            _Asking(asked, task, books, say).run()
    done.asked = limited.purse.calls
    done.spent_usd = None if tariff.rates is None else limited.purse.spent_usd
    return done


@dataclass(frozen=True)
class _Task:
    """A transcript about which something can be asked."""

    prepared: Prepared
    boundary: Boundary
    recordings: Recordings


def _tasks(asked: ProbeRequest, skipped: list[str]) -> Iterator[_Task]:
    check(_settings(asked))
    for location in survey(asked.paths or bundled_files()).locations:
        transcript = load(location)
        prepared = prepare(transcript)
        boundary = boundary_of(prepared)
        if boundary is None:
            skipped.append(f"{transcript.name}: it has no request to ask at")
            continue
        yield _Task(prepared, boundary, recordings_of(location.path, transcript, asked.model))


def _settings(asked: ProbeRequest) -> tuple[Setting, ...]:
    return asked.settings or tuple(boundary_settings())


@dataclass(frozen=True)
class _Asking:
    """All that is asked about one transcript, in an order that shares beginnings."""

    asked: ProbeRequest
    task: _Task
    books: Books
    say: Say

    def run(self) -> None:
        prepared, boundary = self.task.prepared, self.task.boundary
        probes = probes_of(prepared, boundary, max_questions=self.asked.max_questions)
        if probes:
            self._ask_probes(probes, (), "no context")
        self._ask_view(probes, Setting("identity"), seeds=(FIRST_SEED, SECOND_SEED))
        for setting in _settings(self.asked):
            self._ask_view(probes, setting, seeds=(FIRST_SEED,))

    def _ask_view(self, probes: Sequence[Probe], setting: Setting, seeds: Sequence[int]) -> None:
        """Ask about what one contestant sends, at the boundary and at the sampled requests."""
        prepared, boundary = self.task.prepared, self.task.boundary
        tools = prepared.transcript.tools
        sampled = sampled_requests(boundary) if self.asked.with_actions and tools else ()
        wanted = {boundary.request.index, *(request.index for request in sampled)}
        strategy = bind(setting, prepared)
        views = views_at(prepared, boundary.segment, strategy, self.books.summaries, wanted)
        found = {request.index: view.messages for request, view in views}
        self._ask_probes(probes, found[boundary.request.index], setting.label)
        calls = [
            action_call(found[request.index], tools, seed=seed)
            for request in sampled
            for seed in seeds
        ]
        self.books.actions.complete_all(calls, concurrency=self.asked.concurrency)
        if calls:
            self.say(f"{prepared.transcript.name}, {setting.label}: {len(calls)} next actions")

    def _ask_probes(self, probes: Sequence[Probe], view: Messages, label: str) -> None:
        """Ask each question over a view, as often as there are replicates, then the judge."""
        ask, together = self.books.probes.complete_all, self.asked.concurrency
        questions = [
            (probe, probe_call(view, probe.question, replicate=replicate))
            for probe in probes
            for replicate in range(self.asked.replicates)
        ]
        replies = ask([call for _, call in questions], concurrency=together)
        judged = [
            judge_call(probe.question, probe.answers, reply.text)
            for (probe, _), reply in zip(questions, replies, strict=True)
            if isinstance(reply, ModelReply) and self._is_judged(probe, reply)
        ]
        ask(judged, concurrency=together)
        self.say(
            f"{self.task.prepared.transcript.name}, {label}: {len(questions)} answers, "
            f"{len(judged)} judged"
        )

    def _is_judged(self, probe: Probe, reply: ModelReply) -> bool:
        if self.asked.judged == "none" or fault_of(reply) is not None:
            return False
        if reply.model == STAND_IN:  # nobody knows what will be said: at most, all of it is judged
            return True
        found = grade(reply.text, probe.answers, question=probe.question)
        return found is None or (self.asked.judged == "all" and found.outcome in DECIDED)


def _chat(asked: ProbeRequest, temperature: float) -> OpenAIChat:
    return OpenAIChat(
        asked.model,
        asked.base_url,
        timeout_seconds=asked.timeout_seconds,
        max_retries=0,  # `PatientChat` knows what may be asked again
        temperature=temperature,
        api=asked.api,
        stream=asked.stream,
    )


def _tariff(asked: ProbeRequest) -> Tariff:
    return tariff_of(asked.model, asked.base_url, asked.price)
