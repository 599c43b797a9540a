"""One token of each text."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_elmo")
class TokenAt(keras.layers.Layer):
    """One token's vector of each text.

    Call arguments:
        inputs: list of vectors (batch, time, dim) and positions, int (batch,).

    Returns:
        float, (batch, dim).
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.built = True

    def call(self, inputs, mask=None):
        vectors, position = inputs
        place = ops.one_hot(position, ops.shape(vectors)[1], dtype=vectors.dtype)
        return ops.sum(vectors * place[:, :, None], axis=1)

    def compute_mask(self, inputs, mask=None):
        return None

    def compute_output_shape(self, input_shape):
        return (input_shape[0][0], input_shape[0][2])
