"""Where in a text a question's answer stands."""

import keras

from keras_elmo.layers import BidirectionalAttention, BidirectionalLSTM, SpanScores
from keras_elmo.models.elmo_task import (
    ElmoTask,
    as_embedding,
    cross_entropy,
    input_of,
)
from keras_elmo.randomness import seeded_dropout


@keras.saving.register_keras_serializable(package="keras_elmo")
class ElmoQuestionAnswering(ElmoTask):
    """Finds the span of a text that answers a question; both are embedded by ELMo.

    Args:
        embedding: `ElmoEmbedding`, with two mixes for ELMo at the output of the first
            LSTM as well; an `ElmoBackbone` or a preset; or `keras.layers.Embedding`
            with `mask_zero`, for vectors that know no context. Question and text go
            through the same one.
        rnn_dim: int, units of an LSTM in each direction.
        dropout: float in [0, 1), before each LSTM.
        max_answer_tokens: int, tokens of an answer at most.
        tokenizer: "whitespace" or "unicode", how question and text are split.
        vocabulary: `Vocabulary` of a `keras.layers.Embedding`, for text.
        dtype: dtype policy.
        name: str.
        trainable: bool.

    Call arguments:
        inputs: dict of int32 "question" and "context", each what `preprocessor`
            gives: (batch, time, characters) or (batch, time).

    Returns:
        dict of float32 "start" and "end", (batch, time): scores of the first and the
        last token of the answer, before the softmax over the text.

    `fit` takes `y`, a dict of int32 "start" and "end", (batch,): tokens of the text,
    -1 for a row that is padding.

    Reference: Seo et al. 2017 (BiDAF); Peters et al. 2018, section 4 (SQuAD): ELMo for
    question and text, at the input and at the output of the first RNN.

    Example:
    ```python
    backbone = keras_elmo.ElmoBackbone(
        hidden_dim=32, projection_dim=8, char_cnn_filters=[[1, 8], [2, 16]],
        character_embedding_dim=4, max_characters_per_token=16,
    )
    model = keras_elmo.ElmoQuestionAnswering(backbone, rnn_dim=8)
    model.answer(["Who sang ?"], ["The choir sang . We listened ."])
    ```
    """

    def __init__(
        self,
        embedding,
        rnn_dim=64,
        dropout=0.2,
        max_answer_tokens=30,
        tokenizer="unicode",
        vocabulary=None,
        dtype=None,
        name=None,
        trainable=True,
    ):
        # === Layers ===
        embedding = as_embedding(embedding, dtype)
        encoder = BidirectionalLSTM(rnn_dim, dtype=dtype, name="encoder")
        attention = BidirectionalAttention(dtype=dtype, name="attention")
        narrow = keras.layers.Dense(2 * rnn_dim, "relu", dtype=dtype, name="narrow")
        modeler = BidirectionalLSTM(rnn_dim, dtype=dtype, name="modeler")
        end_rnn = BidirectionalLSTM(rnn_dim, dtype=dtype, name="end_rnn")

        def drop(x):
            return seeded_dropout(dropout, dtype=dtype)(x)

        def concatenate(*parts):
            return keras.layers.Concatenate(dtype=dtype)(list(parts))

        # === Functional Model ===
        inputs, encoded = {}, {}
        for text in ("question", "context"):
            inputs[text], mixes = input_of(embedding, text)
            encoded[text] = encoder(drop(mixes[0]))
            if len(mixes) > 1:
                encoded[text] = concatenate(encoded[text], mixes[1])
        x = attention([encoded["context"], encoded["question"]])
        x = narrow(drop(x))
        modeled = modeler(x)
        start = SpanScores(dtype=dtype, name="start")(concatenate(x, modeled))
        ended = end_rnn(drop(concatenate(x, modeled)))
        end = SpanScores(dtype=dtype, name="end")(concatenate(x, ended))

        # === Config ===
        arguments = {
            "rnn_dim": rnn_dim,
            "dropout": dropout,
            "max_answer_tokens": max_answer_tokens,
            "tokenizer": tokenizer,
        }
        super().__init__(
            inputs,
            {"start": start, "end": end},
            embedding,
            arguments,
            vocabulary,
            name=name,
            dtype=dtype,
            trainable=trainable,
        )
        self.max_answer_tokens = max_answer_tokens
        self.tokenizer = tokenizer

    def nll(self, y, y_pred):
        """As `ElmoTask.nll`: the sum of the start's and the end's."""
        start, weight = cross_entropy(y["start"], y_pred["start"])
        end, _ = cross_entropy(y["end"], y_pred["end"])
        return start + end, weight

    def answer(self, questions, contexts, batch_size=32):
        """The answers to questions.

        Args:
            questions: list of str.
            contexts: list of str, each question's text.
            batch_size: int.

        Returns:
            list of str, each a part of its context as it stands there; "" for an
            empty context.
        """
        from keras_elmo.tasks.predict import predict_answers

        return predict_answers(self, questions, contexts, batch_size)
