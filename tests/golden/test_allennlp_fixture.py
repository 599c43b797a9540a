"""AllenNLP's published fixture: skip connections, carried state, token vectors."""

import h5py
import numpy as np
import pytest

import keras_elmo
from keras_elmo.text import encode_sentences
from tests.golden.support import (
    TOLERANCE,
    framed_ids,
    outputs_of,
    padded,
    read_json,
    stream_of,
    with_boundaries,
)
from tests.helpers import to_arrays

SIZE = 16


@pytest.fixture(scope="module")
def backbone(golden):
    folder = golden / "allennlp"
    return keras_elmo.ElmoBackbone.from_options(
        folder / "options.json", folder / "lm_weights.hdf5"
    )


def test_top_layer_with_state_carried_over_ten_batches(golden, backbone):
    folder = golden / "allennlp"
    streams = read_json(folder / "sentences.json")
    batches = [
        [sentence.split() for sentence in batch] for batch in zip(*streams, strict=True)
    ]
    longest = max(len(tokens) for batch in batches for tokens in batch) + 2
    stream, state = stream_of(backbone), backbone.encoder.zero_state(3)
    layers = []
    for batch in batches:
        outputs, state = stream(framed_ids(batch, time=longest), state)
        layers.append(outputs)
    for row in range(3):
        with h5py.File(folder / f"lm_embeddings_{row}.hdf5") as file:
            for number, outputs in enumerate(layers):
                expected = np.concatenate(file[str(number)][()], -1)
                actual = outputs[row, -1, 1 : len(expected) + 1]
                np.testing.assert_allclose(actual, expected, **TOLERANCE)


@pytest.fixture(scope="module")
def words(golden):
    """The words of the vocabulary and their token vectors."""
    folder = golden / "allennlp"
    with h5py.File(folder / "elmo_token_embeddings.hdf5") as file:
        expected = file["embedding"][()]
    words = (folder / "vocab_test.txt").read_text("utf-8").split("\n")
    return words[: len(expected)], expected


def test_token_vectors_of_the_token_embedder(backbone, words):
    words, expected = words
    vectors = backbone.token_embedder(encode_sentences([words]))
    np.testing.assert_allclose(to_arrays(vectors)[0][0], expected, **TOLERANCE)


def test_token_vectors_in_rows_of_fifty(backbone, words):
    words, expected = words
    rows = [words[start : start + 50] for start in range(0, len(words), 50)]
    vectors = keras_elmo.embed(rows, backbone, layers=0)
    joined = vectors.reshape(-1, 2 * SIZE)[: len(words)]
    np.testing.assert_allclose(joined[:, :SIZE], expected, **TOLERANCE)
    np.testing.assert_array_equal(joined[:, SIZE:], joined[:, :SIZE])


@pytest.mark.parametrize(("word", "position"), [("<S>", 0), ("</S>", 2)])
def test_a_marker_as_a_word_has_the_automatic_markers_vector(backbone, word, position):
    ids = padded(encode_sentences([[word]]))
    layers = outputs_of(with_boundaries(backbone))(ids)
    np.testing.assert_allclose(layers[0, 0, 1], layers[0, 0, position], atol=1e-6)
