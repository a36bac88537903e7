"""What a model was recorded to say, found again by all that the request said.

Answers lie in vcrpy cassettes: in the folder of their dataset, by model, one file for each purpose.
The lookup is by the digest of the cleaned request body, which holds model, prompt, conversation,
question and parameters, so that nothing else can invalidate an answer, or keep a stale one.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from compaction.errors import CompactionError, ModelError
from compaction.llm import ChatModel, ModelCall, ModelReply
from compaction.model_wire import REFUSABLE, STREAMING, Api, reply_of, request_body
from compaction.model_wire_stream import joined
from evals.cassettes import Interaction, load_cassette
from evals.importers.event_streams import events_of, is_event_stream
from evals.probing.failed_calls import FAILURES_FILE, FailedCalls
from evals.recording.recorder import recorder
from evals.recording.redaction import DIGEST_HEADER, clean_request

SECONDS_FILE: Final = "seconds.json"
"""Digest of a request -> how long its answer took; what a cassette does not say."""
TEMPERATURE: Final = 0.0
APIS: Final[tuple[Api, ...]] = ("chat", "responses")


class UnrecordedError(CompactionError):
    """A model was to be replayed and was never asked this; says which command records it."""


@dataclass(frozen=True)
class Endpoint:
    """How a model is asked, as far as that is part of what was recorded."""

    model: str
    temperature: float | None = TEMPERATURE


def bodies(call: ModelCall, endpoint: Endpoint) -> Iterator[dict[str, Any]]:
    """Yield the request bodies that a call may have been sent as, the first tried first.

    Endpoints that reject a parameter are asked again without it (`compaction.model_wire`), and
    either API may have been used. A replicate that a body cannot tell apart has none.
    """
    for api in APIS:
        with suppress(ModelError):
            first = _body(call, endpoint, api)
            droppable = [key for key in REFUSABLE if key in first]
            for count in range(len(droppable) + 1):
                for refused in combinations(droppable, count):
                    with suppress(ModelError):
                        yield _body(call, endpoint, api, refused)
                    if "max_completion_tokens" in refused:
                        with suppress(ModelError):
                            yield _body(call, endpoint, api, (*refused, "max_tokens"))


def _body(
    call: ModelCall, endpoint: Endpoint, api: Api = "chat", refused: Sequence[str] = ()
) -> dict[str, Any]:
    return request_body(
        call,
        model=endpoint.model,
        temperature=endpoint.temperature,
        api=api,
        refused=refused,
    )


@dataclass
class _Request:
    """What `clean_request` needs of a request."""

    body: str
    uri: str = "http://localhost/"
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)


def digest_of_body(body: Mapping[str, Any]) -> str:
    """Return the digest that a cassette knows a request body by, secrets redacted."""
    cleaned = clean_request(_Request(json.dumps(body)))
    return str(cleaned.headers[DIGEST_HEADER])


def request_digest(call: ModelCall, endpoint: Endpoint) -> str:
    """Return the digest of a call as it is first tried: its name in caches and in the report."""
    return digest_of_body(_body(call, endpoint))


class RecordedChat:
    """Answers from a cassette; what is not in it is asked of `live` and added, or is an error.

    Args:
        path: The cassette; need not exist.
        endpoint: Whose answers.
        live: Asked for what is missing. None replays only.
        hint: The command that records what is missing.
    """

    def __init__(
        self, path: Path, endpoint: Endpoint, live: ChatModel | None = None, hint: str = ""
    ) -> None:
        self.path = path
        self.endpoint = endpoint
        self.name = endpoint.model
        self._live = live
        self._hint = hint
        self._seconds_path = path.with_name(SECONDS_FILE)
        self._failed = FailedCalls(path.with_name(FAILURES_FILE))
        self._replies: dict[str, ModelReply] = {}
        self._shapes: set[frozenset[str]] = set()
        """Parameters of the recorded requests: a digest is only made of what may be among them."""
        self._load()

    def hinting(self, hint: str) -> "RecordedChat":
        """Return the same recordings, with another command for what is missing."""
        other = copy(self)
        other._hint = hint
        return other

    @property
    def recorded(self) -> Mapping[str, ModelReply]:
        """Return the replies by the digest of the request body that they answer."""
        return self._replies

    def find(self, call: ModelCall) -> ModelReply | None:
        """Return the recorded reply, or None."""
        known = self._replies
        if not known:
            return None
        likely = (body for body in bodies(call, self.endpoint) if frozenset(body) in self._shapes)
        digests = map(digest_of_body, likely)
        return next((known[digest] for digest in digests if digest in known), None)

    def complete(self, call: ModelCall) -> ModelReply:
        """Return the reply.

        Raises:
            UnrecordedError: nothing was recorded and nobody can be asked.
            ModelError: the live model failed.
        """
        found = self.find(call) or self._asked([call])[0]
        if isinstance(found, ModelError):
            raise found
        return found

    def failure_of(self, call: ModelCall) -> str | None:
        """Return why the last try to record an answer failed; None if none did."""
        return self._failed.reason(_short(request_digest(call, self.endpoint)))

    def complete_all(
        self, calls: Sequence[ModelCall], *, concurrency: int = 1
    ) -> list[ModelReply | ModelError]:
        """Return what came of calls, in order; what is not recorded is asked, some at a time.

        A call that fails keeps no other from being asked; whoever is asked raises something else
        than `ModelError` if going on is in vain. What was answered before is kept.

        Raises:
            UnrecordedError: nothing was recorded and nobody can be asked.
        """
        unknown = [call for call in calls if self.find(call) is None]
        missing = list({request_digest(call, self.endpoint): call for call in unknown}.values())
        failed: dict[str, ModelError] = {}
        for at in range(0, len(missing), concurrency):
            some = missing[at : at + concurrency]
            for call, outcome in zip(some, self._asked(some), strict=True):
                if isinstance(outcome, ModelError):
                    failed[request_digest(call, self.endpoint)] = outcome
        return [self.find(call) or failed[request_digest(call, self.endpoint)] for call in calls]

    def _asked(self, calls: Sequence[ModelCall]) -> list[ModelReply | ModelError]:
        """Ask the live model all of these at once and keep what it says."""
        live = self._live
        if live is None:
            failure = self.failure_of(calls[0])
            raise UnrecordedError(
                f"no recorded {calls[0].purpose} of {self.name} for this conversation and prompt"
                f"{f' (the last try failed: {failure})' if failure else ''}"
                f"{f'; record it: {self._hint}' if self._hint else ''}"
            )

        def ask(call: ModelCall) -> ModelReply | CompactionError:
            try:
                return live.complete(call)
            except CompactionError as error:
                return error

        with (
            recorder(self.path, mode="extend", is_answer=lambda body: reply_in(body) is not None),
            ThreadPoolExecutor(len(calls)) as pool,
        ):
            outcomes = list(pool.map(ask, calls))
        self._note(calls, outcomes)
        self._load()
        done: list[ModelReply | ModelError] = []
        for outcome in outcomes:
            if not isinstance(outcome, ModelReply | ModelError):
                raise outcome
            done.append(outcome)
        return done

    def _note(
        self, calls: Sequence[ModelCall], outcomes: Sequence[ModelReply | CompactionError]
    ) -> None:
        """Keep how long answers took, and why calls failed."""
        failed: dict[str, ModelError | None] = {}
        for call, outcome in zip(calls, outcomes, strict=True):
            digest = _short(request_digest(call, self.endpoint))
            if isinstance(outcome, ModelReply):
                self._note_seconds(digest, outcome.seconds)
                failed[digest] = None
                continue
            # A limit that is reached is no failure of the endpoint.
            error = outcome if isinstance(outcome, ModelError) else outcome.__cause__
            if isinstance(error, ModelError):
                failed[digest] = error
        self._failed.note(failed)

    async def acomplete(self, call: ModelCall) -> ModelReply:
        return self.complete(call)

    def _load(self) -> None:
        if not self.path.is_file():
            return
        seconds = self._seconds()
        for interaction in load_cassette(self.path):
            sent = interaction.request_body
            if not isinstance(sent, dict):
                continue
            body = {key: value for key, value in sent.items() if key not in STREAMING}
            digest = digest_of_body(body)
            if digest in self._replies:
                continue
            reply = recorded_reply(interaction)
            if reply is not None:
                self._shapes.add(frozenset(body))
                self._replies[digest] = replace(reply, seconds=seconds.get(_short(digest), 0.0))

    def _seconds(self) -> dict[str, float]:
        if not self._seconds_path.is_file():
            return {}
        try:
            known = json.loads(self._seconds_path.read_text("utf-8"))
        except ValueError:
            return {}
        return {str(key): float(value) for key, value in known.items()}

    def _note_seconds(self, digest: str, seconds: float) -> None:
        known = self._seconds() | {digest: round(seconds, 4)}
        partial = self._seconds_path.with_suffix(".partial")
        partial.write_text(json.dumps(dict(sorted(known.items())), indent=0) + "\n", "ascii")
        partial.replace(self._seconds_path)


def recorded_reply(interaction: Interaction) -> ModelReply | None:
    """Read a recorded answer, whole or streamed; None if it is none of a model."""
    return reply_in(interaction.response_body)


def reply_in(received: str | bytes) -> ModelReply | None:
    """Read the body of an answer; None if it is none of a model, or not all of it."""
    text = received.decode("utf-8", "replace") if isinstance(received, bytes) else received
    try:
        if is_event_stream(text):
            events = list(events_of(text))
            is_chat = any("choices" in event for event in events)
            api: Api = "chat" if is_chat else "responses"
            return reply_of(joined(events, api=api), api=api)
        raw = json.loads(text)
        return reply_of(raw, api="responses" if "output" in raw else "chat")
    except (ModelError, ValueError, TypeError, RecursionError):
        return None


def model_folder(model: str) -> str:
    """Return the folder name of a model: no separators, nothing that means a place."""
    safe = "".join(char if char.isalnum() or char in "-_." else "-" for char in model)
    return safe.strip(".")[:80] or "model"


def _short(digest: str) -> str:
    return digest.rpartition(":")[2][:16]
