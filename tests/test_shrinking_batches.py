"""Batches that are halved when memory does not suffice."""

import pickle
import warnings

import numpy as np
import pytest

from keras_elmo.shrinking_batches import (
    SentenceMemoryError,
    ShrinkingBatches,
    is_out_of_memory,
)

pytestmark = pytest.mark.once


class ResourceExhaustedError(Exception):
    """As TensorFlow's is called."""


ERRORS = [
    MemoryError(),
    ResourceExhaustedError("OOM when allocating tensor"),
    RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 1 bytes"),
    RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"),
]


def sentences_of(lengths):
    return [np.full(n, i) for i, n in enumerate(lengths)]


def runner(most_tokens, error, seen):
    def run(vectors, batch):
        seen.append(len(batch))
        if sum(map(len, batch)) > most_tokens:
            raise error
        return [sentence.sum() for sentence in batch]

    return run


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
def test_a_batch_is_halved_until_it_fits_and_stays_so(error):
    seen, sentences = [], sentences_of([3] * 20)
    batches = ShrinkingBatches(runner(12, error, seen), 16, 1000)
    with pytest.warns(
        RuntimeWarning, match="not enough memory for 16 sentences"
    ) as said:
        results = dict(batches.run(None, sentences))
    assert results == {i: s.sum() for i, s in enumerate(sentences)}
    assert seen == [16, 8, 4, 4, 4, 4, 4] and len(said) == 1


def test_short_sentences_stay_together_where_two_long_ones_did_not_fit():
    seen = []
    batches = ShrinkingBatches(runner(50, MemoryError(), seen), 16, 90)
    with pytest.warns(RuntimeWarning, match="not enough memory for 2 sentences"):
        assert len(dict(batches.run(None, sentences_of([45, 45, *[2] * 32])))) == 34
    assert seen == [2, 1, 1, 16, 16]


def test_empty_sentences_that_do_not_fit_come_to_an_end():
    def run(vectors, batch):
        if len(batch) > 1:
            raise MemoryError
        return batch

    batches = ShrinkingBatches(run, 16, 100)
    with pytest.warns(RuntimeWarning):
        assert len(dict(batches.run(None, sentences_of([1, 0, 0, 0, 0])))) == 5


def test_a_sentence_too_long_for_memory_is_named():
    batches = ShrinkingBatches(runner(5, MemoryError(), []), 2, 7)
    with pytest.raises(SentenceMemoryError, match=r"sentence 102 .* of 7 tokens"):
        list(batches.run(None, sentences_of([1, 7, 2]), first=100))
    # As it comes from another process.
    error = pickle.loads(pickle.dumps(SentenceMemoryError(101, 7)))
    assert error.args == (101, 7) and isinstance(error, MemoryError)


def test_another_error_is_not_taken_for_it():
    assert not is_out_of_memory(ValueError("a memory of old times"))
    batches = ShrinkingBatches(runner(0, ValueError("x"), []), 8, 10)
    with pytest.raises(ValueError, match="x"):
        list(batches.run(None, sentences_of([1, 1])))


def test_batches_keep_both_limits_and_take_the_longest_first():
    seen = []
    run = runner(1000, MemoryError(), seen)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        order = [i for i, _ in ShrinkingBatches(run, 3, 10).run(
            None, sentences_of([2, 50, 6, 4, 0, 1, 1]))]  # fmt: skip
    assert order == [1, 2, 3, 0, 5, 6, 4]
    assert seen == [1, 2, 3, 1]
