"""ELMoForManyLangs' token embedder and its `lstm` encoder."""

import numpy as np
import pytest
from keras import ops

import keras_elmo
from tests.helpers import check_layer, to_arrays

RNG = np.random.default_rng(3)
BOTH = {
    "projection_dim": 4,
    "vocabulary_size": 6,
    "word_embedding_dim": 3,
    "num_characters": 9,
    "char_cnn_filters": [[1, 2], [2, 3]],
    "character_embedding_dim": 2,
    "num_highway_layers": 1,
    "max_characters_per_token": 5,
}
WORDS = {"projection_dim": 4, "vocabulary_size": 6, "word_embedding_dim": 3}


def test_embedding_of_words_and_characters():
    ids = RNG.integers(1, 7, (2, 3, 6)).astype("int32")
    ids[1, 2] = 0
    # Word table, character table, 2 filters of 2, highway of 4, projection of 2.
    check_layer(keras_elmo.WordCharacterEmbedding, BOTH, ids, (2, 3, 4), 12)
    layer = keras_elmo.WordCharacterEmbedding(**BOTH)
    vectors, mask = layer(ids), layer.compute_mask(ids)
    (vectors, mask) = to_arrays([vectors, mask])
    assert not vectors[1, 2].any() and not mask[1, 2] and mask.sum() == 5


@pytest.mark.once
def test_embedding_of_words_alone():
    ids = np.array([[1, 6, 0]], "int32")
    check_layer(keras_elmo.WordCharacterEmbedding, WORDS, ids, (1, 3, 4), 3)
    with pytest.raises(ValueError, match="or both must be given"):
        keras_elmo.WordCharacterEmbedding(4)


def test_joined_encoder():
    arguments = {"num_layers": 2, "hidden_dim": 5, "projection_dim": 3}
    inputs = RNG.normal(size=(2, 4, 3)).astype("float32")
    mask = np.array([[True] * 4, [True, True, False, False]])
    check_layer(
        keras_elmo.JoinedEncoder,
        arguments,
        inputs,
        [(2, 4, 6)],
        14,
        call_kwargs={"mask": mask},
    )


def test_joined_encoder_never_reads_padding():
    layer = keras_elmo.JoinedEncoder(2, hidden_dim=5, projection_dim=3)
    inputs = RNG.normal(size=(1, 6, 3)).astype("float32")
    mask = np.array([[True, True, True, True, False, False]])
    (padded,) = layer(ops.array(inputs), mask=ops.array(mask))
    (alone,) = layer(ops.array(inputs[:, :4]))
    padded, alone = to_arrays([padded, alone])
    np.testing.assert_allclose(padded[:, :4], alone, atol=1e-6)
    assert not padded[:, 4:].any()


@pytest.mark.once
def test_always_project():
    """ELMoForManyLangs projects where a biLM of bilm-tf does not."""
    inputs = np.ones((1, 2, 4), "float32")
    for cells in (4, 3):
        encoder = keras_elmo.BiLMEncoder(1, cells, 4, always_project=True)
        encoder(ops.array(inputs))
        assert len(encoder.weights) == 8
    assert encoder.get_config()["always_project"]
    with pytest.raises(ValueError, match="must be at most `hidden_dim`"):
        keras_elmo.BiLMEncoder(1, 3, 4)
