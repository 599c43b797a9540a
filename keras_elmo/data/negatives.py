"""The words that a sampled softmax is taken over, drawn on the host."""

import numpy as np

from keras_elmo import checks


class LogUniformSampler:
    """Draws different words, frequent ones more often, from a vocabulary by frequency.

    The word of row k is drawn with the odds `(log(k + 2) - log(k + 1)) / log(V + 1)`,
    again and again until there are `number` different ones.

    Args:
        vocabulary_size: int (V).
        number: int, words a draw; fewer than V.

    Raises:
        ValueError: when there are not that many words.

    Reference: TensorFlow's `log_uniform_candidate_sampler(unique=True)`.

    Example:
    ```python
    sampler = keras_elmo.data.LogUniformSampler(1000, 16)
    ids, tries = sampler.draw(np.random.default_rng(0))
    counts = sampler.expected_count(ids, tries)
    ```
    """

    def __init__(self, vocabulary_size: int, number: int):
        self.vocabulary_size = checks.positive_int("vocabulary_size", vocabulary_size)
        self.number = checks.positive_int("number", number)
        if self.number >= self.vocabulary_size:
            raise ValueError(
                checks.received(
                    "number", number, f"below vocabulary_size (={vocabulary_size})"
                )
            )
        self._log_range = np.log(self.vocabulary_size + 1.0)

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, int]:
        """Different rows in the order they came, and how many tries that took.

        Args:
            rng: where the random numbers come from.

        Returns:
            int32 (number,), and an int of at least `number`.
        """
        drawn = np.zeros(0, "int64")
        while True:
            block = rng.random(2 * self.number)
            rows = np.exp(block * self._log_range).astype("int64") - 1
            rows = np.clip(rows, 0, self.vocabulary_size - 1)
            drawn = np.concatenate([drawn, rows])
            first = np.sort(np.unique(drawn, return_index=True)[1])
            if len(first) >= self.number:
                first = first[: self.number]
                return drawn[first].astype("int32"), int(first[-1]) + 1

    def expected_count(self, rows: np.ndarray, tries: int) -> np.ndarray:
        """How often rows are expected among the words of one draw.

        `1 - (1 - p)^tries`, and `number * p` where no word came twice.

        Args:
            rows: int, any shape.
            tries: int, as `draw` gave it.

        Returns:
            float32, the shape of `rows`.
        """
        rows = np.asarray(rows, "float64")
        odds = (np.log(rows + 2.0) - np.log(rows + 1.0)) / self._log_range
        if tries == self.number:
            return (self.number * odds).astype("float32")
        return -np.expm1(tries * np.log1p(-odds)).astype("float32")
