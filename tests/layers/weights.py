"""A layer's weights: random ones, and the same for the NumPy reference."""

import importlib

import keras
import numpy as np
from keras import ops

from tests import reference

# golden/README.md, for layer outputs in float32; the reference is float64.
TOLERANCE = {"atol": 5e-6, "rtol": 1e-5}


def randomize(layer, rng, scale=0.5):
    """Sets every weight, biases too: zeros would hide some mistakes."""
    for variable in layer.weights:
        variable.assign(rng.normal(0.0, scale, variable.shape).astype("float32"))


def numbers(tensor):
    """float64 NumPy array of a variable or tensor."""
    return np.asarray(ops.convert_to_numpy(tensor), dtype="float64")


def lstm_of(layer):
    """The `reference.LSTM` of a built `ProjectedLSTM`."""
    projection = layer.projection_kernel
    return reference.LSTM(
        numbers(layer.kernel),
        numbers(layer.recurrent_kernel),
        numbers(layer.bias),
        None if projection is None else numbers(projection),
        layer.cell_clip,
        layer.proj_clip,
    )


def highway_of(layer):
    """The arguments of `reference.highway` after the input."""
    return [
        numbers(weight)
        for weight in (
            layer.carry_kernel,
            layer.carry_bias,
            layer.transform_kernel,
            layer.transform_bias,
        )
    ]


def character_cnn_of(layer):
    """The arguments of `reference.character_cnn` after the ids, a dict."""
    kernel, bias = layer.projection_kernel, layer.projection_bias
    return {
        "table": numbers(layer.character_table),
        "kernels": [numbers(kernel) for kernel in layer.kernels],
        "biases": [numbers(bias) for bias in layer.biases],
        "activation": layer.activation,
        "highways": [highway_of(highway) for highway in layer.highways],
        "projection": None if kernel is None else (numbers(kernel), numbers(bias)),
    }


def assert_close(actual, expected, **tolerance):
    """`numpy.testing.assert_allclose` for tensors of any backend."""
    np.testing.assert_allclose(numbers(actual), numbers(expected), **tolerance)


def assert_equal(actual, expected):
    """The same numbers to the bit."""
    np.testing.assert_array_equal(numbers(actual), numbers(expected))


def call(layer, inputs, **kwargs):
    """`layer(inputs, **kwargs)`, on JAX compiled as a whole.

    JAX compiles each operation of an uncompiled call, which takes five times as long.
    """
    if keras.backend.backend() != "jax":
        return layer(inputs, **kwargs)
    static = {name: x for name, x in kwargs.items() if x is None or type(x) is bool}
    arrays = {name: x for name, x in kwargs.items() if name not in static}
    jax = importlib.import_module("jax")
    function = jax.jit(
        lambda inputs, arrays: layer(inputs, **arrays, **static),
        # Layers so small are compiled longer than they run.
        compiler_options={"xla_backend_optimization_level": 0},
    )
    return function(inputs, arrays)


class _Weighted(keras.losses.Loss):
    """Sum of the outputs, each times a number of its own."""

    def __init__(self):
        super().__init__(reduction="sum")

    def call(self, y_true, y_pred):
        return ops.sum(y_true * y_pred, axis=-1)


def gradients(layer, inputs, mask, factors):
    """Gradient of `sum(factors * outputs)` by each trainable weight, NumPy arrays.

    Every backend has its own way to a gradient; one step of gradient descent with a
    rate of 1 takes all of them.
    """

    class Probe(keras.Model):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def call(self, inputs):
            x = inputs[0]
            return self.layer(x) if mask is None else self.layer(x, mask=inputs[1])

    probe = Probe()
    # One step is not worth compiling, but on JAX not compiling compiles more.
    eager = keras.backend.backend() != "jax"
    probe.compile(keras.optimizers.SGD(1.0), loss=_Weighted(), run_eagerly=eager)
    before = [numbers(weight) for weight in layer.trainable_weights]
    data = [inputs] if mask is None else [inputs, mask]
    probe.train_on_batch(data, factors)
    after = [numbers(weight) for weight in layer.trainable_weights]
    for weight, old in zip(layer.trainable_weights, before, strict=True):
        weight.assign(old.astype("float32"))
    return [old - new for old, new in zip(before, after, strict=True)]


def assert_gradients(layer, inputs, mask, run, rng):
    """The gradient along a random direction of each weight is the reference's.

    Args:
        layer: a built layer with the call arguments `inputs` and, where `mask` is not
            None, `mask`.
        inputs, mask: NumPy arrays.
        run: function without arguments, the reference's outputs with the weights that
            `layer` has at the time.
        rng: `np.random.Generator`.
    """
    factors = rng.normal(size=run().shape).astype("float32")
    found = gradients(layer, inputs, mask, factors)
    # Small, so that few clips and maxima change sides within it.
    step = 2.0**-16
    for weight, gradient in zip(layer.trainable_weights, found, strict=True):
        assert np.isfinite(gradient).all(), weight.path
        value = numbers(weight)
        direction = rng.choice([-1.0, 1.0], value.shape)
        sides = []
        for sign in (1.0, -1.0):
            weight.assign((value + sign * step * direction).astype("float32"))
            # The step that float32 weights really took, known exactly.
            sides.append((numbers(weight), float((factors * run()).sum())))
        weight.assign(value.astype("float32"))
        (above, high), (below, low) = sides
        slope = (high - low) / (2.0 * step)
        taken = (above - below) / (2.0 * step)
        # golden/training/README.md: gradients atol 2e-6, rtol 1e-4; one more digit, as
        # this is a sum over all numbers of a weight.
        np.testing.assert_allclose(
            (gradient * taken).sum(), slope, atol=2e-5, rtol=1e-3, err_msg=weight.path
        )
