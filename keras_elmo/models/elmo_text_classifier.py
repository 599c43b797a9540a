"""A class for a text: sentiment, kinds of questions, topics."""

import keras

from keras_elmo.layers import Attend, BidirectionalLSTM, PoolTokens
from keras_elmo.models.elmo_task import (
    ElmoTask,
    as_embedding,
    check_classes,
    cross_entropy,
    input_of,
)
from keras_elmo.randomness import seeded_dropout

POOLINGS = ("pooled", "biattentive")


@keras.saving.register_keras_serializable(package="keras_elmo")
class ElmoTextClassifier(ElmoTask):
    """Classifies texts: ELMo, LSTMs in both directions, sums over the tokens.

    Args:
        embedding: `ElmoEmbedding`, with two mixes for ELMo at the output of the LSTMs
            as well; an `ElmoBackbone` or a preset; or `keras.layers.Embedding` with
            `mask_zero`, for vectors that know no context.
        classes: list of str.
        kind: "pooled": one LSTM, maximum and mean over its tokens. "biattentive": the
            biattentive classification network: the text's LSTM attends to itself, a
            second one reads both, and four sums over its tokens are classified.
        rnn_dim: int, units of an LSTM in each direction.
        dropout: float in [0, 1), before the LSTMs and the dense layers.
        tokenizer: "whitespace" or "unicode", how texts are split for a
            `keras.layers.Embedding`; an `ElmoEmbedding` has its own.
        vocabulary: `Vocabulary` of a `keras.layers.Embedding`, for text.
        dtype: dtype policy.
        name: str.
        trainable: bool.

    Call arguments:
        inputs: int32, what `preprocessor` gives: (batch, time, characters) or
            (batch, time).

    Returns:
        float32, (batch, classes): scores before the softmax.

    `fit` takes int32 `y`, (batch,): rows of `classes`, -1 for a row that is padding.

    Reference: McCann et al. 2017, section 5, with dense layers in place of maxout;
    Peters et al. 2018, section 4 (sentiment).

    Example:
    ```python
    backbone = keras_elmo.ElmoBackbone(
        hidden_dim=32, projection_dim=8, char_cnn_filters=[[1, 8], [2, 16]],
        character_embedding_dim=4, max_characters_per_token=16,
    )
    model = keras_elmo.ElmoTextClassifier(backbone, ["bad", "good"], rnn_dim=8)
    model.compile("adam")
    ids = model.preprocessor(["a fine film", "dull"])
    model.fit(ids, keras.ops.array([1, 0]), verbose=0)
    model.predict_classes(["not dull at all"])
    ```
    """

    def __init__(
        self,
        embedding,
        classes,
        kind="pooled",
        rnn_dim=128,
        dropout=0.3,
        tokenizer="whitespace",
        vocabulary=None,
        dtype=None,
        name=None,
        trainable=True,
    ):
        if kind not in POOLINGS:
            raise ValueError(
                f'`kind` must be "pooled" or "biattentive". Received: kind={kind!r}.'
            )
        # === Layers ===
        embedding = as_embedding(embedding, dtype)
        classes = check_classes(classes)
        concatenate = keras.layers.Concatenate(dtype=dtype)
        to_classes = keras.layers.Dense(len(classes), dtype="float32", name="classes")

        def drop(x):
            return seeded_dropout(dropout, dtype=dtype)(x)

        def dense(x, name):
            return keras.layers.Dense(rnn_dim, "relu", dtype=dtype, name=name)(x)

        # === Functional Model ===
        ids, vectors = input_of(embedding, "tokens")
        x = drop(vectors[0])
        if kind == "biattentive":
            encoded = BidirectionalLSTM(rnn_dim, dtype=dtype, name="encoder")(
                dense(x, "narrow")
            )
            attended = Attend(dtype=dtype, name="attend")([encoded, encoded])
            less = keras.layers.Subtract(dtype=dtype)([encoded, attended])
            times = keras.layers.Multiply(dtype=dtype)([encoded, attended])
            x = concatenate([encoded, less, times])
        x = BidirectionalLSTM(rnn_dim, dtype=dtype, name="integrator")(x)
        if len(vectors) > 1:
            x = keras.layers.Concatenate(dtype=dtype)([x, vectors[1]])
        sums = ["max", "mean"]
        if kind == "biattentive":
            sums += ["min", "attention"]
        x = PoolTokens(sums, dtype=dtype, name="pool")(x)
        scores = to_classes(drop(dense(drop(x), "hidden")))

        # === Config ===
        arguments = {
            "classes": classes,
            "kind": kind,
            "rnn_dim": rnn_dim,
            "dropout": dropout,
            "tokenizer": tokenizer,
        }
        super().__init__(
            ids,
            scores,
            embedding,
            arguments,
            vocabulary,
            name=name,
            dtype=dtype,
            trainable=trainable,
        )
        self.classes = classes

    def nll(self, y, y_pred):
        """As `ElmoTask.nll`: each text's."""
        return cross_entropy(y, y_pred)

    def predict_classes(self, texts, batch_size=32):
        """The classes of texts.

        Args:
            texts: list of str, which are split, or of token lists.
            batch_size: int.

        Returns:
            list of str.
        """
        from keras_elmo.tasks.predict import predict_classes

        return predict_classes(self, {"tokens": texts}, batch_size)
