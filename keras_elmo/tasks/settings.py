"""Settings of a task's training."""

import dataclasses

from keras_elmo import checks
from keras_elmo.models.elmo_text_classifier import POOLINGS
from keras_elmo.tasks.labelled import chosen_columns
from keras_elmo.tasks.tags import SCHEMES
from keras_elmo.text.tokenizers import get_tokenizer


@dataclasses.dataclass(frozen=True)
class TaskSettings:
    """How a task model is made and trained.

    Attributes:
        layers: "mix", "mean", "top" or a layer's index, what of ELMo is used.
        num_mixes: int, 1: ELMo at the input of the task's RNN; 2: its output as well.
        layer_norm: bool, before the mix.
        mix_regularizer: float, times the sum of the squares of the mix's weights.
        elmo_dropout: float, on each mix.
        fine_tune: bool. Train the biLM along.
        frozen_epochs: int at most, before the biLM is trained along, in which it is
            held still and the task's own layers learn: what these send back while they
            are random would spoil it.
        embedding_dim: int, of random vectors that know no context.
        rnn_dim: int, units of the task's LSTMs in each direction.
        num_rnn_layers: int (token classifier).
        dropout: float, in the task's own layers.
        crf: bool (token classifier).
        scheme: str or None, "IOB2" or "IOBES" (token classifier with a CRF).
        kind: "pooled" or "biattentive" (text classifier).
        tokenizer: "whitespace" or "unicode", how texts are split.
        tag: which field of a CoNLL-U token is learned, "upos" or "xpos", or which
            column of other files, from 0 or from the last, -1 (token classifier).
        encoding: str, of the files of labelled texts.
        text_column: int, which column of a TSV is the text, from 0 (text classifier).
        label_column: int, which is the label. Both or neither: by default a TSV has
            these two columns and no other.
        epochs: int at most.
        patience: int, epochs without a better score before training ends; counted from
            the first score above 0.
        batch_size: int, examples.
        learning_rate: float of Adam, or None for 0.001, fine-tuning 0.0003. Epochs
            before the fine-tuning have 0.001.
        clip_norm: float, the gradient's global norm at most.
        seed: int, of weights, dropout and order.
        dtype: Keras' dtype policy.
    """

    layers: str | int = "mix"
    num_mixes: int = 1
    layer_norm: bool = False
    mix_regularizer: float = 0.0
    elmo_dropout: float = 0.0
    fine_tune: bool = False
    frozen_epochs: int = 10
    embedding_dim: int = 100
    rnn_dim: int = 128
    num_rnn_layers: int = 1
    dropout: float = 0.3
    crf: bool = False
    scheme: str | None = None
    kind: str = "pooled"
    tokenizer: str = "whitespace"
    tag: int | str | None = None
    encoding: str = "utf-8"
    text_column: int | None = None
    label_column: int | None = None
    epochs: int = 20
    patience: int = 3
    batch_size: int = 32
    learning_rate: float | None = None
    clip_norm: float = 5.0
    seed: int = 0
    dtype: str = "float32"

    def __post_init__(self):
        for name in ("epochs", "patience", "batch_size", "num_mixes", "rnn_dim"):
            checks.positive_int(name, getattr(self, name))
        checks.positive_int("embedding_dim", self.embedding_dim)
        for name in ("num_rnn_layers", "seed", "frozen_epochs"):
            checks.positive_int(name, getattr(self, name), minimum=0)
        chosen_columns(self.text_column, self.label_column)
        checks.positive_float("clip_norm", self.clip_norm)
        if self.learning_rate is not None:
            checks.positive_float("learning_rate", self.learning_rate)
        # Before files and a biLM are read, not behind.
        checks.fraction("dropout", self.dropout)
        checks.fraction("elmo_dropout", self.elmo_dropout)
        if not 0 <= self.mix_regularizer < float("inf"):
            raise ValueError(
                checks.received(
                    "mix_regularizer", self.mix_regularizer, "a number of at least 0"
                )
            )
        checks.one_of("kind", self.kind, POOLINGS)
        checks.one_of("scheme", self.scheme, (None, *SCHEMES))
        get_tokenizer(self.tokenizer)

    @property
    def adam_learning_rate(self):
        """The learning rate that is used."""
        if self.learning_rate is not None:
            return self.learning_rate
        return 3e-4 if self.fine_tune else 1e-3
