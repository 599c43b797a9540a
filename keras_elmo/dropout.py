"""Dropout that can be told to begin again where it was."""

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
