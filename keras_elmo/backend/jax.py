"""What JAX does in its own way."""

import jax
import keras


def scan(step, state, inputs):
    """See `keras_elmo.backend`."""

    def body(state, inputs):
        state = step(state, inputs)
        return state, state[0]

    return jax.lax.scan(body, state, inputs)


def compiled(function, variables):
    """See `keras_elmo.backend`."""

    @jax.jit
    def run(values, inputs):
        with keras.StatelessScope(list(zip(variables, values, strict=True))):
            return function(*inputs)

    return lambda *inputs: run([v.value for v in variables], inputs)
