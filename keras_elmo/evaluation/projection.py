"""Vectors as points of a plane, each layer turned to look like the one before."""

import importlib

import numpy as np

from keras_elmo import checks

METHODS = ("pca", "umap")
# As a share of the vectors' length: points nearer to each other are one point.
SAME = 1e-2
UMAP_NEIGHBORS = 15


def project_layers(
    vectors: np.ndarray, method: str = "pca", seed: int = 0
) -> np.ndarray:
    """Points of each layer's vectors, in one square for all.

    A plane may be turned and mirrored without a change of what it tells: each layer's
    is brought as near as possible to that of the layer before, so that points that
    move do so for a reason.

    Args:
        vectors: float, (tokens, layers, dim).
        method: "pca", the plane of the largest deviations, or "umap", which keeps
            neighbours together.
        seed: int, of UMAP.

    Returns:
        float64, (layers, tokens, 2) from -1 to 1. Vectors that are all one, as the
        token vectors of one word are, are points in the middle.

    Raises:
        ImportError: when UMAP is asked for and not installed.
        ValueError: when `method` is none of these.
    """
    checks.one_of("method", method, METHODS)
    layers = []
    for layer in np.moveaxis(np.asarray(vectors, "float64"), 1, 0):
        points = _project(layer, method, seed)
        if layers:
            points = _turned(points, layers[-1])
        layers.append(points)
    return np.array([_in_square(points) for points in layers])


def pca(vectors: np.ndarray) -> np.ndarray:
    """The two directions of the largest deviation.

    Args:
        vectors: float, (vectors, dim).

    Returns:
        float64, (vectors, 2), of mean 0.
    """
    centered = np.asarray(vectors, "float64") - np.mean(vectors, axis=0)
    left, sizes, _ = np.linalg.svd(centered, full_matrices=False)
    points = (left * sizes)[:, :2]
    return np.pad(points, [(0, 0), (0, 2 - points.shape[1])])


def _project(vectors, method, seed):
    centered = vectors - vectors.mean(axis=0)
    # Rounding is no deviation.
    if np.abs(centered).max() <= SAME * np.abs(vectors).max():
        return np.zeros((len(vectors), 2))
    if method == "pca" or len(vectors) <= 3:
        return pca(vectors)
    points = require_umap()(
        n_neighbors=min(UMAP_NEIGHBORS, len(vectors) - 1),
        metric="cosine",
        # One thread, which the seed asks for anyway, and without a warning of it.
        n_jobs=1,
        random_state=seed,
        init="random" if len(vectors) < 2 * UMAP_NEIGHBORS else "spectral",
    ).fit_transform(vectors.astype("float32"))
    return points - points.mean(axis=0)


def require_umap():
    """UMAP's class, or an error that says how to get it."""
    try:
        UMAP = importlib.import_module("umap").UMAP
    except ImportError as error:
        raise ImportError(
            "UMAP needs umap-learn: pip install 'keras-elmo[umap]'."
        ) from error
    return UMAP


def _in_square(points):
    """Points moved and scaled, in both directions alike, to lie from -1 to 1."""
    low, high = points.min(axis=0), points.max(axis=0)
    half = (high - low).max() / 2
    return (points - (low + high) / 2) / (half if half > 0 else 1.0)


def _turned(points, onto):
    """`points` turned, or mirrored and turned, to be the nearest to `onto`."""
    left, _, right = np.linalg.svd(points.T @ onto)
    return points @ left @ right
