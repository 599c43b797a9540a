"""The recurrent loop of inference on JAX: pieces of steps, each one compiled call."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from keras_elmo.backend.pieces import pieces
from keras_elmo.backend.rounding import rounded


class PackedLSTM:
    """See `keras_elmo.backend.packed_lstm`."""

    def __init__(self, lstm, weights_dtype):
        self.lstm = lstm
        self.weights_dtype = weights_dtype
        self.made_from, self.weights = [], []

    def _prepare(self):
        """The weights as the loop takes them; anew when one of them has changed."""
        lstm = self.lstm
        variables = [lstm.kernel, lstm.recurrent_kernel, lstm.projection_kernel]
        bias = lstm.bias.value
        values = [*(None if v is None else v.value for v in variables), bias]
        # Arrays never change: a variable that was assigned to holds another one.
        if [id(v) for v in values] == [id(v) for v in self.made_from]:
            return
        self.made_from = values
        self.weights = [
            None if v is None else rounded(v, self.weights_dtype) for v in values[:-1]
        ]
        # The forget gate's 1, once and for all steps.
        units = lstm.hidden_dim
        self.weights.append(bias.at[2 * units : 3 * units].add(1.0))

    def __call__(self, inputs, counts, state):
        """See `keras_elmo.backend.packed_lstm`."""
        self._prepare()
        lstm = self.lstm
        if state is None:
            h = np.zeros((1, lstm.output_dim), "float32")
            c = np.zeros((1, lstm.hidden_dim), "float32")
        else:
            h, c = state
        outputs = np.empty((len(inputs), lstm.output_dim), "float32")
        for piece in pieces(counts):
            x = inputs[piece.start : piece.start + piece.size]
            x = np.pad(x, ((0, piece.size - len(x)), (0, 0)))
            y, h, c = _run(
                self.weights,
                x,
                _with_rows(h, piece.rows),
                _with_rows(c, piece.rows),
                piece.offsets,
                np.int32(piece.steps),
                (lstm.cell_clip, lstm.proj_clip),
            )
            # Cut on the host, here and below: JAX would compile, and keep, a program
            # for each length.
            rows = piece.stop - piece.start
            outputs[piece.start : piece.stop] = np.asarray(y)[:rows]
        return outputs, (h, c)


def _with_rows(array, rows):
    """The first rows; or one row, for all."""
    array = np.asarray(array)
    if len(array) == 1:
        return np.broadcast_to(array, (rows, array.shape[1]))
    return array[:rows]


@functools.partial(jax.jit, static_argnums=(6,))
def _run(weights, x, h, c, offsets, steps, clips):
    kernel, recurrent_kernel, projection_kernel, bias = weights
    cell_clip, proj_clip = clips
    gates_input = x @ kernel + bias

    def body(t, carry):
        h, c, outputs = carry
        offset = offsets[t]
        gates = jax.lax.dynamic_slice_in_dim(gates_input, offset, len(h), 0)
        gates = gates + h @ recurrent_kernel
        i, j, f, o = jnp.split(gates, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(j)
        if cell_clip is not None:
            c = jnp.clip(c, -cell_clip, cell_clip)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        if projection_kernel is not None:
            h = h @ projection_kernel
            if proj_clip is not None:
                h = jnp.clip(h, -proj_clip, proj_clip)
        # Rows of sentences that have ended are written over by the next step's.
        outputs = jax.lax.dynamic_update_slice_in_dim(outputs, h, offset, 0)
        return h, c, outputs

    outputs = jnp.zeros((len(x), h.shape[1]), x.dtype)
    h, c, outputs = jax.lax.fori_loop(0, steps, body, (h, c, outputs))
    return outputs, h, c
