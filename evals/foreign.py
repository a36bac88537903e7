"""Any `list[dict] -> list[dict]` as a strategy: `module:name` or `path.py:name`.

The code runs in a process that is killed when it does not answer in time, is called as rewriting
(its last output plus the new messages) unless it declares `mode = "viewing"`, and gets its origins
from `compaction.align`. What it does not declare is reported as not declared, never as lost.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from compaction.align import align
from compaction.contract.callables import promises_of
from compaction.errors import MessageError, StrategyError
from compaction.history import Entries, History, View
from compaction.llm import Steps, Usage
from compaction.messages import Json, digest_of, messages_from_openai
from compaction.strategy import CompactionEvent, Context, Promises, Request

WORKER_FILE: Final = Path(__file__).with_name("foreign_worker.py")
START_SECONDS: Final = 60.0
"""Longest time that importing the user's module may take."""
END_SECONDS: Final = 1.0
"""How long a worker that has closed its output is given to end by itself, for its exit code."""


def is_foreign(name: str) -> bool:
    """Whether a strategy name is a spec of somebody's code."""
    return ":" in name


@dataclass(frozen=True)
class ForeignStrategy:
    """Somebody's code, found and asked what it declares. Made by `load_foreign`."""

    spec: str
    parameters: Mapping[str, Any]
    source_digest: str
    promises: Promises
    timeout_seconds: float
    """Longest time for one call."""

    @property
    def name(self) -> str:
        return self.spec

    @property
    def version(self) -> str:
        return self.source_digest[:12]

    def start(self, context: Context) -> "ForeignCompactor":
        worker = Worker(self.spec, self.parameters)
        return ForeignCompactor(self, worker, context.seed, context.deadline)


def load_foreign(
    spec: str, parameters: Mapping[str, Any] | None = None, *, timeout_seconds: float = 30.0
) -> ForeignStrategy:
    """Find the code and ask it what it declares.

    Raises:
        StrategyError: it cannot be imported, or is nothing that can be called.
    """
    given = dict(parameters or {})
    worker = Worker(spec, given)
    declared = worker.declared
    worker.close()
    return ForeignStrategy(
        spec,
        given,
        _source_digest(spec, declared.get("sources", [])),
        promises_of(
            spec,
            mode=declared.get("mode"),
            recoverable=declared.get("recoverable") is True,
            given=declared.get("promises", {}),
        ),
        timeout_seconds,
    )


@dataclass
class ForeignCompactor:
    """One conversation with the user's code."""

    strategy: ForeignStrategy
    worker: "Worker"
    seed: int
    deadline: float | None = None
    """`time.monotonic()` value; a call is not waited for after it."""
    _entries: Entries = ()
    _seen: int = field(default=0)

    def steps(self, history: History, request: Request) -> Steps[View]:
        yield from ()
        before = self._entries + history.entries(self._seen)
        given = history.entries() if self.strategy.promises.mode == "viewing" else before
        asked = {
            "messages": [entry.message.to_openai() for entry in given],
            "context": {
                "seed": self.seed,
                "request": request.index,
                "model": request.model,
                "time": request.time,
            },
        }
        answer = self.worker.ask(asked, self._limit())
        try:
            returned = messages_from_openai(answer["messages"])
        except MessageError as error:
            raise StrategyError(f"{self.strategy.spec} returned a bad list: {error}") from error
        is_recoverable = self.strategy.promises.recoverable
        self._entries = align(given, returned, self.strategy.spec, is_recoverable=is_recoverable)
        self._seen = len(history)
        return View(self._entries, tuple(self._events(before)))

    def record_usage(self, usage: Usage) -> None:
        return

    def recover(self, handle: str) -> str | None:
        if not self.strategy.promises.recoverable:
            return None
        text = self.worker.ask({"recover": handle}, self._limit()).get("text")
        return text if isinstance(text, str) else None

    def _limit(self) -> "Limit":
        """Return the limit of a call that begins now: its own, or what is left of the cell."""
        mine = Limit(self.strategy.timeout_seconds, "; raise --timeout")
        if self.deadline is None:
            return mine
        left = max(0.0, self.deadline - time.monotonic())
        return min(mine, Limit(left, "; that is all that its cell had left, raise --cell-timeout"))

    def _events(self, before: Entries) -> Iterator[CompactionEvent]:
        """Report what differs from the view before with the new messages, as one event.

        Foreign code tells nothing about itself.
        """
        old, new = set(before), set(self._entries)
        edited = sum(1 for entry in self._entries if entry not in old)
        kept = {entry.origin.first for entry in new if entry.origin.kind != "generated"}
        removed = sum(
            1
            for entry in before
            if entry not in new
            and (entry.origin.kind == "generated" or entry.origin.first not in kept)
        )
        if edited or removed:
            yield CompactionEvent(
                self.strategy.spec, "applied", messages_edited=edited, messages_removed=removed
            )


class Limit(NamedTuple):
    """How long an answer is waited for."""

    seconds: float
    advice: str = ""
    """What the error says after it."""


class Worker:
    """A process that holds the user's code. It dies with this object."""

    def __init__(self, spec: str, parameters: Mapping[str, Any]) -> None:
        self._spec = spec
        # -P: our folder must not come first on the path and shadow the user's modules.
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(WORKER_FILE), spec, json.dumps(dict(parameters))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            errors="surrogatepass",
            start_new_session=True,
        )
        if self._process.stdin is None or self._process.stdout is None:
            raise StrategyError(f"{spec}: no pipe to the worker")
        self._stdin: IO[str] = self._process.stdin
        self._lines: queue.Queue[str] = queue.Queue()
        reader = threading.Thread(
            target=_read_lines, args=(self._process.stdout, self._lines), daemon=True
        )
        reader.start()
        self.close = weakref.finalize(self, _kill, self._process)
        self.declared = self._receive(Limit(START_SECONDS))

    def ask(self, asked: Json, limit: Limit) -> Json:
        """Send one request and wait for its answer.

        Raises:
            StrategyError: the code raised, died, or did not answer in time (it is then killed).
        """
        ends_at = time.monotonic() + limit.seconds
        # What is larger than a pipe holds waits for a reader, and that may hang.
        watchdog = threading.Timer(limit.seconds, self.close)
        watchdog.daemon = True
        watchdog.start()
        try:
            self._stdin.write(json.dumps(asked) + "\n")
            self._stdin.flush()
        except (OSError, ValueError) as error:  # ValueError: we have closed the pipe
            if time.monotonic() >= ends_at:
                raise self._too_late(limit) from error
            raise StrategyError(f"{self._spec}: its process has ended") from error
        finally:
            watchdog.cancel()
        return self._receive(limit, ends_at)

    def _receive(self, limit: Limit, ends_at: float | None = None) -> Json:
        seconds = limit.seconds if ends_at is None else max(0.0, ends_at - time.monotonic())
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            self.close()
            raise self._too_late(limit) from None
        if not line:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(END_SECONDS)
            self.close()
            raise StrategyError(f"{self._spec}: its process ended (exit {self._process.wait()})")
        try:
            answer: Json = json.loads(line)
        except (ValueError, RecursionError) as error:
            self.close()
            raise StrategyError(
                f"{self._spec} wrote {line[:40]!r} where only its answers go, and was stopped; "
                "write to sys.stdout or sys.stderr"
            ) from error
        if "error" in answer:
            raise StrategyError(f"{self._spec} {answer['error']}")
        return answer

    def _too_late(self, limit: Limit) -> StrategyError:
        within = f"gave no answer within {limit.seconds:.3g} s"
        return StrategyError(f"{self._spec} {within} and was stopped{limit.advice}")


def _read_lines(stream: IO[str], lines: "queue.Queue[str]") -> None:
    with stream:
        for line in stream:
            lines.put(line)
    lines.put("")


def _kill(process: "subprocess.Popen[str]") -> None:
    """End the process and whatever it started, even where it has ended itself."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()
    process.wait()
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()


def _source_digest(spec: str, sources: Iterable[str]) -> str:
    """Return a digest of the files that the code is in, so that an edit makes new cells."""
    texts = [Path(path).read_text("utf-8", "replace") for path in sources if Path(path).is_file()]
    return digest_of("\n".join(texts or [spec]))
