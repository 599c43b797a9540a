"""A class for two texts: entailment, paraphrase, whether a word means the same."""

import keras

from keras_elmo.layers import Attend, BidirectionalLSTM, PoolTokens, TokenAt
from keras_elmo.models.elmo_task import (
    ElmoTask,
    as_embedding,
    check_classes,
    cross_entropy,
    input_of,
)
from keras_elmo.randomness import seeded_dropout


@keras.saving.register_keras_serializable(package="keras_elmo")
class ElmoPairClassifier(ElmoTask):
    """Classifies pairs of texts: each attends to the other, both are compared.

    Args:
        embedding: `ElmoEmbedding`, with two mixes for ELMo at the output of the first
            LSTM as well; an `ElmoBackbone` or a preset; or `keras.layers.Embedding`
            with `mask_zero`, for vectors that know no context. Both texts go through
            the same one.
        classes: list of str.
        targets: bool. One token of each text is marked, and what is compared is this
            word in its two contexts.
        rnn_dim: int, units of an LSTM in each direction.
        dropout: float in [0, 1), before the LSTMs and the dense layers.
        tokenizer: "whitespace" or "unicode", how texts are split for a
            `keras.layers.Embedding`; an `ElmoEmbedding` has its own.
        vocabulary: `Vocabulary` of a `keras.layers.Embedding`, for text.
        dtype: dtype policy.
        name: str.
        trainable: bool.

    Call arguments:
        inputs: dict of int32 "first" and "second", each what `preprocessor` gives:
            (batch, time, characters) or (batch, time); with `targets` also
            "first_target" and "second_target", (batch,): positions of tokens.

    Returns:
        float32, (batch, classes): scores before the softmax.

    `fit` takes int32 `y`, (batch,): rows of `classes`, -1 for a row that is padding.

    Reference: Chen et al. 2017 (ESIM), which the paper uses for entailment.

    Example:
    ```python
    backbone = keras_elmo.ElmoBackbone(
        hidden_dim=32, projection_dim=8, char_cnn_filters=[[1, 8], [2, 16]],
        character_embedding_dim=4, max_characters_per_token=16,
    )
    model = keras_elmo.ElmoPairClassifier(backbone, ["no", "yes"], rnn_dim=8)
    model.compile("adam")
    pairs = {"first": ["it rains"], "second": ["the sun shines"]}
    ids = {name: model.preprocessor(texts) for name, texts in pairs.items()}
    model.fit(ids, keras.ops.array([0]), verbose=0)
    model.predict_classes(pairs)
    ```
    """

    def __init__(
        self,
        embedding,
        classes,
        targets=False,
        rnn_dim=128,
        dropout=0.3,
        tokenizer="whitespace",
        vocabulary=None,
        dtype=None,
        name=None,
        trainable=True,
    ):
        # === Layers ===
        embedding = as_embedding(embedding, dtype)
        classes = check_classes(classes)
        encoder = BidirectionalLSTM(rnn_dim, dtype=dtype, name="encoder")
        attend = Attend(dtype=dtype, name="attend")
        narrow = keras.layers.Dense(rnn_dim, "relu", dtype=dtype, name="narrow")
        composer = BidirectionalLSTM(rnn_dim, dtype=dtype, name="composer")
        pool = PoolTokens(["max", "mean"], dtype=dtype, name="pool")
        hidden = keras.layers.Dense(rnn_dim, "relu", dtype=dtype, name="hidden")
        to_classes = keras.layers.Dense(len(classes), dtype="float32", name="classes")

        def drop(x):
            return seeded_dropout(dropout, dtype=dtype)(x)

        def compared(one, other):
            """Two vectors, their difference and their product, side by side."""
            less = keras.layers.Subtract(dtype=dtype)([one, other])
            times = keras.layers.Multiply(dtype=dtype)([one, other])
            return keras.layers.Concatenate(dtype=dtype)([one, other, less, times])

        # === Functional Model ===
        inputs, mixes, encoded = {}, {}, {}
        for text in ("first", "second"):
            inputs[text], mixes[text] = input_of(embedding, text)
            encoded[text] = encoder(drop(mixes[text][0]))
            if len(mixes[text]) > 1:
                both = [encoded[text], mixes[text][1]]
                encoded[text] = keras.layers.Concatenate(dtype=dtype)(both)
        pooled, marked = [], []
        for text, other in (("first", "second"), ("second", "first")):
            aligned = attend([encoded[text], encoded[other]])
            x = drop(narrow(compared(encoded[text], aligned)))
            pooled.append(pool(composer(x)))
            if targets:
                name = f"{text}_target"
                inputs[name] = keras.Input((), dtype="int32", name=name)
                words = [mixes[text][0], encoded[text]]
                words = keras.layers.Concatenate(dtype=dtype)(words)
                at = TokenAt(dtype=dtype, name=f"{text}_word")
                marked.append(at([words, inputs[name]]))
        x = keras.layers.Concatenate(dtype=dtype)(pooled)
        if targets:
            x = keras.layers.Concatenate(dtype=dtype)([x, compared(*marked)])
        scores = to_classes(drop(hidden(drop(x))))

        # === Config ===
        arguments = {
            "classes": classes,
            "targets": bool(targets),
            "rnn_dim": rnn_dim,
            "dropout": dropout,
            "tokenizer": tokenizer,
        }
        super().__init__(
            inputs,
            scores,
            embedding,
            arguments,
            vocabulary,
            name=name,
            dtype=dtype,
            trainable=trainable,
        )
        self.classes = classes
        self.targets = bool(targets)

    def nll(self, y, y_pred):
        """As `ElmoTask.nll`: each pair's."""
        return cross_entropy(y, y_pred)

    def predict_classes(self, pairs, batch_size=32):
        """The classes of pairs.

        Args:
            pairs: dict of "first" and "second", lists of str, which are split, or of
                token lists; with targets also "first_target" and "second_target",
                lists of int.
            batch_size: int.

        Returns:
            list of str.
        """
        from keras_elmo.tasks.predict import predict_classes

        return predict_classes(self, pairs, batch_size)
