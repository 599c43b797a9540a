"""What JAX does in its own way."""

import jax


def scan(step, state, inputs):
    """See `keras_elmo.backend`."""

    def body(state, inputs):
        state = step(state, inputs)
        return state, state[0]

    return jax.lax.scan(body, state, inputs)
