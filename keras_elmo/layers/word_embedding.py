"""The word table: token ids to context-free vectors, for word-input biLMs."""

import keras
from keras import ops

from keras_elmo import backend, checks


@keras.saving.register_keras_serializable(package="keras_elmo")
class WordEmbedding(keras.layers.Layer):
    """Looks each token up in a table with one row a word and no padding row.

    Args:
        vocabulary_size: int, number of words (V).
        output_dim: int, size of a word's vector.

    Call arguments:
        inputs: int, (...), the word's row + 1; 0 is padding.

    Returns:
        float in the compute dtype, (..., output_dim); exactly 0 for padding.

    Reference: bilm-tf `bilm/training.py`, `_build_word_embeddings`.

    Example:
    ```python
    vectors = keras_elmo.WordEmbedding(10, 4)(keras.ops.array([[1, 3, 0]]))
    ```
    """

    def __init__(self, vocabulary_size, output_dim, **kwargs):
        super().__init__(**kwargs)
        self.vocabulary_size = checks.positive_int("vocabulary_size", vocabulary_size)
        self.output_dim = checks.positive_int("output_dim", output_dim)

    def build(self, input_shape):
        self.table = self.add_weight(
            name="table",
            shape=(self.vocabulary_size, self.output_dim),
            initializer="glorot_uniform",
        )

    def call(self, inputs):
        rows = backend.take_rows(self.table, ops.maximum(inputs - 1, 0))
        rows = ops.cast(rows, self.compute_dtype)
        is_token = ops.expand_dims(ops.not_equal(inputs, 0), axis=-1)
        return ops.where(is_token, rows, ops.zeros_like(rows))

    def compute_mask(self, inputs, mask=None):
        return ops.not_equal(inputs, 0)

    def compute_output_shape(self, input_shape):
        return (*input_shape, self.output_dim)

    def compute_output_spec(self, inputs, **kwargs):
        # The inputs are integers; the output has the compute dtype.
        return keras.KerasTensor(
            self.compute_output_shape(inputs.shape), dtype=self.compute_dtype
        )

    def get_config(self):
        config = super().get_config()
        config.update(vocabulary_size=self.vocabulary_size, output_dim=self.output_dim)
        return config
