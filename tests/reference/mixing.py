"""The task's weighted sum of layers, in bilm-tf's and AllenNLP's forms."""

import numpy as np

BILM_TF_EPSILON = 1e-12
ALLENNLP_EPSILON = 1e-13


def normalized(layer, mask, epsilon):
    """(batch, time, dim) with mean 0 and variance 1 over all numbers of real tokens."""
    real = layer[mask]
    return (layer - real.mean()) / np.sqrt(real.var() + epsilon)


def scalar_mix(layers, mask, parameters, gamma, epsilon=None):
    """`gamma * sum_j softmax(parameters)_j * h_j`.

    bilm-tf hands in layers and mask without sentence markers, AllenNLP with them; with
    layer norm the two differ.

    Args:
        layers: (batch, layers, time, dim).
        mask: bool (batch, time).
        parameters: (layers,), before the softmax.
        gamma: float.
        epsilon: the layer norm's, or None for no layer norm.

    Returns:
        (batch, time, dim), 0 where masked.
    """
    weights = np.exp(parameters - np.max(parameters))
    weights = weights / weights.sum()
    mixed = np.zeros(layers[:, 0].shape)
    for j, weight in enumerate(weights):
        layer = layers[:, j]
        if epsilon is not None:
            layer = normalized(layer, mask, epsilon)
        mixed += weight * layer
    return gamma * mixed * mask[..., None]
