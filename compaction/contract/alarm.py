"""A time limit on code that may never return, as far as a signal can set one."""

import gc
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

AGAIN_SECONDS: Final = 0.1
"""It rings again after this: code under test may swallow anything, and so does Python itself."""


class TimeIsUp(BaseException):
    """Not an Exception, so that code under test which catches those does not swallow it."""


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise `TimeIsUp` after some seconds, at once if there are none left.

    In the main thread of a POSIX system; elsewhere nothing is limited that has begun, nor is C code
    that does not come back to the interpreter. A timer that somebody else has set is left alone.

    Only code under test belongs inside: what is half done when it rings stays half done.
    """
    if seconds <= 0:
        raise TimeIsUp
    if not _can_alarm():
        yield
        return

    def ring(_signal: int, frame: FrameType | None) -> None:
        if not _is_collecting(frame):
            raise TimeIsUp

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_SECONDS)
        yield
    finally:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
        finally:
            signal.signal(signal.SIGALRM, before)


def _is_collecting(frame: FrameType | None) -> bool:
    """Whether a callback of the garbage collector runs: Python would only print what it raises."""
    codes = {getattr(callback, "__code__", None) for callback in gc.callbacks}
    while frame is not None:
        if frame.f_code in codes:
            return True
        frame = frame.f_back
    return False


def _can_alarm() -> bool:
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getitimer(signal.ITIMER_REAL)[0] == 0
    )
