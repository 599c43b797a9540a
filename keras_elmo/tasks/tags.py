"""Tags that mark spans: schemes, spans, and the F1 of spans.

A tag is "O", or a prefix, "-" and a label: "B-" begins a span, "I-" goes on, "E-" (or
"L-") ends it, "S-" (or "U-") is one of a single token.

The rules and the score are those of the shared tasks' conlleval for "B-" and "I-".
conlleval knows no "S-" and begins no span at a "B-" right behind an "E-" of the same
label; here both begin one, so that tags score as they do once written in IOB2.

Written here because the libraries do not serve: seqeval has no wheel, and nervaluate
1.2.1, whose strict score is the same for "B-" and "I-", refuses "S-" and a span that
"E-" begins.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from keras_elmo import checks

SCHEMES = ("IOB2", "IOBES")
_SAME: dict[str, str] = {"L": "E", "U": "S", "M": "I"}
# Which prefix may follow which inside one span.
_GOES_ON = {"IOB2": {"B": "I", "I": "I"}, "IOBES": {"B": "IE", "I": "IE"}}
_BEGINS = {"IOB2": "B", "IOBES": "BS"}
_ENDS = {"IOB2": "BI", "IOBES": "ES"}


class Span(NamedTuple):
    """Tokens `start` to `end`, `end` not included, of one label."""

    start: int
    end: int
    label: str


def spans(tags: Sequence[str]) -> list[Span]:
    """The spans that a sentence's tags mark.

    Whatever breaks its scheme is read as conlleval reads it: an "I-" or "E-" without
    a beginning, or of another label than the tag before, begins a span.

    Args:
        tags: a sentence's tags.

    Example:
    ```python
    spans(["B-PER", "I-PER", "O", "I-LOC"])  # (0, 2, "PER"), (3, 4, "LOC")
    ```
    """
    found, start = [], None
    previous = ("O", "")
    for i, tag in enumerate([*tags, "O"]):
        current = _split(tag)
        if start is not None and _is_end(previous, current):
            found.append(Span(start, i, previous[1]))
            start = None
        if _is_start(previous, current):
            start = i
        previous = current
    return found


def _split(tag):
    """Prefix and label of a tag; a tag without a prefix is outside of any span."""
    prefix, dash, label = tag.partition("-")
    prefix = _SAME.get(prefix, prefix)
    is_span = dash and prefix in ("B", "I", "E", "S")
    return (prefix, label) if is_span else ("O", "")


def _is_end(previous, current):
    if previous[0] == "O":
        return False
    return previous[0] in "ES" or current[0] in "BSO" or previous[1] != current[1]


def _is_start(previous, current):
    if current[0] == "O":
        return False
    return current[0] in "BS" or previous[0] in "ESO" or previous[1] != current[1]


def detect_scheme(labels: Iterable[str]) -> str | None:
    """The scheme that tags look like, "IOB2" or "IOBES", or None for no spans.

    Args:
        labels: the distinct tags. Of an older IOB in which "B-" only parts neighbours
            nothing can be seen here: its spans are read all the same.
    """
    prefixes = set()
    for tag in labels:
        if tag == "O":
            continue
        prefix, dash, label = tag.partition("-")
        if (
            not dash
            or not label
            or _SAME.get(prefix, prefix) not in ("B", "I", "E", "S")
        ):
            return None
        prefixes.add(_SAME.get(prefix, prefix))
    if not prefixes:
        return None
    return "IOBES" if prefixes & {"E", "S"} else "IOB2"


def to_scheme(tags: Sequence[str], scheme: str) -> list[str]:
    """The tags of the same spans in a scheme, "IOB2" or "IOBES"."""
    checks.one_of("scheme", scheme, SCHEMES)
    new = ["O"] * len(tags)
    for start, end, label in spans(tags):
        for i in range(start, end):
            new[i] = f"{'B' if i == start else 'I'}-{label}"
        if scheme == "IOBES":
            new[end - 1] = f"{'S' if end - start == 1 else 'E'}-{label}"
    return new


def allowed_transitions(labels: Sequence[str], scheme: str) -> dict[str, list]:
    """What a scheme allows, as `CRF` takes it.

    Args:
        labels: the tags, in the order of their scores.
        scheme: "IOB2" or "IOBES".

    Returns:
        dict of nested lists of bool: "transitions" (tags, tags), from row to column,
        "start" and "end" (tags,).

    Raises:
        ValueError: when a tag is none of the scheme's.
    """
    checks.one_of("scheme", scheme, SCHEMES)
    parts = [tag.partition("-") for tag in labels]
    for tag, (prefix, _, label) in zip(labels, parts, strict=True):
        if tag != "O" and (
            not label or prefix not in ("B", "I", *("ES" if scheme == "IOBES" else ""))
        ):
            raise ValueError(checks.received("labels", tag, f"tags of {scheme}"))
    goes_on, begins, ends = _GOES_ON[scheme], _BEGINS[scheme], _ENDS[scheme]

    def may_follow(one, other):
        is_same = one[2] == other[2]
        if is_same and one[0] in goes_on and other[0] in goes_on[one[0]]:
            return True
        return (one[0] == "O" or one[0] in ends) and (
            other[0] == "O" or other[0] in begins
        )

    return {
        "transitions": [[may_follow(one, other) for other in parts] for one in parts],
        "start": [part[0] == "O" or part[0] in begins for part in parts],
        "end": [part[0] == "O" or part[0] in ends for part in parts],
    }


def span_scores(
    true: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
) -> dict:
    """Precision, recall and F1 of spans: right are those with equal ends and label.

    Args:
        true: each sentence's tags.
        predicted: each sentence's tags, as many.

    Returns:
        dict: "precision", "recall" and "f1" over all spans, each from 0 to 1 and 0
        where there is nothing to divide by; "labels", the same by label, with
        "support", how many there are.

    Raises:
        ValueError: when numbers of sentences or of tokens differ.

    Reference: Tjong Kim Sang and Buchholz 2000, conlleval.
    """
    _check(true, predicted)
    right: dict[str, int] = {}
    wanted: dict[str, int] = {}
    told: dict[str, int] = {}
    for one, other in zip(true, predicted, strict=True):
        gold, found = set(spans(one)), set(spans(other))
        for counts, part in ((wanted, gold), (told, found), (right, gold & found)):
            for span in part:
                counts[span.label] = counts.get(span.label, 0) + 1
    labels = {
        label: {
            **_scores(right.get(label, 0), told.get(label, 0), wanted.get(label, 0)),
            "support": wanted.get(label, 0),
        }
        for label in sorted({*wanted, *told})
    }
    total = _scores(sum(right.values()), sum(told.values()), sum(wanted.values()))
    return {**total, "labels": labels}


def accuracy(
    true: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
) -> float:
    """Share of tokens whose tag is right; 0 where there is no token."""
    _check(true, predicted)
    pairs = [
        pair
        for one, other in zip(true, predicted, strict=True)
        for pair in zip(one, other, strict=True)
    ]
    return sum(one == other for one, other in pairs) / max(len(pairs), 1)


def _check(true, predicted):
    if len(true) != len(predicted):
        raise ValueError(
            f"`predicted` must hold {len(true)} sentences. Received: {len(predicted)}."
        )
    for i, (one, other) in enumerate(zip(true, predicted, strict=True)):
        if len(one) != len(other):
            raise ValueError(
                f"`predicted[{i}]` must hold {len(one)} tags. Received: {len(other)}."
            )


def _scores(right, told, wanted):
    precision = right / told if told else 0.0
    recall = right / wanted if wanted else 0.0
    both = precision + recall
    f1 = 2 * precision * recall / both if both else 0.0
    return {"precision": precision, "recall": recall, "f1": f1}
