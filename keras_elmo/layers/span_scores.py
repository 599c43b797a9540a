"""Scores of tokens as a span's end."""

import keras
from keras import ops

from keras_elmo.layers.attend import NEVER


@keras.saving.register_keras_serializable(package="keras_elmo")
class SpanScores(keras.layers.Layer):
    """A score a token; far below all others where padded.

    Call arguments:
        inputs: float, (batch, time, dim).
        mask: bool, (batch, time), or None.

    Returns:
        float32, (batch, time).
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], 1), name="kernel")

    def call(self, inputs, mask=None):
        scores = ops.cast(ops.matmul(inputs, self.kernel)[..., 0], "float32")
        return scores if mask is None else ops.where(mask, scores, NEVER)

    def compute_mask(self, inputs, mask=None):
        return None

    def compute_output_spec(self, inputs, mask=None):
        return keras.KerasTensor(inputs.shape[:-1], "float32")
