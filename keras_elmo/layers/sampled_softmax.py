"""The softmax over a word and a few others, for training on large vocabularies."""

import keras
from keras import ops

from keras_elmo import backend

# What removes a score: the most negative float32, as TensorFlow 1 adds it.
REMOVED = -3.4e38


@keras.saving.register_keras_serializable(package="keras_elmo")
class SampledSoftmax(keras.layers.Layer):
    """Negative log-likelihood of a word among itself and drawn negatives.

    Each score is less the log of how often its word is expected among the drawn ones,
    so that the sum over the few stands for the sum over all. A negative that is a
    position's own target is removed at that position. No gradient flows through the
    expected counts.

    Call arguments:
        hidden: float, (..., P), a direction's top layer.
        targets: int, (...), rows of the vocabulary.
        kernel: float, (V, P), the softmax's matrix or the word table.
        bias: float, (V,).
        sampled_ids: int, (n,), the negatives, each once.
        true_expected_count: float, (...), of the targets.
        sampled_expected_count: float, (n,), of the negatives.

    Returns:
        float32, (...), in nats. Lower than with the full softmax: no perplexity.

    Args:
        remove_accidental_hits: bool.

    Reference: Jean et al. 2015; TensorFlow 1 `tf.nn.sampled_softmax_loss` as bilm-tf
    `bilm/training.py`, `_build_loss`, calls it.

    Example:
    ```python
    softmax = keras_elmo.SampledSoftmax()
    losses = softmax(
        keras.ops.ones((2, 3, 4)),
        keras.ops.zeros((2, 3), "int32"),
        kernel=keras.ops.ones((10, 4)),
        bias=keras.ops.zeros((10,)),
        sampled_ids=keras.ops.array([0, 7], "int32"),
        true_expected_count=keras.ops.ones((2, 3)),
        sampled_expected_count=keras.ops.ones((2,)),
    )
    ```
    """

    def __init__(self, remove_accidental_hits=True, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.remove_accidental_hits = bool(remove_accidental_hits)

    def build(self, *_):
        pass

    def call(
        self,
        hidden,
        targets,
        kernel,
        bias,
        sampled_ids,
        true_expected_count,
        sampled_expected_count,
    ):
        shape = ops.shape(targets)
        hidden = ops.reshape(hidden, (-1, hidden.shape[-1]))
        targets = ops.reshape(targets, (-1,))
        number = ops.shape(targets)[0]
        # Rows of the matrix are gathered in one go: their gradient is added up once.
        ids = ops.concatenate([targets, ops.cast(sampled_ids, targets.dtype)], axis=0)
        rows = ops.cast(backend.take_rows(kernel, ids), self.compute_dtype)
        biases = ops.cast(backend.take_rows(bias, ids), "float32")
        true = ops.sum(ops.cast(hidden * rows[:number], "float32"), axis=-1)
        true = true + biases[:number] - _log(ops.reshape(true_expected_count, (-1,)))
        sampled = backend.product(hidden, ops.transpose(rows[number:]))
        sampled = ops.cast(sampled, "float32")
        sampled = sampled + (biases[number:] - _log(sampled_expected_count))
        if self.remove_accidental_hits:
            hits = ops.equal(
                ops.expand_dims(targets, 1), ops.expand_dims(ids[number:], 0)
            )
            sampled = ops.where(hits, REMOVED, sampled)
        scores = ops.concatenate([ops.expand_dims(true, 1), sampled], axis=1)
        losses = ops.logsumexp(scores, axis=1) - true
        return ops.reshape(losses, shape)

    def compute_output_spec(self, hidden, targets, *_, **__):
        return keras.KerasTensor(targets.shape, dtype="float32")

    def get_config(self):
        config = super().get_config()
        config.update(remove_accidental_hits=self.remove_accidental_hits)
        return config


def _log(counts):
    return ops.stop_gradient(ops.log(ops.cast(counts, "float32")))
