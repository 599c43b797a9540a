"""How a command ends that is told to: by SIGTERM, with nothing half-written."""

import contextlib
import signal
import sys
from collections.abc import Iterator

# Seconds after which a command that goes on is told once more.
AGAIN = 0.2


@contextlib.contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Makes SIGTERM raise SystemExit in the body, so that it cleans up and ends.

    Python drops what is raised in a finalizer or in a callback of the garbage
    collector (JAX has one), where a signal may well find a program. So it is raised
    again until the body has ended, but never while it is on its way out, generators
    that are closed on that way included.
    """

    def end(number, frame):
        if has_timer:
            signal.setitimer(signal.ITIMER_REAL, AGAIN)
        if not _is_ending():
            raise _Ended(128 + signal.SIGTERM)

    has_timer = hasattr(signal, "setitimer")  # not on Windows
    numbers = [signal.SIGTERM, *([signal.SIGALRM] if has_timer else [])]
    previous = {number: signal.signal(number, end) for number in numbers}
    try:
        yield
    finally:
        if has_timer:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in previous.items():
            signal.signal(number, handler)


class _Ended(SystemExit):
    """What SIGTERM raises."""


def _is_ending():
    """Whether something is cleaning up right now that should come to its end.

    After SIGTERM's exception; or a generator that is being closed, which it may be
    because of that exception: the two are not linked then.
    """
    error = sys.exception()
    while error is not None and not isinstance(error, _Ended | GeneratorExit):
        error = error.__context__
    return error is not None
