"""Batches of whole sentences for a language model, in two streams."""

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
    Sentences of similar length stand together; which ones, and the order of batches,
    are a function of (seed, epoch) alone.

    Args:
        sentences: list of token sequences.
        backbone: `ElmoBackbone` they are for.
        vocabulary: `Vocabulary` of the targets.
        batch_size: int, sentences a batch.
        max_tokens: int, tokens a sentence is cut to, or None for all. Cut sentences
            are counted in `truncated_sentences`.
        shuffle: bool. Another order each epoch.
        seed: int.

    Yields (x, y, sample_weight) as `ElmoBiLM` takes them: shapes are padded to few
    sizes, so that a compiler sees a bounded number.
    """

    def __init__(
        self,
        sentences,
        backbone,
        vocabulary,
        batch_size=32,
        max_tokens: int | None = 100,
        shuffle=True,
        seed=0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.batch_size = checks.positive_int("batch_size", batch_size)
        self.max_tokens = (
            None
            if max_tokens is None
            else checks.positive_int("max_tokens", max_tokens)
        )
        self.shuffle = bool(shuffle)
        self.seed = int(seed)
        self.truncated_sentences = 0
        tokens, self._rows = distinct_tokens(map(self._framed, sentences))
        self._input_ids = ElmoTokenizer.of(backbone).encode_tokens(tokens)
        self._target_ids = vocabulary.ids(tokens) - 1
        self._lengths = np.array([len(row) for row in self._rows])
        self._epoch = 0
        self._plan = self._batches()

    def _framed(self, sentence):
        tokens = list(sentence)
        kept = tokens[: self.max_tokens]
        self.truncated_sentences += len(kept) < len(tokens)
        return [BEGIN_SENTENCE, *kept, END_SENTENCE]

    def __len__(self):
        return len(self._plan)

    def on_epoch_end(self):
        """Goes on to the next epoch's order."""
        self._epoch += 1
        self._plan = self._batches()

    def _batches(self):
        rng = np.random.default_rng([self.seed, self._epoch if self.shuffle else 0])
        # Lengths with some noise: neighbours differ from epoch to epoch.
        noise = rng.uniform(0, 2, len(self._lengths)) if self.shuffle else 0
        order = np.argsort(self._lengths + noise, kind="stable")
        starts = np.arange(0, len(order), self.batch_size)
        if self.shuffle:
            rng.shuffle(starts)
        return [order[start : start + self.batch_size] for start in starts]

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
