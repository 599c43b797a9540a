"""The bidirectional language model: the backbone's two directions and one softmax."""

import keras
from keras import ops

from keras_elmo.layers.bilm_softmax import BiLMSoftmax
from keras_elmo.models.perplexity import Perplexity

DIRECTIONS = ("forward", "backward")


@keras.saving.register_keras_serializable(package="keras_elmo")
class ElmoBiLM(keras.Model):
    """Predicts each token from those before it, and from those behind it.

    The directions are two streams of their own: the backward one runs backward
    already. Both hold the sentence markers: the first token's left context is `<S>`,
    the last token's right context is `</S>`. Loss: the mean of both directions' mean
    negative log-likelihood.

    Args:
        backbone: `ElmoBackbone`, whose weights are trained.
        vocabulary_size: int, number of words that are predicted (V), or None for the
            backbone's word table.
        tie_embeddings: bool. The softmax's matrix is the word table (word input).

    Call arguments:
        inputs: dict of int32. "forward" and "backward", (batch, time), rows of
            "tokens"; "tokens", (U, C) character ids or (U,) token ids, each distinct
            token once. Row 0 of "tokens" is padding.

    Returns:
        dict of floats in the compute dtype, "forward" and "backward", each
        (batch, time, P): the top layers, before the softmax.

    `fit` and `evaluate` take targets of the same form, int32 rows of the vocabulary,
    and weights, 1 where a target counts and 0 where not.

    Raises:
        ValueError: when arguments contradict the backbone, or targets or weights are
            missing.

    Reference: Peters et al. 2018, section 3.1; bilm-tf `bilm/training.py`,
    `LanguageModel`.

    Example:
    ```python
    sentences = [["the", "bank", "."], ["the", "river"]]
    vocabulary = keras_elmo.text.build_vocabulary(sentences)
    backbone = keras_elmo.ElmoBackbone(
        hidden_dim=16, projection_dim=4, vocabulary_size=len(vocabulary)
    )
    backbone.vocabulary = vocabulary
    model = keras_elmo.ElmoBiLM(backbone, tie_embeddings=True)
    keras_elmo.training.pretrain(model, sentences, vocabulary, epochs=1)
    keras_elmo.training.perplexity(model, sentences, vocabulary)
    ```
    """

    def __init__(self, backbone, vocabulary_size=None, tie_embeddings=False, **kwargs):
        super().__init__(**kwargs)
        if vocabulary_size is None:
            vocabulary_size = backbone.vocabulary_size
        if vocabulary_size is None:
            raise ValueError(
                "`vocabulary_size` must be given for a backbone that reads characters."
            )
        if tie_embeddings and vocabulary_size != backbone.vocabulary_size:
            raise ValueError(
                "`tie_embeddings` needs a backbone of word input with a table of "
                f"`vocabulary_size` (={vocabulary_size}) rows. Received: "
                f"{backbone.vocabulary_size}."
            )
        self.backbone = backbone
        self.vocabulary_size = vocabulary_size
        self.tie_embeddings = bool(tie_embeddings)
        self.softmax = BiLMSoftmax(
            vocabulary_size, tied=tie_embeddings, dtype=self.dtype_policy
        )
        self.softmax.build((None, None, backbone.projection_dim))
        self.top_dropout = keras.layers.Dropout(
            backbone.dropout, dtype=self.dtype_policy
        )
        self.metrics_of = {
            direction: Perplexity(name=f"{direction}_perplexity")
            for direction in DIRECTIONS
        }
        self.built = True

    def call(self, inputs, training=None):
        vectors = self.backbone.token_embedder(inputs["tokens"])
        encoder = self.backbone.encoder
        outputs = {}
        for direction, stack in (
            ("forward", encoder.forward_stack),
            ("backward", encoder.backward_stack),
        ):
            rows = inputs[direction]
            layers = stack(
                ops.take(vectors, rows, axis=0),
                mask=ops.not_equal(rows, 0),
                training=training,
            )
            outputs[direction] = self.top_dropout(layers[-1], training=training)
        return outputs

    def nll(self, hidden, targets):
        """Negative log-likelihood of targets: float32, (batch, time)."""
        table = self.backbone.token_embedder.table if self.tie_embeddings else None
        return self.softmax(hidden, targets, table=table)

    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ):
        if y is None or y_pred is None or sample_weight is None:
            raise ValueError(
                "`fit` and `evaluate` must be given (inputs, targets, weights), each a "
                "dict of both directions. Received: no targets or no weights."
            )
        losses = []
        for direction in DIRECTIONS:
            values = self.nll(y_pred[direction], y[direction])
            weight = ops.cast(sample_weight[direction], "float32")
            self.metrics_of[direction].update_state(values, sample_weight=weight)
            losses.append(ops.sum(values * weight) / ops.maximum(ops.sum(weight), 1.0))
        loss = 0.5 * (losses[0] + losses[1])
        for extra in self.losses:
            loss = loss + ops.cast(extra, "float32")
        return loss

    def get_config(self):
        config = super().get_config()
        config.update(
            backbone=keras.saving.serialize_keras_object(self.backbone),
            vocabulary_size=self.vocabulary_size,
            tie_embeddings=self.tie_embeddings,
        )
        return config

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """The model of a `get_config`, with new weights."""
        config = dict(config)
        config["backbone"] = keras.saving.deserialize_keras_object(
            config["backbone"], custom_objects=custom_objects
        )
        return cls(**config)
