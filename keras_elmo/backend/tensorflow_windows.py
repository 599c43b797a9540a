"""The largest product of a filter with any window of a token, on TensorFlow."""

import tensorflow as tf

from keras_elmo.backend.windows import positions


def max_over_windows(characters, kernel, filters):
    """See `keras_elmo.backend`."""
    width, dim = characters.shape[1:]
    places = positions(width, dim, filters)

    @tf.custom_gradient
    def run(flat, kernel):
        first, last, rows, columns = places[0]
        best = tf.matmul(flat[:, first:last], kernel[:rows, :columns])
        arg = tf.zeros(tf.shape(best), tf.uint8)
        for number, (first, last, rows, columns) in enumerate(places[1:], 1):
            new = tf.matmul(flat[:, first:last], kernel[:rows, :columns])
            larger = new > best[:, :columns]
            new_arg = tf.where(larger, tf.cast(number, tf.uint8), arg[:, :columns])
            new = tf.maximum(new, best[:, :columns])
            if columns == kernel.shape[1]:
                best, arg = new, new_arg
            else:
                best = tf.concat([new, best[:, columns:]], axis=1)
                arg = tf.concat([new_arg, arg[:, columns:]], axis=1)

        def gradient(d_best):
            d_flat, d_kernel = tf.zeros_like(flat), tf.zeros_like(kernel)
            for number, (first, last, rows, columns) in enumerate(places):
                d_new = tf.where(
                    tf.equal(arg[:, :columns], tf.cast(number, tf.uint8)),
                    d_best[:, :columns],
                    tf.zeros((), d_best.dtype),
                )
                part = tf.matmul(flat[:, first:last], d_new, transpose_a=True)
                d_kernel += tf.pad(
                    part,
                    [[0, kernel.shape[0] - rows], [0, kernel.shape[1] - columns]],
                )
                part = tf.matmul(d_new, kernel[:rows, :columns], transpose_b=True)
                d_flat += tf.pad(part, [[0, 0], [first, width * dim - last]])
            return d_flat, d_kernel

        return best, gradient

    return run(tf.reshape(characters, (-1, width * dim)), kernel)
