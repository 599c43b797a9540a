"""The windows' maximum in training: the same numbers and gradients, place by place."""

import keras
import numpy as np
import pytest

from keras_elmo import backend


class Windows(keras.layers.Layer):
    """Both paths as a layer with kernels, so that `fit` gives their gradients."""

    def __init__(self, function, kernels, characters):
        super().__init__()
        self.function = function
        self.characters = self.add_weight(
            shape=characters.shape,
            initializer=lambda shape, dtype: keras.ops.convert_to_tensor(characters),
        )
        self.kernels = [
            self.add_weight(
                shape=k.shape,
                initializer=lambda shape, dtype, k=k: keras.ops.convert_to_tensor(k),
            )
            for k in kernels
        ]

    def call(self, inputs):
        kernels = [keras.ops.convert_to_tensor(k) for k in self.kernels]
        found = self.function(keras.ops.convert_to_tensor(self.characters), kernels)
        return found * inputs


def outputs_and_step(function, kernels, characters, factors):
    """What comes out, and every weight after one step of plain descent."""
    layer = Windows(function, kernels, characters)
    model = keras.Sequential([layer])
    model.compile(
        optimizer=keras.optimizers.SGD(1.0), loss=lambda _, y: keras.ops.sum(y)
    )
    found = model.predict_on_batch(factors)
    model.train_on_batch(factors, np.zeros(factors.shape, "float32"))
    return found, [np.array(keras.ops.convert_to_numpy(w)) for w in layer.weights]


@pytest.mark.parametrize(
    "filters, width", [([(1, 3), (2, 4), (5, 6)], 9), ([(2, 3)] * 2 + [(5, 1)], 5)]
)
def test_equals_the_general_path(filters, width):
    rng = np.random.default_rng(0)
    characters = rng.normal(size=(7, width, 3)).astype("float32")
    characters[:3, 3:] = characters[0, 3]  # equal windows, as those of padding
    kernels = [rng.normal(size=(w, 3, n)).astype("float32") for w, n in filters]
    factors = rng.normal(size=(7, sum(n for _, n in filters))).astype("float32")
    expected, expected_weights = outputs_and_step(
        backend.general_max_over_windows, kernels, characters, factors
    )
    found, weights = outputs_and_step(
        lambda x, k: backend.max_over_windows(x, k, training=True),
        kernels,
        characters,
        factors,
    )
    np.testing.assert_allclose(found, expected, atol=1e-6)
    # Where windows are equal their characters are one table's row: sums are compared.
    for ours, theirs in zip(weights[1:], expected_weights[1:], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    np.testing.assert_allclose(weights[0][3:], expected_weights[0][3:], atol=1e-5)
    np.testing.assert_allclose(
        weights[0][:3].sum(axis=1), expected_weights[0][:3].sum(axis=1), atol=1e-5
    )


def test_no_tokens():
    kernels = [np.ones((2, 3, 4), "float32")]
    found = backend.max_over_windows(
        keras.ops.zeros((0, 5, 3)), kernels, training=keras.backend.backend() != "torch"
    )
    assert tuple(found.shape) == (0, 4)
