"""Vectors as points: what is far stays far, and layers look alike."""

import sys

import numpy as np
import pytest

from keras_elmo.evaluation.projection import pca, project_layers

pytestmark = pytest.mark.once


def test_pca_keeps_what_lies_in_a_plane():
    generator = np.random.default_rng(0)
    flat = generator.normal(size=(20, 2)) * [3.0, 1.0]
    plane = np.linalg.qr(generator.normal(size=(7, 2)))[0].T
    points = pca(flat @ plane + 5.0)

    def distances(x):
        return np.linalg.norm(x[:, None] - x, axis=-1)

    np.testing.assert_allclose(distances(points), distances(flat), atol=1e-8)
    assert points.var(axis=0)[0] > points.var(axis=0)[1]
    assert pca(np.ones((1, 4))).tolist() == [[0.0, 0.0]]
    assert pca(np.array([[1.0], [3.0]])).shape == (2, 2)


def test_a_layer_that_is_turned_or_mirrored_gives_the_same_points():
    generator = np.random.default_rng(1)
    first = generator.normal(size=(30, 5)) * [9, 8, 1, 1, 1]
    turned = first @ np.linalg.qr(generator.normal(size=(5, 5)))[0]
    one, other, mirrored = project_layers(np.stack([first, turned, -turned], axis=1))
    np.testing.assert_allclose(one, other, atol=1e-8)
    np.testing.assert_allclose(one, mirrored, atol=1e-8)


def test_points_fill_the_square():
    vectors = np.random.default_rng(2).normal(size=(40, 2, 6)) * 100 + 50
    points = project_layers(vectors)
    assert points.shape == (2, 40, 2)
    for layer in points:
        low, high = layer.min(axis=0), layer.max(axis=0)
        assert (high - low).max() == pytest.approx(2.0)
        np.testing.assert_allclose(low + high, 0.0, atol=1e-9)


def test_vectors_that_differ_by_rounding_are_one_point():
    vectors = np.full((9, 1, 4), 3.0)
    vectors += 1e-3 * np.random.default_rng(0).normal(size=vectors.shape)
    assert not project_layers(vectors).any()
    assert project_layers(np.zeros((1, 1, 4))).tolist() == [[[0.0, 0.0]]]


def test_other_methods_are_refused_and_umap_names_its_extra(monkeypatch):
    vectors = np.random.default_rng(0).normal(size=(9, 1, 4))
    with pytest.raises(ValueError, match="'pca', 'umap'"):
        project_layers(vectors, "tsne")
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(ImportError, match=r"keras-elmo\[umap\]"):
        project_layers(vectors, "umap")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_umap_keeps_neighbours_together():
    pytest.importorskip("umap", reason="umap-learn is not installed")
    generator = np.random.default_rng(0)
    groups = np.repeat([0, 1], 25)
    vectors = np.eye(6)[groups] + generator.normal(0, 0.1, (50, 6))
    (points,) = project_layers(vectors[:, None], "umap")
    distances = np.linalg.norm(points[:, None] - points, axis=-1)
    np.fill_diagonal(distances, np.inf)
    assert (groups[distances.argmin(axis=1)] == groups).mean() > 0.95
