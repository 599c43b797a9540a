"""Nearest neighbours and thresholds, against the plain way to find them."""

import numpy as np
import pytest
from hypothesis import given, strategies

from keras_elmo.evaluation.cosines import best_threshold, nearest_classes, unit

pytestmark = pytest.mark.once


def test_lengths_do_not_count_and_zeros_stay():
    vectors = unit(np.array([[3.0, 4.0], [0.0, 0.0]]))
    np.testing.assert_allclose(vectors, [[0.6, 0.8], [0, 0]], atol=1e-7)


def test_most_of_the_nearest_decide():
    generator = np.random.default_rng(0)
    train, test = generator.normal(size=(40, 5)), generator.normal(size=(30, 5))
    classes = generator.integers(0, 3, 40)
    expected = []
    for vector in test:
        cosines = [
            np.dot(vector, other) / np.linalg.norm(vector) / np.linalg.norm(other)
            for other in train
        ]
        nearest = np.argsort(cosines)[::-1][:5]
        votes = [
            (
                np.sum(classes[nearest] == c),
                np.sum(np.array(cosines)[nearest[classes[nearest] == c]]),
            )
            for c in range(3)
        ]
        expected.append(max(range(3), key=lambda c: votes[c]))
    assert nearest_classes(train, classes, test, 5).tolist() == expected
    # One neighbour; more than there are.
    assert nearest_classes(train, classes, train, 1).tolist() == classes.tolist()
    every = nearest_classes(train, classes, test, 99)
    assert set(every) == {np.bincount(classes).argmax()}


def test_nearest_of_none_are_refused():
    with pytest.raises(ValueError, match="`train` must hold examples"):
        nearest_classes(np.zeros((0, 2)), np.zeros(0, int), np.ones((1, 2)))


@given(
    strategies.lists(
        strategies.tuples(strategies.integers(-4, 4), strategies.booleans()),
        min_size=1,
        max_size=12,
    )
)
def test_no_threshold_is_better(pairs):
    values, is_true = map(np.array, zip(*pairs, strict=True))
    threshold = best_threshold(values, is_true)
    right = np.sum((values > threshold) == is_true)
    others = [np.sum((values > t) == is_true) for t in np.arange(-5.5, 5.5)]
    assert right == max(others)


def test_a_threshold_of_nothing_is_refused():
    with pytest.raises(ValueError, match="`values`"):
        best_threshold(np.zeros(0), np.zeros(0, bool))
