"""A class for every token: parts of speech, chunks, named entities."""

import keras
from keras import ops

from keras_elmo import checks
from keras_elmo.layers import CRF, BidirectionalLSTM
from keras_elmo.models.elmo_task import (
    ElmoTask,
    as_embedding,
    check_classes,
    cross_entropy,
    input_of,
)
from keras_elmo.randomness import seeded_dropout
from keras_elmo.tasks.tags import allowed_transitions


@keras.saving.register_keras_serializable(package="keras_elmo")
class ElmoTokenClassifier(ElmoTask):
    """Tags tokens: ELMo, LSTMs in both directions, a class each, a CRF if asked for.

    Args:
        embedding: `ElmoEmbedding`, with two mixes for ELMo at the output of the LSTMs
            as well; an `ElmoBackbone` or a preset; or `keras.layers.Embedding` with
            `mask_zero`, for vectors that know no context.
        classes: list of str, the tags.
        rnn_dim: int, units of an LSTM in each direction.
        num_rnn_layers: int, 0 for a linear classifier of each token.
        dropout: float in [0, 1), before each LSTM and before the classes.
        crf: bool. A linear-chain CRF scores whole sequences of tags.
        scheme: None, "IOB2" or "IOBES": the CRF allows what the scheme does.
        vocabulary: `Vocabulary` of a `keras.layers.Embedding`, for text.
        dtype: dtype policy.
        name: str.
        trainable: bool.

    Call arguments:
        inputs: int32, what `preprocessor` gives: (batch, time, characters) or
            (batch, time).

    Returns:
        float32, (batch, time, classes): scores before the softmax (or the CRF).

    `fit` takes int32 `y`, (batch, time): rows of `classes`, -1 where padded; without a
    CRF also where any other token does not count.

    Reference: Peters et al. 2018, section 4 (named entities: LSTMs and a CRF).

    Example:
    ```python
    backbone = keras_elmo.ElmoBackbone(
        hidden_dim=32, projection_dim=8, char_cnn_filters=[[1, 8], [2, 16]],
        character_embedding_dim=4, max_characters_per_token=16,
    )
    tagger = keras_elmo.ElmoTokenClassifier(backbone, ["NOUN", "VERB"], rnn_dim=8)
    tagger.compile("adam")
    ids = tagger.preprocessor([["dogs", "bark"], ["run"]])
    tagger.fit(ids, keras.ops.array([[0, 1], [1, -1]]), verbose=0)
    tagger.predict_tags([["dogs", "bark"]])
    ```
    """

    def __init__(
        self,
        embedding,
        classes,
        rnn_dim=128,
        num_rnn_layers=1,
        dropout=0.3,
        crf=False,
        scheme=None,
        vocabulary=None,
        dtype=None,
        name=None,
        trainable=True,
    ):
        # === Layers ===
        embedding = as_embedding(embedding, dtype)
        classes = check_classes(classes)
        depth = checks.positive_int("num_rnn_layers", num_rnn_layers, minimum=0)
        rnns = [
            BidirectionalLSTM(rnn_dim, dtype=dtype, name=f"rnn_{i}")
            for i in range(depth)
        ]
        drops = [seeded_dropout(dropout, dtype=dtype) for _ in range(depth + 1)]
        to_classes = keras.layers.Dense(len(classes), dtype="float32", name="classes")
        constraints = None if scheme is None else allowed_transitions(classes, scheme)
        chain = CRF(len(classes), constraints=constraints, name="crf") if crf else None

        # === Functional Model ===
        ids, vectors = input_of(embedding, "tokens")
        x = vectors[0]
        for drop, rnn in zip(drops, rnns, strict=False):
            x = rnn(drop(x))
        if len(vectors) > 1:
            x = keras.layers.Concatenate(dtype=dtype)([x, vectors[1]])
        scores = to_classes(drops[-1](x))
        if chain is not None:
            scores = chain(scores)

        # === Config ===
        arguments = {
            "classes": classes,
            "rnn_dim": rnn_dim,
            "num_rnn_layers": depth,
            "dropout": dropout,
            "crf": bool(crf),
            "scheme": scheme,
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
        self.crf = chain

    def nll(self, y, y_pred):
        """As `ElmoTask.nll`: each token's, or with a CRF each sentence's per token."""
        if self.crf is None:
            return cross_entropy(y, y_pred)
        mask = ops.not_equal(y, -1)
        values = self.crf.nll(y_pred, ops.where(mask, y, 0), mask)
        tokens = ops.sum(ops.cast(mask, "float32"), axis=-1)
        # A sum over sentences that is divided by the sum over tokens.
        return values / ops.maximum(tokens, 1.0), tokens

    def decode(self, scores, mask):
        """The best tags: int32, (batch, time), of scores and a mask of real tokens."""
        if self.crf is not None:
            return self.crf.decode(scores, mask)
        return ops.cast(ops.argmax(scores, axis=-1), "int32")

    def predict_tags(self, sentences, batch_size=32):
        """The tags of sentences.

        Args:
            sentences: list of token lists, or of texts, which are split.
            batch_size: int.

        Returns:
            list of lists of str.
        """
        from keras_elmo.tasks.predict import predict_tags

        return predict_tags(self, sentences, batch_size)
