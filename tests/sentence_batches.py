"""Batches of whole sentences, for the perplexity of each on its own."""

import keras
import numpy as np

from keras_elmo import checks
from keras_elmo.shapes import power_of_two, round_up
from keras_elmo.text.characters import (
    BEGIN_SENTENCE,
    END_SENTENCE,
    distinct_tokens,
)
from keras_elmo.text.elmo_tokenizer import ElmoTokenizer

# Sizes that shapes are padded to.
TIME_STEP = 32
SMALLEST_TABLE = 512


class SentenceBatches(keras.utils.PyDataset):
    """Each row one sentence between `<S>` and `</S>`, and the same backward.

    Each direction scores a sentence's words and its far marker: words + 1 targets.
    Sentences of similar length stand together.

    Args:
        sentences: iterable of token sequences.
        backbone: `ElmoBackbone` they are for.
        vocabulary: `Vocabulary` of the targets.
        batch_size: int, sentences a batch.

    Yields (x, y, sample_weight) as `ElmoBiLM` takes them, without a state to carry:
    shapes are padded to few sizes, so that a compiler sees a bounded number.
    """

    def __init__(self, sentences, backbone, vocabulary, batch_size=32, **kwargs):
        super().__init__(**kwargs)
        self.batch_size = checks.positive_int("batch_size", batch_size)
        framed = ([BEGIN_SENTENCE, *tokens, END_SENTENCE] for tokens in sentences)
        tokens, self._rows = distinct_tokens(framed)
        self._input_ids = ElmoTokenizer.of(backbone).encode_tokens(tokens)
        self._target_ids = vocabulary.ids(tokens) - 1
        order = np.argsort([len(row) for row in self._rows], kind="stable")
        starts = range(0, len(order), self.batch_size)
        self._plan = [order[start : start + self.batch_size] for start in starts]

    def __len__(self):
        return len(self._plan)

    def __getitem__(self, index):
        rows = [self._rows[i] for i in self._plan[index]]
        time = round_up(max(map(len, rows)) - 1, TIME_STEP)
        shape = (self.batch_size, time)
        distinct, inverse = np.unique(np.concatenate(rows), return_inverse=True)
        size = max(SMALLEST_TABLE, power_of_two(len(distinct) + 1))
        tokens = np.zeros((size, *self._input_ids.shape[1:]), "int32")
        tokens[1 : len(distinct) + 1] = self._input_ids[distinct]
        local = np.split(inverse + 1, np.cumsum([len(row) for row in rows])[:-1])
        x: dict[str, np.ndarray] = {"tokens": tokens}
        y: dict[str, np.ndarray] = {}
        weight: dict[str, np.ndarray] = {}
        for direction, step in (("forward", 1), ("backward", -1)):
            x[direction] = np.zeros(shape, "int32")
            y[direction] = np.zeros(shape, "int32")
            weight[direction] = np.zeros(shape, "float32")
            for i, (row, inputs) in enumerate(zip(rows, local, strict=True)):
                n = len(row) - 1
                x[direction][i, :n] = inputs[::step][:-1]
                y[direction][i, :n] = self._target_ids[row[::step][1:]]
                weight[direction][i, :n] = 1.0
        return x, y, weight
