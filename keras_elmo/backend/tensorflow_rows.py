"""Rows of a table on TensorFlow."""

import tensorflow as tf


def take_rows(table, ids):
    """See `keras_elmo.backend`."""
    # Inside, a variable would ask for another form of gradient.
    return _take_rows(tf.convert_to_tensor(table), ids)


@tf.custom_gradient
def _take_rows(table, ids):
    def gradient(d_rows):
        d_rows = tf.reshape(d_rows, (-1, *table.shape[1:]))
        flat = tf.reshape(ids, (-1,))
        return tf.math.unsorted_segment_sum(d_rows, flat, tf.shape(table)[0]), None

    return tf.gather(table, ids), gradient
