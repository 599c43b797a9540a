"""Sentences in batches that become smaller when memory does not suffice."""

import warnings

# How the frameworks say that there is no memory, in their errors' types or texts.
_TYPES = ("OutOfMemoryError", "ResourceExhaustedError")
_TEXTS = ("resource_exhausted", "out of memory", "can't allocate memory")


class SentenceMemoryError(MemoryError):
    """Says which sentence memory does not suffice for, though it runs alone.

    Args:
        number: int, of the sentence, from 0.
        tokens: int, its length.
    """

    def __str__(self):
        number, tokens = self.args
        return (
            f"There is not enough memory for sentence {number + 1} (counted from 1), "
            f"of {tokens} tokens."
        )


class ShrinkingBatches:
    """Runs sentences of similar length together.

    Args:
        run: function (vectors, list of sentences) to an iterator of results.
        batch_size: int, sentences of a batch at most.
        max_tokens: int, tokens of a batch at most, or one sentence.
    """

    def __init__(self, run, batch_size, max_tokens):
        self._run = run
        self.batch_size = batch_size
        self.max_tokens = max_tokens
        self._has_warned = False

    def run(self, vectors, sentences, first=0):
        """Yields (index, result) of each sentence, longest first.

        Args:
            vectors: what the function takes beside sentences.
            sentences: list of arrays.
            first: int, the number of the first one for an error.

        Raises:
            SentenceMemoryError: when one sentence alone needs more than there is.
        """
        lengths = [len(sentence) for sentence in sentences]
        left = sorted(range(len(lengths)), key=lambda row: -lengths[row])
        while left:
            batch = self._next(left, lengths)
            try:
                results = list(self._run(vectors, [sentences[row] for row in batch]))
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                if len(batch) == 1:
                    row = batch[0]
                    raise SentenceMemoryError(first + row, lengths[row]) from error
                self._halve(len(batch), sum(lengths[row] for row in batch))
                continue
            left = left[len(batch) :]
            yield from zip(batch, results, strict=True)

    def _next(self, left, lengths):
        tokens = 0
        for number, row in enumerate(left[: self.batch_size]):
            tokens += lengths[row]
            if tokens > self.max_tokens and number:
                return left[:number]
        return left[: self.batch_size]

    def _halve(self, sentences, tokens):
        # What has cut the batch: of two long sentences the short ones behind them
        # learn nothing.
        if sentences < self.batch_size and tokens:
            self.max_tokens = tokens // 2
        else:
            self.batch_size = sentences // 2
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"There was not enough memory for {sentences} sentences at once: going "
                "on with smaller batches.",
                RuntimeWarning,
                stacklevel=2,
            )


def is_out_of_memory(error):
    """Whether an exception of NumPy or a framework says that memory did not suffice."""
    if isinstance(error, MemoryError):
        return True
    names = {cls.__name__ for cls in type(error).__mro__}
    text = str(error).lower()
    return bool(names.intersection(_TYPES)) or any(part in text for part in _TEXTS)
