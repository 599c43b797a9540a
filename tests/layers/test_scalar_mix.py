"""`ScalarMix` against the NumPy reference."""

import keras
import numpy as np
import pytest

from keras_elmo import ScalarMix
from tests import reference
from tests.helpers import check_layer
from tests.layers.weights import (
    TOLERANCE,
    assert_close,
    assert_equal,
    assert_gradients,
    call,
    numbers,
)

MASK = np.array([[1, 1, 1, 0], [1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0]], bool)


def random_layers(number, seed=41):
    rng = np.random.default_rng(seed)
    shape = (len(MASK), number, MASK.shape[1], 5)
    # Layers of unlike size and mean, as those of a biLM are.
    scale = np.arange(1.0, number + 1.0)[:, None, None]
    return (rng.normal(size=shape) * scale + scale).astype("float32")


def made(number, parameters=None, gamma=1.0, **options):
    mix = ScalarMix(**options)
    mix.build((None, number, None, 5))
    if parameters is not None:
        mix.scalars.assign(parameters)
    mix._gamma.assign(gamma)
    return mix


@pytest.mark.parametrize("number", [2, 3, 5])
@pytest.mark.parametrize("layer_norm", [False, True])
def test_equals_the_reference(number, layer_norm):
    parameters = np.random.default_rng(number).normal(size=number).astype("float32")
    mix = made(number, parameters, 1.7, layer_norm=layer_norm)
    layers = random_layers(number)
    for mask in (None, MASK):
        expected = reference.scalar_mix(
            layers.astype("float64"),
            np.ones_like(MASK) if mask is None else mask,
            parameters.astype("float64"),
            1.7,
            1e-12 if layer_norm else None,
        )
        actual = numbers(call(mix, layers, mask=mask))
        assert_close(actual, expected, **TOLERANCE)
        if mask is not None:
            assert_equal(actual[~mask], 0.0)


@pytest.mark.parametrize("layer_norm", [False, True])
def test_masked_positions_are_never_read(layer_norm):
    mix = made(3, [0.3, -0.2, 0.5], layer_norm=layer_norm)
    layers = random_layers(3)
    other = np.where(MASK[:, None, :, None], layers, 1e3).astype("float32")
    assert_close(call(mix, layers, mask=MASK), call(mix, other, mask=MASK), atol=1e-6)


@pytest.mark.parametrize("layer_norm", [False, True])
def test_a_batch_of_padding_is_zero(layer_norm):
    mix = made(3, layer_norm=layer_norm)
    mixed = call(mix, random_layers(3), mask=np.zeros_like(MASK))
    assert_equal(numbers(mixed), 0.0)


def test_initial_weights_are_those_after_the_softmax():
    weights = [0.2, 0.5, 0.3]
    mix = made(3, initial_weights=weights)
    assert_close(mix.mix_weights, weights, atol=1e-6)
    assert mix.gamma == 1.0
    layers = random_layers(3)
    expected = np.einsum("j,bjtd->btd", weights, layers)
    assert_close(call(mix, layers), expected, **TOLERANCE)


def test_a_weight_of_one_picks_its_layer():
    layers = random_layers(3)
    for picked in range(3):
        weights = [float(layer == picked) for layer in range(3)]
        mix = made(3, initial_weights=weights)
        # Weights of 0 are stored as 1e-8, which is what remains of the others.
        assert_close(call(mix, layers), layers[:, picked], atol=1e-6)
        assert_close(mix.mix_weights, weights, atol=1e-7)


def test_weights_start_equal_and_sum_to_one():
    assert_close(made(4).mix_weights, [0.25] * 4, rtol=1e-6)
    mix = made(3, [1.0, -2.0, 0.5])
    assert_close(mix.mix_weights.sum(), 1.0, rtol=1e-6)


def test_the_regularizer_acts_on_the_weights_before_the_softmax():
    mix = made(3, [1.0, 0.0, 0.0], regularizer=keras.regularizers.L2(2.0))
    call(mix, random_layers(3))
    assert_close([float(numbers(loss)) for loss in mix.losses], [2.0])


@pytest.mark.parametrize("weights", [[0.5, 0.6, 0.2], [1.2, -0.2, 0.0], [], [np.nan]])
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(ValueError, match="initial_weights"):
        ScalarMix(initial_weights=weights)


def test_another_number_of_layers_is_refused():
    mix = ScalarMix(initial_weights=[0.5, 0.5])
    with pytest.raises(ValueError, match="initial_weights"):
        call(mix, random_layers(3))


@pytest.mark.parametrize("layer_norm", [False, True])
def test_gradients_are_the_references(layer_norm):
    rng = np.random.default_rng(42)
    mix = made(3, [0.3, -0.2, 0.5], 0.6, layer_norm=layer_norm)
    layers = random_layers(3)

    def run():
        return reference.scalar_mix(
            layers.astype("float64"),
            MASK,
            numbers(mix.scalars),
            numbers(mix._gamma),
            1e-12 if layer_norm else None,
        )

    assert_gradients(mix, layers, MASK, run, rng)


@pytest.mark.parametrize("layer_norm", [False, True])
def test_layer_contract(layer_norm):
    check_layer(
        ScalarMix,
        {"layer_norm": layer_norm, "initial_weights": [0.2, 0.3, 0.5]},
        random_layers(3),
        (len(MASK), MASK.shape[1], 5),
        2,
        call_kwargs={"mask": MASK},
        symbolic_shape=(None, 3, None, 5),
        # With layer norm the helper's loss, a mean over all, is the same whatever the
        # weights are; the test of gradients has another.
        batched_outputs=not layer_norm,
    )
