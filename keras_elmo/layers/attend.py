"""Attention of the tokens of one text to those of another."""

import keras
from keras import ops

# Far below any score, and finite: a row without a token stays free of NaN.
NEVER = -1e9


@keras.saving.register_keras_serializable(package="keras_elmo")
class Attend(keras.layers.Layer):
    """For each token of one text, the sum of another's tokens that are like it.

    Call arguments:
        inputs: list of queries (batch, time, dim), keys (batch, time', dim) and values
            (batch, time', dim'); two are taken for queries and for keys and values.
        mask: list of their masks, bool, or None.

    Returns:
        float, (batch, time, dim'), with the queries' mask.

    Reference: McCann et al. 2017, section 5 (biattention); Chen et al. 2017,
    section 3.2.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.built = True

    def call(self, inputs, mask=None):
        queries, keys, values = inputs if len(inputs) == 3 else (*inputs, inputs[1])
        scores = ops.matmul(queries, ops.swapaxes(keys, 1, 2))
        weights = masked_softmax(scores, None if mask is None else mask[1])
        return ops.matmul(ops.cast(weights, values.dtype), values)

    def compute_mask(self, inputs, mask=None):
        return None if mask is None else mask[0]

    def compute_output_shape(self, input_shape):
        return (*input_shape[0][:2], input_shape[-1][2])


def masked_softmax(scores, mask):
    """Softmax over the last axis: float32; zeros where no token is real.

    Args:
        scores: float, (batch, queries, time).
        mask: bool, (batch, time), or None.
    """
    scores = ops.cast(scores, "float32")
    if mask is None:
        return ops.softmax(scores, axis=-1)
    real = ops.cast(mask[:, None, :], "float32")
    # By hand: Keras warns of a softmax over an axis of one, a text of one token.
    scores = scores + (1.0 - real) * NEVER
    scores = ops.exp(scores - ops.max(scores, axis=-1, keepdims=True)) * real
    # A row without a real token has 0 here. Its square is in the gradient: no less.
    return scores / ops.maximum(ops.sum(scores, axis=-1, keepdims=True), 1e-6)
