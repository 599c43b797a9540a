"""Text or tokens to the padded ids a model reads, before the model."""

import sys

import keras
import numpy as np

from keras_elmo import checks
from keras_elmo.text.elmo_tokenizer import ElmoTokenizer


@keras.saving.register_keras_serializable(package="keras_elmo")
class ElmoPreprocessor:
    """Strings to ids: by hand, in a `PyDataset`, or in a `tf.data` map.

    A string is a text, and is split into tokens; a list of strings inside a list is a
    sentence's tokens. The same ids come out on every backend, and from TensorFlow's
    tensors of strings as from Python's.

    Args:
        tokenizer: `ElmoTokenizer`, how text is split and which ids its tokens have.
            None for white space and characters, 50 a token.
        sequence_length: int, tokens a row (T): longer rows are cut. None for the
            longest row's length.

    Call arguments:
        x: one str; a list, tuple or NumPy array of str, a text each; a list of token
            sequences; a NumPy array of str, (batch, time), tokens padded with "" at
            the end; or on TensorFlow a tensor of strings of those shapes, or a ragged
            one of tokens.
        y: passed on as it is, or None.
        sample_weight: passed on as it is, or None.

    Returns:
        int32, `character_ids` (batch, T, C), or `token_ids` (batch, T) for words, 0
        where padded; without the batch axis for one str. A NumPy array, or a tensor
        where `x` is one. (x, y) or (x, y, sample_weight) where those are given.

    Raises:
        TypeError: when `x` is anything else, naming the position.

    Reference: KerasHub's `Preprocessor`.

    Example:
    ```python
    preprocessor = keras_elmo.ElmoPreprocessor(sequence_length=8)
    ids, labels = preprocessor(["The bank .", "Hi"], [0, 1])  # (2, 8, 50), [0, 1]
    ```
    """

    def __init__(self, tokenizer=None, sequence_length=None):
        if tokenizer is None:
            tokenizer = ElmoTokenizer()
        if not isinstance(tokenizer, ElmoTokenizer):
            raise TypeError(checks.received("tokenizer", tokenizer, "an ElmoTokenizer"))
        self.tokenizer = tokenizer
        if sequence_length is not None:
            sequence_length = checks.positive_int("sequence_length", sequence_length)
        self.sequence_length = sequence_length
        self._encoder = None

    @classmethod
    def from_preset(cls, preset, sequence_length=None):
        """The preprocessor of a preset: its way to split text, its vocabulary.

        Args:
            preset: what `ElmoBackbone.from_preset` takes.
            sequence_length: int, tokens a row, or None.
        """
        return cls(ElmoTokenizer.from_preset(preset), sequence_length)

    @classmethod
    def of(cls, backbone, splitter="whitespace", sequence_length=None):
        """The preprocessor that makes the ids an `ElmoBackbone` reads."""
        return cls(ElmoTokenizer.of(backbone, splitter), sequence_length)

    def __call__(self, x, y=None, sample_weight=None):
        if _is_tensorflow(x):
            ids = self._encode_tensor(x)
        elif isinstance(x, str):
            ids = self._encode([self.tokenizer(x)])[0]
        else:
            ids = self._encode(self._sentences(x))
        return keras.utils.pack_x_y_sample_weight(ids, y, sample_weight)

    def _encode(self, sentences):
        length = self.sequence_length
        if length is not None:
            sentences = [sentence[:length] for sentence in sentences]
        ids = self.tokenizer.encode_sentences(sentences)
        if length is not None:
            padding = [(0, 0), (0, length - ids.shape[1])] + [(0, 0)] * (ids.ndim - 2)
            ids = np.pad(ids, padding)
        return ids

    def _encode_tensor(self, x):
        if self._encoder is None:
            from keras_elmo.text.graph import GraphEncoder

            self._encoder = GraphEncoder(self.tokenizer)
        is_one = x.shape.rank == 0
        ids = self._encoder(x[None] if is_one else x, self.sequence_length)
        return ids[0] if is_one else ids

    def _sentences(self, x):
        """Token lists of a batch in any of Python's forms."""
        rule = "strings, token sequences or an array of strings"
        is_table = isinstance(x, np.ndarray) and x.ndim == 2
        if isinstance(x, bytes | dict) or not hasattr(x, "__iter__"):
            raise TypeError(checks.received("x", x, rule))
        rows = list(x)
        texts = [isinstance(row, str | bytes) for row in rows]
        if any(texts) and not all(texts):
            wrong = texts.index(not texts[0])
            raise TypeError(
                "`x` must hold texts or token sequences, not both. Received: "
                f"x[0]={rows[0]!r}, x[{wrong}]={rows[wrong]!r}."
            )
        if any(texts):
            return [self.tokenizer(_text(row)) for row in rows]
        if not is_table:
            return [_tokens(row, i) for i, row in enumerate(rows)]
        sentences = []
        for i, row in enumerate(rows):
            tokens = _tokens(row, i)
            while tokens and tokens[-1] == "":
                tokens.pop()
            sentences.append(tokens)
        return sentences

    def get_config(self):
        """What `__init__` takes; a vocabulary is a file of its own."""
        return {
            "tokenizer": self.tokenizer.get_config(),
            "sequence_length": self.sequence_length,
        }

    @classmethod
    def from_config(cls, config):
        """The preprocessor of a `get_config`, without its vocabulary."""
        return cls(ElmoTokenizer(**config["tokenizer"]), config["sequence_length"])


def _is_tensorflow(x):
    """Whether `x` is TensorFlow's, without importing TensorFlow."""
    tf = sys.modules.get("tensorflow")
    return tf is not None and isinstance(x, tf.Tensor | tf.RaggedTensor)


def _text(value):
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def _tokens(row, i):
    if not hasattr(row, "__iter__") or isinstance(row, dict):
        raise TypeError(checks.received(f"x[{i}]", row, "a str or a token sequence"))
    tokens = []
    for j, token in enumerate(row):
        if not isinstance(token, str | bytes):
            raise TypeError(checks.received(f"x[{i}][{j}]", token, "a str"))
        tokens.append(_text(token))
    return tokens
