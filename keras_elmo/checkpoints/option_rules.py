"""Rules for the options of published models, and what an error says of them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

ACTIVATIONS = ("relu", "tanh")
# Characters of a token: begin of word, one byte, end of word; and more than any word
# has. Nothing in the weights tells the number, and each token takes as much memory.
SMALLEST_TOKEN, LARGEST_TOKEN = 3, 2**16

_ABSENT = object()


@dataclass(frozen=True)
class Rule:
    """What one key, dotted as in `lstm.dim`, must be."""

    key: str
    expected: str
    is_met: Callable[[object], bool]
    required: bool = False


def is_integer(value, minimum=1):
    """Whether `value` is an int, no bool, of at least `minimum`."""
    return type(value) is int and value >= minimum


def is_token_size(value):
    """Whether `value` is a number of character ids that a token can have."""
    return is_integer(value, SMALLEST_TOKEN) and value <= LARGEST_TOKEN


def is_rate(value):
    """Whether `value` is a number in [0, 1)."""
    return type(value) in (int, float) and 0 <= value < 1


def are_filters(value):
    """Whether `value` is a list of [width, number] pairs of positive integers."""
    return (
        isinstance(value, list)
        and len(value) > 0
        and all(
            isinstance(pair, list) and len(pair) == 2 and all(map(is_integer, pair))
            for pair in value
        )
    )


def is_activation(value):
    """Whether `value` is an activation of the character CNN."""
    return isinstance(value, str) and value in ACTIVATIONS


def is_object(value):
    """Whether `value` is an object of JSON."""
    return isinstance(value, dict)


def get_option(options: dict, key: str, default: object = None) -> object:
    """The value of a dotted key, `lstm.dim`, or `default` where there is none."""
    value = options
    for part in key.split("."):
        if not isinstance(value, dict) or part not in value:
            return default
        value = value[part]
    return value


def find_problems(options: dict, rules: Iterable[Rule]) -> tuple[list[str], set[str]]:
    """What is wrong with options, a line each, and the keys that are."""
    problems, wrong = [], set()
    for rule in rules:
        if any(rule.key.startswith(f"{key}.") for key in wrong):
            continue  # it lies in something that is missing or wrong itself
        value = get_option(options, rule.key, _ABSENT)
        if value is _ABSENT:
            if rule.required:
                problems.append(f"`{rule.key}` is missing: expected {rule.expected}")
                wrong.add(rule.key)
        elif not rule.is_met(value):
            problems.append(
                f"`{rule.key}` must be {rule.expected}. Received: {shown(value)}"
            )
            wrong.add(rule.key)
    return problems, wrong


def shown(value):
    """A value as an error shows it: whole when it is short."""
    try:
        text = repr(value)
    except RecursionError:
        return "what is nested too deeply"
    return text if len(text) <= 100 else f"{text[:100]}... ({len(text)} characters)"
