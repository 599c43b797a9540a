"""Clusters of vectors, and how well they are parted."""

import numpy as np
import pytest

from keras_elmo.evaluation.clusters import cluster, silhouette

pytestmark = pytest.mark.once


def groups(sizes, spread, seed=0):
    """Vectors around as many directions, and the number of each one's."""
    generator = np.random.default_rng(seed)
    centers = np.eye(8)[: len(sizes)]
    labels = np.repeat(range(len(sizes)), sizes)
    noise = generator.normal(0, spread, (len(labels), 8))
    # Lengths do not count.
    lengths = generator.uniform(0.5, 20.0, (len(labels), 1))
    return (centers[labels] + noise) * lengths, labels


def test_the_number_of_clusters_is_found_and_the_largest_is_the_first():
    vectors, labels = groups([5, 30, 12], 0.08)
    found = cluster(vectors)
    expected = np.array([2, 0, 1])[labels]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(cluster(vectors), found)
    assert cluster(vectors, 2).max() == 1


def test_what_has_no_clusters_is_one():
    vectors = np.random.default_rng(0).normal(size=(60, 40))
    assert cluster(vectors).tolist() == [0] * 60


def test_equal_vectors_are_one_cluster_whatever_number_is_asked_for():
    vectors = np.ones((5, 3))
    assert cluster(vectors).tolist() == [0] * 5
    assert cluster(vectors, 3).tolist() == [0] * 5
    assert cluster(np.zeros((2, 3)), 2).tolist() == [0, 0]
    assert cluster(np.ones((1, 3))).tolist() == [0]
    with pytest.raises(ValueError, match="`number`"):
        cluster(vectors, 0)


def test_silhouettes_are_those_of_the_definition():
    vectors, labels = groups([4, 6, 1], 0.5, seed=1)
    scores = []
    for i, vector in enumerate(vectors):
        distances = np.linalg.norm(vectors - vector, axis=1)
        others = np.arange(len(vectors)) != i
        own = distances[(labels == labels[i]) & others]
        if not len(own):
            scores.append(0.0)
            continue
        nearest = min(distances[labels == n].mean() for n in {0, 1, 2} - {labels[i]})
        scores.append((nearest - own.mean()) / max(nearest, own.mean()))
    assert silhouette(vectors, labels) == pytest.approx(np.mean(scores))
    assert silhouette(vectors, np.zeros(11, int)) == 0.0
