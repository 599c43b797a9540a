"""The recurrent loop of each backend equals the one in keras.ops."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_elmo
from keras_elmo import backend


def step(state, inputs):
    h, c = state
    c = 0.5 * c + ops.tanh(inputs[0])
    return [ops.where(inputs[1], h + c, h), c]


def arguments(time):
    rng = np.random.default_rng(0)
    state = [rng.normal(size=(3, 4)).astype("float32") for _ in range(2)]
    inputs = [
        rng.normal(size=(time, 3, 4)).astype("float32"),
        rng.random((time, 3, 1)) < 0.7,
    ]
    return [
        [ops.convert_to_tensor(x) for x in structure] for structure in (state, inputs)
    ]


@pytest.mark.parametrize("time", [1, 7])
def test_equals_the_general_loop(time):
    state, inputs = arguments(time)
    expected_state, expected = backend.general_scan(step, state, inputs)
    last, outputs = backend.scan(step, state, inputs)
    # The same operations in the same order: nothing may differ.
    np.testing.assert_array_equal(
        ops.convert_to_numpy(outputs), ops.convert_to_numpy(expected)
    )
    for value, expected_value in zip(last, expected_state, strict=True):
        np.testing.assert_array_equal(
            ops.convert_to_numpy(value), ops.convert_to_numpy(expected_value)
        )


def test_no_steps_keep_the_state():
    state, inputs = arguments(0)
    last, outputs = backend.scan(step, state, inputs)
    assert tuple(outputs.shape) == (0, 3, 4)
    np.testing.assert_array_equal(
        ops.convert_to_numpy(last[1]), ops.convert_to_numpy(state[1])
    )


def test_runs_with_time_and_batch_unknown_to_the_compiler():
    inputs = keras.Input((None, 4))
    model = keras.Model(inputs, keras_elmo.ProjectedLSTM(6, 4)(inputs))
    for shape in [(2, 3, 4), (1, 5, 4), (4, 1, 4)]:
        assert model.predict_on_batch(np.ones(shape, "float32")).shape == shape


@pytest.mark.parametrize("largest", [-3.0, 2.5])
def test_maximum_over_an_axis(largest):
    x = np.full((2, 3, 4), -7.0, "float32")
    x[:, 1] = largest
    found = backend.max_over(ops.convert_to_tensor(x), axis=1)
    np.testing.assert_array_equal(ops.convert_to_numpy(found), x.max(axis=1))


def test_maximum_of_an_empty_batch():
    found = backend.max_over(ops.zeros((0, 3, 4)), axis=1)
    assert tuple(found.shape) == (0, 4)
