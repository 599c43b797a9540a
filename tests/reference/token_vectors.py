"""A token's context-free vector: character CNN or word table."""

import numpy as np


def sigmoid(x):
    """1 / (1 + exp(-x)) that does not overflow."""
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def highway(x, carry, carry_bias, transform, transform_bias):
    """The published files' "carry" gate opens the transformed part."""
    gate = sigmoid(x @ carry + carry_bias)
    return gate * np.maximum(x @ transform + transform_bias, 0.0) + (1.0 - gate) * x


def character_cnn(
    ids, table, kernels, biases, activation="relu", highways=(), projection=None
):
    """Vectors of tokens, also of tokens whose ids are all 0 (bilm-tf gives them one).

    Args:
        ids: int, (..., characters).
        table: (261, d), the rows of the ids 1 to 261; id 0 is a row of zeros.
        kernels: list of (width, d, number).
        biases: list of (number,).
        activation: "relu" or "tanh".
        highways: list of (carry, carry_bias, transform, transform_bias).
        projection: (matrix, bias) or None.
    """
    table = np.concatenate([np.zeros_like(table[:1]), table])
    flat = np.reshape(ids, (-1, np.shape(ids)[-1]))
    activate = {"relu": lambda x: np.maximum(x, 0.0), "tanh": np.tanh}[activation]
    vectors = []
    for token in flat:
        characters = table[token]
        parts = []
        for kernel, bias in zip(kernels, biases, strict=True):
            # (positions, d, width): every window that lies inside the token's ids.
            windows = np.lib.stride_tricks.sliding_window_view(
                characters, len(kernel), axis=0
            )
            convolved = np.einsum("pdw,wdn->pn", windows, kernel) + bias
            parts.append(activate(convolved.max(axis=0)))
        x = np.concatenate(parts)
        for weights in highways:
            x = highway(x, *weights)
        if projection is not None:
            x = x @ projection[0] + projection[1]
        vectors.append(x)
    return np.reshape(vectors, (*np.shape(ids)[:-1], -1))


def word_vectors(ids, table):
    """Row id - 1 of the table; zeros for id 0."""
    return np.concatenate([np.zeros_like(table[:1]), table])[ids]
