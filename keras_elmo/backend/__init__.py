"""The seam to TensorFlow, JAX and PyTorch: one module each, with the same functions.

`scan(step, state, inputs)` runs a recurrent step over the first axis of `inputs`:

- `step`: function of (state, inputs of one step) to the next state, in keras.ops.
- `state`: list of tensors.
- `inputs`: list of tensors, each (time, ...).

It returns the last state, and the first tensor of the state after each step, stacked:
(time, ...). `keras.ops.scan` is the reference. It is not called by itself because it
refuses a time axis of unknown length on TensorFlow, and because it has to put out the
cell state of every step, which nobody reads.

`projected_lstm(gates_input, mask, h, c, recurrent_kernel, projection_kernel, cell_clip,
proj_clip)` is the loop of `ProjectedLSTM`, whose formulas stand there:

- `gates_input`: (time, batch, 4 H), the inputs' product with their kernel, and bias.
- `mask`: bool (time, batch, 1), or None. Where it is False the state stays as it is,
  and is the output too.
- `h`, `c`: (batch, P) and (batch, H), the state before the first step.
- `recurrent_kernel`: (P, 4 H).
- `projection_kernel`: (H, P), or None for no projection; no `proj_clip` then.

It returns outputs (time, batch, P), h and c. Automatic differentiation of a loop adds
to the gradients of the weights step by step. The backward loops of the modules here
give the gradients of the gates alone, and a weight's gradient is one product over all
steps. A clip's gradient is 1 inside its bounds and 0 beyond and exactly on them.
"""

import contextlib
import contextvars
import importlib

import keras
from keras import ops

_MODULES = {"tensorflow", "jax", "torch"}
_is_portable = contextvars.ContextVar("is_portable", default=False)


@contextlib.contextmanager
def portable():
    """Loops traced inside are of operations that other runtimes know.

    For graphs on TensorFlow and PyTorch that go into files of other programs: no
    gradient, no arrays of tensors, and any number of steps.
    """
    token = _is_portable.set(True)
    try:
        yield
    finally:
        _is_portable.reset(token)


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


def compiled(function, variables):
    """`function`, made once for each shape of its inputs where the backend compiles.

    Without it JAX would compile a `scan` anew at every call.

    Args:
        function: of tensors, to a tensor.
        variables: list of the `keras.Variable`s that it reads, by their values of now.
    """
    name = keras.backend.backend()
    if name not in ("tensorflow", "jax"):
        return function
    module = importlib.import_module(f"keras_elmo.backend.{name}")
    return module.compiled(function, variables)


def general_projected_lstm(
    gates_input,
    mask,
    h,
    c,
    recurrent_kernel,
    projection_kernel,
    cell_clip,
    proj_clip,
    scan=scan,
):
    """`projected_lstm` in keras.ops over `scan`, for any backend and dtype."""

    def step(state, step_inputs):
        h, c = state
        gates = step_inputs[0] + ops.matmul(h, recurrent_kernel)
        i, j, f, o = ops.split(ops.cast(gates, c.dtype), 4, axis=-1)
        c = ops.sigmoid(f + 1.0) * c + ops.sigmoid(i) * ops.tanh(j)
        if cell_clip is not None:
            c = ops.clip(c, -cell_clip, cell_clip)
        h = ops.cast(ops.sigmoid(o) * ops.tanh(c), h.dtype)
        if projection_kernel is not None:
            h = ops.matmul(h, projection_kernel)
            if proj_clip is not None:
                h = ops.clip(h, -proj_clip, proj_clip)
        new = [h, c]
        if mask is not None:
            new = [
                ops.where(step_inputs[1], n, old)
                for n, old in zip(new, state, strict=True)
            ]
        return new

    inputs = [gates_input] if mask is None else [gates_input, mask]
    (h, c), outputs = scan(step, [h, c], inputs)
    return outputs, h, c


def projected_lstm(
    gates_input, mask, h, c, recurrent_kernel, projection_kernel, cell_clip, proj_clip
):
    """`projected_lstm` of the backend that is in use."""
    name = keras.backend.backend()
    function = general_projected_lstm
    # With 16 bits c has another dtype than the rest, and the general one does that.
    if name in _MODULES and gates_input.dtype == c.dtype:
        kind = "portable" if _is_portable.get() else "lstm"
        module = importlib.import_module(f"keras_elmo.backend.{name}_{kind}")
        function = module.projected_lstm
    return function(
        gates_input,
        mask,
        h,
        c,
        recurrent_kernel,
        projection_kernel,
        cell_clip,
        proj_clip,
    )


def product(x, kernel, bias=None):
    """`keras.ops.matmul` with a kernel of two dimensions, plus a bias.

    On torch it is oneDNN's: on processors that are not Intel's, twice as fast as the
    library that PyTorch asks otherwise, and without a gradient it adds the bias in the
    same pass.

    Args:
        x: float, (..., inputs).
        kernel: float, (inputs, outputs).
        bias: float, (outputs,), or None.
    """
    if keras.backend.backend() == "torch" and not _is_portable.get():
        module = importlib.import_module("keras_elmo.backend.torch")
        tensors = [ops.convert_to_tensor(tensor) for tensor in (x, kernel)]
        if bias is not None:
            tensors.append(ops.convert_to_tensor(bias))
        return module.product(*tensors)
    result = ops.matmul(x, kernel)
    return result if bias is None else result + bias


def max_over(x, axis):
    """`keras.ops.max` of floats, for a batch of nothing too, as masked code needs it.

    Keras refuses an empty tensor on torch even where the axis itself is not empty.
    """
    if keras.backend.backend() == "torch":
        return importlib.import_module("keras_elmo.backend.torch").max_over(x, axis)
    return keras.ops.max(x, axis=axis, initial=float("-inf"))


def take_rows(table, ids):
    """`keras.ops.take` along the first axis, with a gradient that is a plain array.

    TensorFlow's own is a list of rows in which one row may stand several times; Keras'
    optimizers and its clipping take each of them for the whole gradient of its row.

    Args:
        table: float, (rows, ...).
        ids: int, any shape.
    """
    table = keras.ops.convert_to_tensor(table)
    if keras.backend.backend() == "tensorflow":
        return importlib.import_module("keras_elmo.backend.tensorflow_rows").take_rows(
            table, keras.ops.convert_to_tensor(ids)
        )
    return keras.ops.take(table, ids, axis=0)


def general_max_over_windows(characters, kernels):
    """`max_over_windows` in keras.ops alone, for any backend and order of filters."""
    ops, features = keras.ops, []
    for kernel in kernels:
        width, _, number = kernel.shape
        # A convolution over so few channels is fastest as one matrix product over the
        # windows, laid side by side.
        places = ops.shape(characters)[1] - width + 1
        windows = ops.concatenate(
            [characters[:, i : i + places] for i in range(width)], axis=-1
        )
        products = product(windows, ops.reshape(kernel, (-1, number)))
        features.append(max_over(products, axis=1))
    return ops.concatenate(features, axis=-1)


def max_over_windows(characters, kernels, training=False):
    """The largest product of each filter with any window of a token's characters.

    In training one place of the windows after the other, so that no more than one
    place's products are in memory, and the gradient goes to the place that was largest
    alone. (Equal ones share it in the general path: equal windows, as those of padding
    are, come to the same sum.)

    Args:
        characters: float, (tokens, C, dim).
        kernels: list of float, (width, dim, number).
        training: bool. Whether there is going to be a gradient.

    Returns:
        float, (tokens, numbers of all filters together).
    """
    filters = tuple((kernel.shape[0], kernel.shape[2]) for kernel in kernels)
    if (
        not training
        or keras.backend.backend() not in _MODULES
        or list(filters) != sorted(filters, key=lambda pair: pair[0])
        or characters.shape[1] is None
    ):
        return general_max_over_windows(characters, kernels)
    # One kernel for all filters: zeros below the narrow ones.
    widest = filters[-1][0]
    kernel = keras.ops.concatenate(
        [keras.ops.pad(k, [[0, widest - k.shape[0]], [0, 0], [0, 0]]) for k in kernels],
        axis=-1,
    )
    kernel = keras.ops.reshape(kernel, (-1, kernel.shape[-1]))
    name = f"keras_elmo.backend.{keras.backend.backend()}_windows"
    return importlib.import_module(name).max_over_windows(characters, kernel, filters)


def has_packed_lstm():
    """Whether the backend in use has a `packed_lstm`."""
    return keras.backend.backend() in _MODULES


def packed_lstm(lstm, weights_dtype="float32"):
    """A `ProjectedLSTM`'s loop over rows without padding, for inference.

    Args:
        lstm: `ProjectedLSTM` in float32. Its weights are read at each call.
        weights_dtype: "float32", or what its matrices are rounded to: "bfloat16",
            "float16" or "int8" with a scale an output. The products are faster for it
            where the backend has such ones, and made in float32 where it has none.

    Returns:
        function `(inputs, counts, state)` to `(outputs, state)`:

        - inputs: NumPy float32, (rows, dim): the rows of the first step, then those of
          the second, and so on.
        - counts: list of int, rows of each step, never growing: the first rows of a
          step go on in the next one.
        - state: what a call of one row returned, to start every row from, or None.
        - outputs: NumPy float32, (rows, P).
    """
    name = f"keras_elmo.backend.{keras.backend.backend()}_packed"
    return importlib.import_module(name).PackedLSTM(lstm, weights_dtype)
