"""What cosines of vectors tell: nearest neighbours, and thresholds."""

import numpy as np

from keras_elmo import checks

NEIGHBORS = 5


def unit(vectors: np.ndarray) -> np.ndarray:
    """float32 vectors of length 1 along the last axis; zeros stay zeros."""
    vectors = np.asarray(vectors, "float32")
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(length > 0, length, 1.0)


def nearest_classes(
    train: np.ndarray, classes: np.ndarray, test: np.ndarray, number: int = NEIGHBORS
) -> np.ndarray:
    """The class that most of each vector's nearest neighbours have.

    Args:
        train: float, (examples, dim).
        classes: int, (examples,), from 0.
        test: float, (vectors, dim).
        number: int, how many neighbours vote. Of classes with equal votes the one with
            the larger sum of cosines wins.

    Returns:
        int, (vectors,).

    Raises:
        ValueError: when `train` is empty.
    """
    number = checks.positive_int("number", number)
    if not len(train):
        raise ValueError("`train` must hold examples. Received: none.")
    number = min(number, len(train))
    cosines = unit(test) @ unit(train).T
    nearest = np.argpartition(-cosines, number - 1, axis=1)[:, :number]
    votes = np.zeros((len(test), int(np.max(classes)) + 1))
    rows = np.arange(len(test))[:, None]
    # A cosine is at most 1: a millionth of it decides between equal votes alone.
    weights = 1.0 + 1e-6 * np.take_along_axis(cosines.astype("float64"), nearest, 1)
    np.add.at(votes, (rows, np.asarray(classes)[nearest]), weights)
    return votes.argmax(axis=1)


def best_threshold(values: np.ndarray, is_true: np.ndarray) -> float:
    """The threshold that parts true from false best: true is what is above it.

    Args:
        values: float, (examples,).
        is_true: bool, (examples,).

    Returns:
        float, between two neighbouring values or beyond all; of equally good ones the
        lowest.

    Raises:
        ValueError: when there is no value.
    """
    values = np.asarray(values, "float64")
    if not len(values):
        raise ValueError("`values` must hold a number at least. Received: none.")
    levels, place = np.unique(values, return_inverse=True)
    true = np.bincount(place, weights=is_true, minlength=len(levels))
    false = np.bincount(place, minlength=len(levels)) - true
    # Right answers with the first 0, 1, ... levels called false.
    right = np.concatenate([[0], np.cumsum(false)]) + (
        true.sum() - np.concatenate([[0], np.cumsum(true)])
    )
    edges = np.concatenate(
        [[levels[0] - 1.0], (levels[1:] + levels[:-1]) / 2, [levels[-1] + 1.0]]
    )
    return float(edges[right.argmax()])
