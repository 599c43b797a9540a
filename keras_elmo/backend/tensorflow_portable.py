"""The recurrent loop on TensorFlow, of operations that other runtimes know.

LiteRT, ONNX and OpenVINO have no arrays of tensors, or those of one size only: each
step's output is written into one tensor by a choice.
"""

import tensorflow as tf

from keras_elmo.backend import general_projected_lstm


def projected_lstm(*arguments):
    """See `keras_elmo.backend`."""
    return general_projected_lstm(*arguments, scan=_scan)


def _scan(step, state, inputs):
    time = tf.shape(inputs[0])[0]
    places = tf.range(time)[:, None, None]

    def body(i, outputs, *state):
        new = step(list(state), [tf.gather(x, i) for x in inputs])
        return i + 1, tf.where(tf.equal(places, i), new[0], outputs), *new

    sizes = [tf.TensorShape([None, x.shape[-1]]) for x in state]
    # Rows and steps may be any number, and what a step makes knows less of them.
    _, outputs, *state = tf.while_loop(
        lambda i, *_: i < time,
        body,
        (0, tf.zeros(tf.concat([[time], tf.shape(state[0])], 0)), *state),
        shape_invariants=(
            tf.TensorShape([]),
            tf.TensorShape([None, None, state[0].shape[-1]]),
            *sizes,
        ),
    )
    return state, outputs
