"""Clusters of a word's uses: k-means on vectors of length 1.

In NumPy, some hundred vectors at a time: scikit-learn would be a dependency for this
alone.
"""

import numpy as np

from keras_elmo import checks
from keras_elmo.evaluation.cosines import unit

MOST = 6
STARTS = 8
STEPS = 100
# Below this mean silhouette the clusters are not seen as such: one cluster is told.
SMALLEST_SILHOUETTE = 0.05


def cluster(
    vectors: np.ndarray, number: int | None = None, seed: int = 0
) -> np.ndarray:
    """Numbers vectors by cluster, the largest cluster 0.

    Args:
        vectors: float, (vectors, dim); lengths do not count.
        number: int, how many clusters, or None for the number from 2 to 6 whose mean
            silhouette is the best, and one cluster where none is above 0.05. There
            are fewer where fewer vectors are distinct.
        seed: int, of the first centres.

    Returns:
        int, (vectors,).

    Reference: Arthur and Vassilvitskii 2007 (k-means++); Rousseeuw 1987 (silhouette).
    """
    if number is not None:
        checks.positive_int("number", number)
    vectors = unit(vectors)
    # Equal but for rounding is equal.
    distinct = len(np.unique(np.round(vectors, 3), axis=0))
    if number is not None:
        return _by_size(_k_means(vectors, min(number, distinct), seed))
    best, labels = SMALLEST_SILHOUETTE, np.zeros(len(vectors), int)
    for candidate in range(2, min(MOST, distinct - 1) + 1):
        found = _k_means(vectors, candidate, seed)
        score = silhouette(vectors, found)
        if score > best:
            best, labels = score, found
    return _by_size(labels)


def silhouette(vectors: np.ndarray, labels: np.ndarray) -> float:
    """How much nearer vectors are to their own cluster than to the next: -1 to 1.

    Args:
        vectors: float, (vectors, dim).
        labels: int, (vectors,), each one's cluster.

    Returns:
        float, the mean over the vectors; 0 for a single cluster. A vector alone in its
        cluster counts 0.
    """
    numbers, labels = np.unique(labels, return_inverse=True)
    if len(numbers) < 2:
        return 0.0
    vectors = np.asarray(vectors, "float64")
    squares = (vectors**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * vectors @ vectors.T
    distances = np.sqrt(np.maximum(distances, 0.0))
    np.fill_diagonal(distances, 0.0)
    member = np.eye(len(numbers))[labels]
    sizes = member.sum(axis=0)
    sums = distances @ member
    rows = np.arange(len(vectors))
    own = sums[rows, labels] / np.maximum(sizes[labels] - 1, 1)
    means = sums / sizes
    means[rows, labels] = np.inf
    other = means.min(axis=1)
    larger = np.maximum(own, other)
    scores = (other - own) / np.where(larger > 0, larger, 1.0)
    return float(np.where(sizes[labels] > 1, scores, 0.0).mean())


def _k_means(vectors, number, seed):
    """The labels of the best of several starts."""
    generator = np.random.default_rng(seed)
    best, labels = np.inf, np.zeros(len(vectors), int)
    for _ in range(STARTS if number > 1 else 1):
        centers = _first_centers(vectors, number, generator)
        for _ in range(STEPS):
            found = _distances(vectors, centers).argmin(axis=1)
            moved = np.array(
                [
                    vectors[found == i].mean(axis=0) if (found == i).any() else center
                    for i, center in enumerate(centers)
                ]
            )
            if np.allclose(moved, centers, atol=1e-6):
                break
            centers = moved
        distances = _distances(vectors, centers)
        if (total := distances.min(axis=1).sum()) < best:
            best, labels = total, distances.argmin(axis=1)
    return labels


def _first_centers(vectors, number, generator):
    """k-means++: each next centre is likelier the farther it is from those before."""
    centers = vectors[[generator.integers(len(vectors))]]
    while len(centers) < number:
        odds = _distances(vectors, centers).min(axis=1)
        chosen = generator.choice(len(vectors), p=odds / odds.sum())
        centers = np.concatenate([centers, vectors[[chosen]]])
    return centers


def _distances(vectors, centers):
    """Squared distances, float64, (vectors, centers)."""
    differences = vectors[:, None].astype("float64") - centers
    return (differences**2).sum(axis=-1)


def _by_size(labels):
    numbers, labels, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    rank = np.empty(len(numbers), int)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(numbers))
    return rank[labels]
