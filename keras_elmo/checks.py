"""Checks of arguments, with one wording for all of them."""

from collections.abc import Sequence
from numbers import Integral, Real


def received(name, value, rule):
    """The text of an argument error: what was expected and what came."""
    return f"`{name}` must be {rule}. Received: {name}={value!r}."


def one_of(name, value, choices):
    """`value`, or an error that names the choices."""
    if value not in choices:
        raise ValueError(
            received(name, value, "one of " + ", ".join(map(repr, choices)))
        )
    return value


def positive_int(name, value, minimum=1):
    """`value` as an int of at least `minimum`, or an error naming the argument."""
    rule = f"an integer of at least {minimum}"
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(received(name, value, rule))
    if value < minimum:
        raise ValueError(received(name, value, rule))
    return int(value)


def positive_float_or_none(name, value):
    """`value` as a float above 0, or None for "absent"."""
    rule = "a number above 0, or None"
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(received(name, value, rule))
    if not float(value) > 0:
        raise ValueError(received(name, value, rule))
    return float(value)


def positive_float(name, value):
    """`value` as a finite float above 0."""
    rule = "a number above 0"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(received(name, value, rule))
    if not 0 < float(value) < float("inf"):
        raise ValueError(received(name, value, rule))
    return float(value)


def fraction(name, value):
    """`value` as a float in [0, 1): a dropout rate."""
    rule = "a number from 0 up to, not including, 1"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(received(name, value, rule))
    if not 0 <= float(value) < 1:
        raise ValueError(received(name, value, rule))
    return float(value)


def char_cnn_filters(name, value, max_characters_per_token):
    """`value` as a list of [width, number] pairs that fit a token's characters."""
    rule = "a list of [width, number of filters] pairs of positive integers"
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        raise ValueError(received(name, value, rule))
    filters = []
    for pair in value:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise ValueError(received(name, value, rule))
        width = positive_int(f"{name} width", pair[0])
        number = positive_int(f"{name} number", pair[1])
        if width > max_characters_per_token:
            raise ValueError(
                received(
                    name,
                    value,
                    f"no wider than max_characters_per_token "
                    f"(={max_characters_per_token})",
                )
            )
        filters.append([width, number])
    return filters


def mix_weights(name, value, number=None):
    """`value` as floats of at least 0 that sum to 1, `number` of them where given."""
    rule = "numbers of at least 0 that sum to 1 (the weights after the softmax)"
    weights = [float(weight) for weight in value]
    # `not (... )` also refuses NaN.
    if not weights or not (min(weights) >= 0 and abs(sum(weights) - 1.0) <= 1e-4):
        raise ValueError(received(name, value, rule))
    if number is not None and len(weights) != number:
        raise ValueError(received(name, value, f"{number} numbers, one a layer"))
    return weights
