"""Trying again: when, how often, and what is raised at last."""

import random

import pytest

from keras_elmo.serving.retries import (
    FIRST_WAIT,
    LONGEST_WAIT,
    NotNowError,
    refusal,
    with_retries,
)

pytestmark = pytest.mark.once


class Sender:
    """Fails a number of times before it answers."""

    def __init__(self, failures, after=None):
        self.failures, self.after, self.calls = failures, after, 0

    def __call__(self):
        self.calls += 1
        if self.calls <= self.failures:
            raise NotNowError(ConnectionError("busy"), self.after)
        return "answer"


def test_each_wait_is_longer_and_the_answer_comes():
    sender, waits = Sender(4), []
    assert with_retries(sender, 5, waits.append) == "answer"
    assert sender.calls == 5
    for number, wait in enumerate(waits):
        assert FIRST_WAIT * 2**number * 0.5 <= wait <= FIRST_WAIT * 2**number


def test_a_server_may_say_how_long_but_not_for_ever():
    for after, least, most in ((3.0, 3.0, 3.0), (1e9, LONGEST_WAIT, LONGEST_WAIT)):
        waits = []
        with_retries(Sender(1, after), 1, waits.append)
        assert least <= waits[0] <= most


def test_the_last_error_is_raised_with_the_number_of_tries():
    sender, waits = Sender(9), []
    with pytest.raises(ConnectionError, match=r"^busy \(3 tries\)$"):
        with_retries(sender, 2, waits.append)
    assert sender.calls == 3 and len(waits) == 2
    with pytest.raises(ConnectionError, match=r"^busy$"):
        with_retries(Sender(1), 0, waits.append)


def test_other_errors_are_not_tried_again():
    calls = []

    def send():
        calls.append(1)
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        with_retries(send, 5, calls.append)
    assert len(calls) == 1


def test_nobodys_random_numbers_are_touched():
    random.seed(3)
    with_retries(Sender(2), 2, lambda _: None)
    number = random.random()
    random.seed(3)
    assert number == random.random()


@pytest.mark.parametrize(
    "code, kind",
    [
        ("400 Bad Request", ValueError),
        ("404 Not Found", ValueError),
        ("401 Unauthorized", PermissionError),
        ("PERMISSION_DENIED", PermissionError),
        ("500 Internal Server Error", ConnectionError),
        ("INTERNAL", ConnectionError),
        ("INVALID_ARGUMENT", ValueError),
    ],
)
def test_a_refusal_says_who_said_what(code, kind):
    error = refusal("http://h/v1/models/m", code, "the reason")
    assert type(error) is kind
    assert str(error) == f"`http://h/v1/models/m` answered {code}: the reason"
