"""Random numbers that a seed decides: weights, and dropout that begins again."""

import contextlib
import random

import keras


def seeded_dropout(rate, **kwargs):
    """`keras.layers.Dropout` with a seed of its own.

    Without one, Keras' dropout on torch draws from torch's global generator: neither a
    seed of the model nor a checkpoint would bring the same masks back.

    Args:
        rate: float.
        **kwargs: further arguments of the layer.
    """
    return keras.layers.Dropout(rate, seed=random.randint(1, 10**9), **kwargs)


@contextlib.contextmanager
def seeded(seed):
    """Python's generator, from which Keras takes its seeds, as if it were new.

    For weights and dropout made inside: `with seeded(7): model = ...`.
    `keras.utils.set_random_seed` would leave every generator of the process changed.
    """
    state = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(state)
