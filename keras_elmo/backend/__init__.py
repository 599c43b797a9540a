"""The seam to TensorFlow, JAX and PyTorch: one module each, with the same functions.

`scan(step, state, inputs)` runs a recurrent step over the first axis of `inputs`:

- `step`: function of (state, inputs of one step) to the next state, in keras.ops.
- `state`: list of tensors.
- `inputs`: list of tensors, each (time, ...).

It returns the last state, and the first tensor of the state after each step, stacked:
(time, ...). `keras.ops.scan` is the reference. It is not called by itself because it
refuses a time axis of unknown length on TensorFlow, and because it has to put out the
cell state of every step, which nobody reads.
"""

import importlib

import keras

_MODULES = {"tensorflow", "jax", "torch"}


def general_scan(step, state, inputs):
    """`scan` in keras.ops alone, for any backend."""

    def body(state, inputs):
        state = step(state, inputs)
        return state, state

    state, outputs = keras.ops.scan(body, state, inputs)
    return state, outputs[0]


def scan(step, state, inputs):
    """`scan` of the backend that is in use."""
    name = keras.backend.backend()
    if name not in _MODULES:
        return general_scan(step, state, inputs)
    module = importlib.import_module(f"keras_elmo.backend.{name}")
    return module.scan(step, state, inputs)


def max_over(x, axis):
    """`keras.ops.max` of floats, for a batch of nothing too, as masked code needs it.

    Keras refuses an empty tensor on torch even where the axis itself is not empty.
    """
    if keras.backend.backend() == "torch":
        return importlib.import_module("keras_elmo.backend.torch").max_over(x, axis)
    return keras.ops.max(x, axis=axis, initial=float("-inf"))
