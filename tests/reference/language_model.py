"""The language model's loss."""

import numpy as np


def softmax_loss(outputs, targets, weights, bias):
    """Mean negative log-likelihood of one direction.

    Args:
        outputs: (..., P), the top layer's.
        targets: int (...), rows of `weights`.
        weights: (vocabulary, P).
        bias: (vocabulary,).
    """
    logits = outputs @ weights.T + bias
    largest = logits.max(axis=-1, keepdims=True)
    normalizer = np.log(np.exp(logits - largest).sum(axis=-1)) + largest[..., 0]
    chosen = np.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    return np.mean(normalizer - chosen)


def bilm_loss(forward, forward_targets, backward, backward_targets, weights, bias):
    """Mean of both directions' losses; they share one softmax."""
    return 0.5 * (
        softmax_loss(forward, forward_targets, weights, bias)
        + softmax_loss(backward, backward_targets, weights, bias)
    )
