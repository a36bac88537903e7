"""A time limit on code that may never return, as far as a signal can set one."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TimeIsUp(BaseException):
    """Not an Exception, so that code under test which catches those does not swallow it."""


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise `TimeIsUp` after some seconds, in the main thread of a POSIX system.

    Elsewhere nothing is limited, nor in C code that does not come back to the interpreter. A timer
    that somebody else has set is left alone.
    """
    if not _can_alarm():
        yield
        return

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise TimeIsUp

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _can_alarm() -> bool:
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getitimer(signal.ITIMER_REAL)[0] == 0
    )
