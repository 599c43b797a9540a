"""What TensorFlow does in its own way."""

import tensorflow as tf


def compiled(function, variables):
    """See `keras_elmo.backend`."""
    return tf.function(function, autograph=False, reduce_retracing=True)


def scan(step, state, inputs):
    """See `keras_elmo.backend`."""
    time = tf.shape(inputs[0])[0]
    arrays = [
        tf.TensorArray(x.dtype, time, element_shape=x.shape[1:]).unstack(x)
        for x in inputs
    ]
    # One more than there are steps: nothing at all cannot be stacked where the
    # compiler does not know the shape of a step.
    outputs = tf.TensorArray(
        state[0].dtype, time + 1, element_shape=state[0].shape, name="outputs"
    ).write(0, state[0])

    def body(i, outputs, *state):
        new = step(list(state), [array.read(i) for array in arrays])
        # A step may know its shapes better than the state it began with.
        new = [tf.ensure_shape(n, s.shape) for n, s in zip(new, state, strict=True)]
        return i + 1, outputs.write(i + 1, new[0]), *new

    _, outputs, *state = tf.while_loop(
        lambda i, *_: i < time,
        body,
        (0, outputs, *state),
        # XLA can differentiate a loop only when it knows where it ends.
        maximum_iterations=time,
    )
    return state, outputs.stack()[1:]
