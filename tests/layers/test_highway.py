"""`Highway` against the NumPy reference."""

import numpy as np
import pytest

from keras_elmo import Highway
from tests import reference
from tests.helpers import check_layer
from tests.layers.weights import (
    TOLERANCE,
    assert_close,
    assert_gradients,
    call,
    highway_of,
    randomize,
)


@pytest.mark.parametrize("shape", [(1, 1), (2, 3, 5), (2, 1, 3, 4), (0, 6)])
def test_equals_the_reference(shape):
    rng = np.random.default_rng(1)
    inputs = rng.normal(size=shape).astype("float32")
    layer = Highway()
    layer.build(shape)
    randomize(layer, rng)
    expected = reference.highway(inputs, *highway_of(layer))
    assert_close(call(layer, inputs), expected, **TOLERANCE)


def test_the_carry_gate_opens_the_transformed_part():
    inputs = np.array([[2.0, -3.0]], "float32")
    layer = Highway()
    layer.build(inputs.shape)
    layer.transform_kernel.assign(np.zeros((2, 2)))
    layer.transform_bias.assign([7.0, 7.0])
    layer.carry_kernel.assign(np.zeros((2, 2)))
    # sigmoid(+-40) is 1 and 0 in float32.
    layer.carry_bias.assign([40.0, -40.0])
    assert_close(call(layer, inputs), [[7.0, -3.0]], rtol=1e-6)


def test_gradients_are_the_references():
    rng = np.random.default_rng(2)
    inputs = rng.normal(size=(3, 4)).astype("float32")
    layer = Highway()
    layer.build(inputs.shape)
    randomize(layer, rng)
    assert_gradients(
        layer, inputs, None, lambda: reference.highway(inputs, *highway_of(layer)), rng
    )


def test_layer_contract():
    inputs = np.random.default_rng(3).normal(size=(2, 3, 5)).astype("float32")
    check_layer(Highway, {}, inputs, (2, 3, 5), 4)
