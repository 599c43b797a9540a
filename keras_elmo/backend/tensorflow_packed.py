"""The recurrent loop of inference on TensorFlow: pieces of steps, compiled by XLA."""

import functools
import itertools

import numpy as np
import tensorflow as tf

from keras_elmo.backend.pieces import pieces
from keras_elmo.backend.rounding import rounded
from keras_elmo.shapes import power_of_two


class PackedLSTM:
    """See `keras_elmo.backend.packed_lstm`."""

    def __init__(self, lstm, weights_dtype):
        self.lstm = lstm
        self.weights_dtype = weights_dtype

    def _weights(self):
        """The weights as the loop takes them: a variable does not tell of changes."""
        lstm = self.lstm
        kernels = [lstm.kernel, lstm.recurrent_kernel, lstm.projection_kernel]
        return [
            *(rounded(k.value, self.weights_dtype) for k in kernels if k is not None),
            lstm.bias.value,
        ]

    def __call__(self, inputs, counts, state):
        """See `keras_elmo.backend.packed_lstm`."""
        lstm, weights = self.lstm, self._weights()
        if state is None:
            h = np.zeros((1, lstm.output_dim), "float32")
            c = np.zeros((1, lstm.hidden_dim), "float32")
        else:
            h, c = state
        outputs = np.empty((len(inputs), lstm.output_dim), "float32")
        for piece in pieces(counts):
            x = inputs[piece.start : piece.start + piece.size]
            x = np.pad(x, ((0, piece.size - len(x)), (0, 0)))
            steps = piece.steps
            # The array that XLA writes the steps to has a fixed length.
            offsets = piece.offsets[: power_of_two(steps)]
            run = _run(
                lstm.cell_clip,
                lstm.proj_clip,
                piece.rows,
                x.shape,
                len(offsets),
                tuple(tuple(weight.shape) for weight in weights),
            )
            y, h, c = run(
                tf.constant(x),
                _with_rows(h, piece.rows),
                _with_rows(c, piece.rows),
                tf.constant(offsets),
                tf.constant(steps),
                weights,
            )
            bounds = [*(piece.start + piece.offsets[:steps]), piece.stop]
            for rows, (start, end) in zip(
                y.numpy(), itertools.pairwise(bounds), strict=False
            ):
                outputs[start:end] = rows[: end - start]
        return outputs, (h, c)


def _with_rows(array, rows):
    """The first rows; or one row, for all.

    By one operation at most: a call's time counts where there is one sentence.
    """
    if len(array) == rows:
        return tf.convert_to_tensor(array)
    if len(array) == 1:
        return tf.broadcast_to(array, (rows, array.shape[1]))
    return tf.slice(array, (0, 0), (rows, array.shape[1]))


@functools.cache
def _run(cell_clip, proj_clip, rows, inputs, steps, weights):
    """The piece as a compiled function of inputs and weights of these shapes.

    TensorFlow takes many shapes of one function for a mistake, and warns, where it
    finds out by itself what there is to compile.
    """

    @tf.function(jit_compile=True, autograph=False, reduce_retracing=False)
    def run(x, h, c, offsets, steps, weights):
        kernel, recurrent_kernel, *projection_kernel, bias = weights
        units = c.shape[1]
        # The forget gate's 1, once and for all steps.
        forget = np.repeat(np.array([0, 0, 1, 0], "float32"), units)
        gates_input = tf.matmul(x, kernel) + (bias + forget)

        def body(t, h, c, outputs):
            # Gathered: where a slice begins, XLA takes for a part of the program, and
            # compiles another one for each batch's offsets.
            gates = tf.gather(gates_input, tf.gather(offsets, t) + tf.range(rows))
            gates = gates + tf.matmul(h, recurrent_kernel)
            i, j, f, o = tf.split(gates, 4, axis=-1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(j)
            if cell_clip is not None:
                c = tf.clip_by_value(c, -cell_clip, cell_clip)
            h = tf.sigmoid(o) * tf.tanh(c)
            if projection_kernel:
                h = tf.matmul(h, projection_kernel[0])
                if proj_clip is not None:
                    h = tf.clip_by_value(h, -proj_clip, proj_clip)
            return t + 1, h, c, outputs.write(t, h)

        outputs = tf.TensorArray(h.dtype, offsets.shape[0], element_shape=h.shape)
        _, h, c, outputs = tf.while_loop(
            lambda t, *_: t < steps, body, (tf.constant(0), h, c, outputs)
        )
        return outputs.stack(), h, c

    hidden_dim = weights[-1][0] // 4
    floats = [inputs, (rows, weights[1][0]), (rows, hidden_dim)]
    return run.get_concrete_function(
        *(tf.TensorSpec(shape, "float32") for shape in floats),
        tf.TensorSpec((steps,), "int32"),
        tf.TensorSpec((), "int32"),
        [tf.TensorSpec(shape, "float32") for shape in weights],
    )
