"""The one softmax of both directions of a biLM."""

import keras
from keras import ops

from keras_elmo import backend, checks


@keras.saving.register_keras_serializable(package="keras_elmo")
class BiLMSoftmax(keras.layers.Layer):
    """Negative log-likelihood of target words: `-log softmax(h W^T + b)`.

    Args:
        vocabulary_size: int, number of words (V).
        tied: bool. Take W from the word table, given at each call, and keep only a
            bias here.

    Call arguments:
        hidden: float, (..., P), a direction's top layer.
        targets: int, (...), rows of the vocabulary from 0 to V - 1.
        table: float, (V, P), the word table where `tied`.

    Returns:
        float32, (...), the negative log-likelihood in nats.

    Reference: Peters et al. 2018, section 3.1; bilm-tf `bilm/training.py`,
    `_build_loss`.

    Example:
    ```python
    softmax = keras_elmo.BiLMSoftmax(10)
    losses = softmax(keras.ops.ones((2, 3, 4)), keras.ops.zeros((2, 3), "int32"))
    ```
    """

    def __init__(self, vocabulary_size, tied=False, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.vocabulary_size = checks.positive_int("vocabulary_size", vocabulary_size)
        self.tied = bool(tied)

    def build(self, hidden_shape, *_):
        dim = hidden_shape[-1]
        self.kernel = None
        if not self.tied:
            self.kernel = self.add_weight(
                name="kernel",
                shape=(self.vocabulary_size, dim),
                initializer=keras.initializers.RandomNormal(stddev=dim**-0.5),
            )
        self.bias = self.add_weight(
            name="bias", shape=(self.vocabulary_size,), initializer="zeros"
        )

    def call(self, hidden, targets, table=None):
        logits = self.logits(hidden, table)
        return ops.sparse_categorical_crossentropy(targets, logits, from_logits=True)

    def logits(self, hidden, table=None):
        """Scores of every word: float32, (..., V)."""
        kernel = table if self.tied else self.kernel
        kernel = ops.transpose(ops.convert_to_tensor(kernel))
        scores = backend.product(hidden, kernel)
        return ops.cast(scores, "float32") + ops.cast(self.bias, "float32")

    def compute_mask(self, hidden, mask=None):
        return mask

    def compute_output_shape(self, hidden_shape, *_):
        return hidden_shape[:-1]

    def compute_output_spec(self, hidden, targets, table=None):
        return keras.KerasTensor(hidden.shape[:-1], dtype="float32")

    def get_config(self):
        config = super().get_config()
        config.update(vocabulary_size=self.vocabulary_size, tied=self.tied)
        return config
