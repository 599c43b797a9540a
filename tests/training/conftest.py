"""A corpus and settings so small that a run takes seconds."""

import numpy as np
import pytest

import keras_elmo
from keras_elmo.data import Corpus

WORDS = ["the", "bank", "river", "is", "near", "open", ".", "was", "old", "house"]

SETTINGS = {
    "hidden_dim": 12,
    "projection_dim": 6,
    "char_cnn_filters": [[1, 4], [2, 6], [3, 6]],
    "character_embedding_dim": 4,
    "max_characters_per_token": 12,
    "num_negatives": 5,
    "batch_size": 4,
    "unroll": 5,
    "epochs": 2,
    "log_steps": 4,
    "evaluate_steps": 8,
    "checkpoint_steps": 4,
    "learning_rate": 0.01,
    "warmup_steps": 3,
}


def sentences(number=60, seed=0, shortest=3):
    """Text in which each word goes with few others."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(number):
        start = int(rng.integers(0, len(WORDS)))
        length = int(rng.integers(shortest, shortest + 6))
        found.append([WORDS[(start + i) % len(WORDS)] for i in range(length)])
    return found


@pytest.fixture
def corpus():
    text = sentences()
    return Corpus.from_sentences(text, keras_elmo.text.build_vocabulary(text))


@pytest.fixture
def held_out(corpus):
    # Longer than any sentence of the corpus: none may stand in it.
    return Corpus.from_sentences(sentences(12, 1, shortest=9), corpus.vocabulary)
