"""Schemes and the F1 of spans, against conlleval's rules worked by hand."""

import itertools

import hypothesis
import hypothesis.strategies as st
import pytest

from keras_elmo.tasks.tags import (
    accuracy,
    allowed_transitions,
    detect_scheme,
    span_scores,
    spans,
    to_scheme,
)

pytestmark = pytest.mark.once

# Tags, and what conlleval reads in them.
CASES = [
    ("B-X I-X O B-Y", [(0, 2, "X"), (3, 4, "Y")]),
    ("B-X B-X I-X", [(0, 1, "X"), (1, 3, "X")]),
    ("I-X I-X O I-X", [(0, 2, "X"), (3, 4, "X")]),  # IOB1
    ("I-X I-Y", [(0, 1, "X"), (1, 2, "Y")]),  # another label begins a span
    ("B-X I-Y I-Y", [(0, 1, "X"), (1, 3, "Y")]),
    ("O I-X E-X O", [(1, 3, "X")]),
    ("S-X S-X B-Y E-Y", [(0, 1, "X"), (1, 2, "X"), (2, 4, "Y")]),
    ("B-X E-X E-X", [(0, 2, "X"), (2, 3, "X")]),  # what ends has to begin again
    ("B-X L-X U-Y", [(0, 2, "X"), (2, 3, "Y")]),  # BILOU
    ("B-creative-work I-creative-work", [(0, 2, "creative-work")]),
    ("O NOUN O", []),
    ("", []),
]


@pytest.mark.parametrize("tags, expected", CASES)
def test_spans_are_those_that_conlleval_reads(tags, expected):
    assert spans(tags.split()) == expected


TAGS = st.lists(st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y", "E-X", "S-Y"]))


@hypothesis.given(TAGS)
@pytest.mark.parametrize("scheme", ["IOB2", "IOBES"])
def test_a_change_of_scheme_keeps_the_spans(scheme, tags):
    new = to_scheme(tags, scheme)
    assert spans(new) == spans(tags)
    assert to_scheme(new, scheme) == new
    # What is written is what the scheme allows.
    labels = sorted({*new, "O"})
    allowed = allowed_transitions(labels, scheme)
    rows = [labels.index(tag) for tag in new]
    moves = itertools.pairwise(rows)
    assert all(allowed["transitions"][one][other] for one, other in moves)
    if rows:
        assert allowed["start"][rows[0]] and allowed["end"][rows[-1]]


def test_a_scheme_allows_what_it_says():
    labels = ["O", "B-X", "I-X", "E-X", "S-X", "I-Y"]
    allowed = allowed_transitions(labels, "IOBES")
    follow = {
        one: [other for other, may in zip(labels, row, strict=True) if may]
        for one, row in zip(labels, allowed["transitions"], strict=True)
    }
    assert follow == {
        "O": ["O", "B-X", "S-X"],
        "B-X": ["I-X", "E-X"],
        "I-X": ["I-X", "E-X"],
        "E-X": ["O", "B-X", "S-X"],
        "S-X": ["O", "B-X", "S-X"],
        "I-Y": ["I-Y"],
    }
    assert allowed["start"] == [True, True, False, False, True, False]
    assert allowed["end"] == [True, False, False, True, True, False]


def test_a_tag_of_another_scheme_is_refused():
    with pytest.raises(ValueError, match="E-X"):
        allowed_transitions(["O", "E-X"], "IOB2")
    with pytest.raises(ValueError, match="scheme"):
        allowed_transitions(["O"], "BIO")
    with pytest.raises(ValueError, match="scheme"):
        to_scheme(["O"], "IOB1")


@pytest.mark.parametrize(
    "labels, scheme",
    [
        (["O", "B-X", "I-X"], "IOB2"),
        (["O", "I-X"], "IOB2"),
        (["B-X", "E-X", "S-X", "O"], "IOBES"),
        (["B-X", "L-X", "U-X"], "IOBES"),
        (["NOUN", "VERB"], None),
        (["O"], None),
        (["B-", "O"], None),
        (["-LRB-", "NN"], None),
    ],
)
def test_the_scheme_is_seen_by_the_prefixes(labels, scheme):
    assert detect_scheme(labels) == scheme


def test_scores_are_those_worked_by_hand():
    true = [["B-X", "I-X", "O", "B-Y"], ["B-X", "O"], ["O"]]
    told = [["B-X", "I-X", "O", "B-X"], ["B-X", "I-X"], ["S-Y"]]
    # Right: (0, 2, X). Told 4, wanted 3.
    scores = span_scores(true, told)
    assert scores["precision"] == 1 / 4
    assert scores["recall"] == 1 / 3
    assert scores["f1"] == pytest.approx(2 / 7)
    x, y = scores["labels"]["X"], scores["labels"]["Y"]
    assert (x["precision"], x["recall"], x["support"]) == (1 / 3, 1 / 2, 2)
    assert (y["precision"], y["recall"], y["f1"], y["support"]) == (0, 0, 0, 1)
    assert accuracy(true, told) == 4 / 7


def test_a_scheme_does_not_change_the_score():
    """Figures of nervaluate 1.2.1 (strict) and of conlleval 2004-01-26 for IOB2."""
    true = [["B-X", "I-X", "B-X", "O"], ["I-Y", "B-Y", "I-X"]]
    told = [["B-X", "I-X", "I-X", "O"], ["B-Y", "I-Y", "B-X"]]
    # Wanted (0, 2), (2, 3) X; (0, 1), (1, 2) Y, (2, 3) X. Told 3, right (2, 3) X.
    for scheme in ("IOB2", "IOBES"):
        scores = span_scores(
            [to_scheme(tags, scheme) for tags in true],
            [to_scheme(tags, scheme) for tags in told],
        )
        assert (scores["precision"], scores["recall"]) == (1 / 3, 1 / 5)
        assert scores["f1"] == pytest.approx(1 / 4)


def test_nothing_to_divide_by_is_zero():
    assert span_scores([], [])["f1"] == 0.0
    assert span_scores([["O"]], [["O"]])["f1"] == 0.0
    assert accuracy([[]], [[]]) == 0.0


def test_other_numbers_are_refused():
    with pytest.raises(ValueError, match="2 sentences"):
        span_scores([["O"], ["O"]], [["O"]])
    with pytest.raises(ValueError, match=r"predicted\[1\]"):
        accuracy([["O"], ["O"]], [["O"], []])
