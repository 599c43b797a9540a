"""Batches of sentences: every target once, in both directions."""

from collections import Counter

import numpy as np

import keras_elmo
from keras_elmo.data.sentence_batches import SentenceBatches
from tests.models_for_tests import word_backbone

WORDS = ["a", "b", "c", "d"]
VOCABULARY = keras_elmo.Vocabulary(["<S>", "</S>", "<UNK>", *WORDS])


def sentences(number=23):
    rng = np.random.default_rng(1)
    return [list(rng.choice(WORDS, rng.integers(0, 9))) for _ in range(number)]


def batches(found=None):
    found = sentences() if found is None else found
    return SentenceBatches(found, word_backbone(WORDS), VOCABULARY, batch_size=4)


def test_inputs_and_targets_of_both_directions():
    x, y, weight = batches([["a", "b"]])[0]
    tokens = x["tokens"]
    assert tokens[0] == 0  # row 0 is padding
    for direction, inputs, targets in [
        ("forward", ["<S>", "a", "b"], ["a", "b", "</S>"]),
        ("backward", ["</S>", "b", "a"], ["b", "a", "<S>"]),
    ]:
        read = tokens[x[direction][0, :3]]
        np.testing.assert_array_equal(read, VOCABULARY.ids(inputs))
        np.testing.assert_array_equal(y[direction][0, :3], VOCABULARY.ids(targets) - 1)
        np.testing.assert_array_equal(weight[direction].sum(axis=1), [3, 0, 0, 0])
        assert not x[direction][0, 3:].any()


def test_every_target_counts_once():
    found = batches()
    counted = {"forward": Counter(), "backward": Counter()}
    for index in range(len(found)):
        _, y, weight = found[index]
        for direction, counts in counted.items():
            counts.update(y[direction][weight[direction] > 0].tolist())
    words = Counter(word for sentence in sentences() for word in sentence)
    for marker, direction in [("</S>", "forward"), ("<S>", "backward")]:
        expected = words + Counter({marker: len(sentences())})
        assert counted[direction] == {
            int(VOCABULARY.ids([word])[0]) - 1: n for word, n in expected.items()
        }


def test_shapes_are_few():
    rng = np.random.default_rng(2)
    many = [["a"] * int(rng.integers(0, 60)) for _ in range(200)]
    found = batches(many)
    shapes = {found[i][0]["forward"].shape for i in range(len(found))}
    assert len(shapes) <= 4
