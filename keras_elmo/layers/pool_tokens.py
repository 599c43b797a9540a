"""Sums over the tokens of a text."""

import keras
from keras import ops

from keras_elmo.layers.attend import masked_softmax


@keras.saving.register_keras_serializable(package="keras_elmo")
class PoolTokens(keras.layers.Layer):
    """Sums over a text's real tokens, side by side; an empty text gives zeros.

    Args:
        kinds: list of "max", "mean", "min" and "attention" (a learned weight a token).

    Call arguments:
        inputs: float, (batch, time, dim).
        mask: bool, (batch, time), or None.

    Returns:
        float, (batch, kinds x dim).

    Reference: McCann et al. 2017, section 5, "self-attentive pooling".
    """

    def __init__(self, kinds=("max", "mean"), **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.kinds = list(kinds)
        unknown = set(self.kinds) - {"max", "mean", "min", "attention"}
        if unknown or not self.kinds:
            raise ValueError(
                '`kinds` must be of "max", "mean", "min" and "attention". Received: '
                f"kinds={kinds!r}."
            )

    def build(self, input_shape):
        self.query = None
        if "attention" in self.kinds:
            self.query = self.add_weight(shape=(input_shape[-1],), name="query")

    def call(self, inputs, mask=None):
        if mask is None:
            mask = ops.ones_like(inputs[:, :, 0], dtype="bool")
        real = mask[:, :, None]
        any_real = ops.any(real, axis=1)
        pooled = []
        for kind in self.kinds:
            if kind == "max":
                value = ops.max(_padded(inputs, real, _low(inputs)), axis=1)
            elif kind == "min":
                value = -ops.max(_padded(-inputs, real, _low(inputs)), axis=1)
            elif kind == "mean":
                total = ops.sum(_padded(inputs, real, 0.0), axis=1)
                count = ops.sum(ops.cast(real, inputs.dtype), axis=1)
                value = total / ops.maximum(count, ops.ones_like(count))
            else:
                scores = ops.sum(inputs * self.query, axis=-1)[:, None]
                weights = ops.cast(masked_softmax(scores, mask), inputs.dtype)
                value = ops.matmul(weights, _padded(inputs, real, 0.0))[:, 0]
            pooled.append(ops.where(any_real, value, ops.zeros_like(value)))
        return ops.concatenate(pooled, axis=-1)

    def compute_mask(self, inputs, mask=None):
        return None

    def compute_output_shape(self, input_shape):
        return (input_shape[0], len(self.kinds) * input_shape[2])

    def get_config(self):
        return {**super().get_config(), "kinds": self.kinds}


def _padded(inputs, real, value):
    return ops.where(real, inputs, ops.full_like(inputs, value))


def _low(inputs):
    """A number below all others that float16 has too."""
    return -6e4 if inputs.dtype == "float16" else -1e9
