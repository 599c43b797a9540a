"""Which sentence stands where when a corpus is read as a few long rows."""

import numpy as np

from keras_elmo import checks


class StreamPlan:
    """One epoch's order of sentences, cut into rows of about equal length.

    A sentence of n words takes n + 1 positions of its row, since each direction
    predicts its words and one marker. The order is a function of (seed, epoch) alone.

    Args:
        offsets: int, (sentences + 1,), where each sentence begins in `tokens`.
        batch_size: int, rows.
        seed: int.
        epoch: int.
        shuffle: bool. False keeps the order of the corpus.

    Attributes:
        row_lengths: int64, (rows,), positions of each row.
    """

    def __init__(
        self,
        offsets: np.ndarray,
        batch_size: int,
        seed: int = 0,
        epoch: int = 0,
        shuffle: bool = True,
    ):
        rows = checks.positive_int("batch_size", batch_size)
        number = len(offsets) - 1
        self._offsets = offsets
        if shuffle:
            rng = np.random.default_rng([seed, epoch])
            # 4 bytes a sentence; a corpus of 30 million has 120 MB of them.
            self._order = np.arange(number, dtype="int32")
            rng.shuffle(self._order)
        else:
            self._order = np.arange(number, dtype="int32")
        lengths = np.diff(offsets)[self._order]
        lengths += 1
        # Where each sentence ends in the one row that all rows are cut from.
        self._ends = np.cumsum(lengths, dtype="int64")
        total = int(self._ends[-1]) if number else 0
        cuts = np.arange(1, rows) * total / rows
        cuts = np.searchsorted(self._ends, cuts) + 1 if number else np.zeros(0, "int64")
        cuts = np.concatenate([[0], np.minimum(cuts, number), [number]])
        self._row_starts = np.concatenate([[0], self._ends])[cuts]
        self.row_lengths = np.diff(self._row_starts)

    def steps(self, unroll: int) -> int:
        """Batches of `unroll` positions that the longest row gives."""
        return int(-(-self.row_lengths.max() // unroll))

    def window(self, step: int, unroll: int):
        """Where the words of one batch lie.

        Args:
            step: int from 0.
            unroll: int, positions a row (T).

        Returns:
            dict of arrays, (rows, T): bool "real"; int64 "start", the sentence's first
            word in `tokens`, "length", its words, and "position", from 0 to length.
            Behind the end of a row "real" is False and the rest of no meaning.
        """
        columns = step * unroll + np.arange(unroll)
        at = self._row_starts[:-1, None] + columns
        real = columns < self.row_lengths[:, None]
        at = np.where(real, at, 0)
        sentence = np.searchsorted(self._ends, at, side="right")
        number = self._order[sentence]
        start = self._offsets[number]
        length = self._offsets[number + 1] - start
        position = at - (self._ends[sentence] - length - 1)
        return {"real": real, "start": start, "length": length, "position": position}
