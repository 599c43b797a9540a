"""Trying again where a server may answer later, and errors that say who said what."""

import random
import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")

# Seconds before the first further try; each later wait is twice as long.
FIRST_WAIT = 0.25
LONGEST_WAIT = 10.0


class NotNowError(Exception):
    """No answer this time: what to raise when it stays so.

    Args:
        error: the exception for the caller.
        after: seconds that the server asks to wait, or None.
    """

    def __init__(self, error: Exception, after: float | None = None):
        super().__init__(str(error))
        self.error = error
        self.after = after


def with_retries(
    send: Callable[[], Answer],
    retries: int,
    sleep: Callable[[float], None] = time.sleep,
) -> Answer:
    """What `send` returns, after further tries where it raises `NotNowError`.

    Args:
        send: function without arguments.
        retries: int, tries after the first.
        sleep: function of seconds.

    Raises:
        Exception: the error that the last `NotNowError` holds.
    """
    # Its own generator: clients that failed together must not come back together, and
    # nobody's random numbers are touched.
    jitter = random.Random()
    for number in range(retries):
        try:
            return send()
        except NotNowError as error:
            wait = FIRST_WAIT * 2**number * jitter.uniform(0.5, 1.0)
            sleep(min(max(wait, error.after or 0.0), LONGEST_WAIT))
    try:
        return send()
    except NotNowError as error:
        tries = f" ({retries + 1} tries)" if retries else ""
        raise type(error.error)(f"{error.error}{tries}") from error.__cause__


def refusal(url: str, code: str, told: str) -> Exception:
    """The exception for an answer that another try does not change.

    Args:
        url: what was asked.
        code: the status's name or number.
        told: what the server said.
    """
    text = f"`{url}` answered {code}: {told or 'no reason given'}"
    if code.startswith(("401", "403", "UNAUTHENTICATED", "PERMISSION_DENIED")):
        return PermissionError(text)
    if code.startswith(("5", "UNKNOWN", "INTERNAL", "DATA_LOSS", "CANCELLED")):
        return ConnectionError(text)
    return ValueError(text)
