"""The unigram baseline, worked by hand."""

import math

import pytest

import keras_elmo
from keras_elmo.training import unigram_perplexity


def test_unigram_perplexity_by_hand():
    vocabulary = keras_elmo.Vocabulary(["<S>", "</S>", "<UNK>", "a", "b"])
    train = [["a", "a", "b"], ["a", "z"]]
    # Counts and one each: </S> 2 + 1, <UNK> 1 + 1, a 3 + 1, b 1 + 1, <S> 0 + 1; of 12.
    held_out = [["a", "q"], ["b"]]
    odds = [4 / 12, 2 / 12, 3 / 12, 2 / 12, 3 / 12]
    expected = math.exp(-sum(map(math.log, odds)) / 5)
    assert unigram_perplexity(train, held_out, vocabulary) == pytest.approx(expected)
