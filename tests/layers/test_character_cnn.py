"""`CharacterCNN` against the NumPy reference."""

import numpy as np
import pytest
from keras import ops

from keras_elmo import CharacterCNN
from tests import reference
from tests.helpers import check_layer
from tests.layers.weights import (
    TOLERANCE,
    assert_close,
    assert_equal,
    assert_gradients,
    call,
    character_cnn_of,
    numbers,
    randomize,
)

# Words of no, one and many bytes, one of them cut.
WORDS = [["", "a", "bank"], ["the", "lengthiest-of-words", "字"]]


def made(rng, **options):
    layer = CharacterCNN(**options)
    layer.build((None, None, layer.max_characters_per_token))
    randomize(layer, rng)
    return layer


@pytest.mark.parametrize(
    ("size", "options"),
    [
        # The widest filter leaves two windows, and most words are shorter than it.
        (
            8,
            {
                "filters": [[1, 3], [4, 2], [7, 5]],
                "projection_dim": 6,
                "num_highway_layers": 2,
            },
        ),
        # One window only; neither highway nor projection.
        (7, {"filters": [[7, 4]], "activation": "tanh"}),
        (
            12,
            {"filters": [[2, 5], [1, 1]], "num_highway_layers": 1, "projection_dim": 6},
        ),
        (
            9,
            {
                "filters": [[3, 2], [3, 3]],
                "activation": "tanh",
                "num_highway_layers": 1,
            },
        ),
        (
            50,
            {"filters": [[5, 4], [6, 3]], "activation": "tanh", "projection_dim": 3},
        ),
    ],
)
def test_equals_the_reference(size, options):
    rng = np.random.default_rng(size)
    layer = made(
        rng, character_embedding_dim=3, max_characters_per_token=size, **options
    )
    ids = reference.character_ids(WORDS, size)
    expected = reference.character_cnn(ids, **character_cnn_of(layer))
    assert_close(call(layer, ids.astype("int32")), expected, **TOLERANCE)


@pytest.fixture(scope="module")
def small():
    """A layer with filters up to width 4, for words of at most 10 bytes."""
    return made(
        np.random.default_rng(5),
        filters=[[1, 4], [2, 3], [4, 5]],
        character_embedding_dim=3,
        projection_dim=6,
        num_highway_layers=1,
        max_characters_per_token=12,
    )


@pytest.mark.parametrize("change", [lambda x: x[0], lambda x: x[None]])
def test_tokens_may_lie_on_any_axes(small, change):
    ids = change(reference.character_ids([["a", "bank"], ["the", ""]], 12))
    expected = reference.character_cnn(ids, **character_cnn_of(small))
    assert_close(call(small, ids), expected, **TOLERANCE)


def test_padding_is_exactly_zero_and_masked(small):
    ids = reference.character_ids([["a"], ["bank", "", "the"]], 12).astype("int32")
    vectors, mask = call(small, ids), small.compute_mask(ops.convert_to_tensor(ids))
    expected = [[True, False, False], [True, True, True]]
    assert_equal(mask, expected)
    assert_equal(numbers(vectors)[0, 1:], 0.0)
    assert np.abs(numbers(vectors)[1]).max(axis=-1).min() > 0.0


def test_id_zero_inside_a_word_is_a_row_of_zeros(small):
    ids = reference.character_ids([["bank"]], 12)
    ids[0, 0, 2] = 0
    expected = reference.character_cnn(ids, **character_cnn_of(small))
    assert_close(call(small, ids.astype("int32")), expected, **TOLERANCE)


def test_byte_zero_is_no_padding(small):
    ids = reference.character_ids([["\0"]], 12)
    assert 1 in ids
    expected = reference.character_cnn(ids, **character_cnn_of(small))
    assert_close(call(small, ids.astype("int32")), expected, **TOLERANCE)


def test_windows_of_padding_alone_may_be_left_out(small):
    ids = reference.character_ids([["a", "bank"]], 12).astype("int32")
    # The longest word takes 6 ids; a window of the widest filter more is enough.
    expected = numbers(call(small, ids))
    assert_close(call(small, ids[..., : 6 + 4]), expected, **TOLERANCE)


def test_no_tokens_at_all(small):
    assert tuple(call(small, np.zeros((0, 3, 12), "int32")).shape) == (0, 3, 6)
    assert tuple(call(small, np.zeros((2, 0, 12), "int32")).shape) == (2, 0, 6)


def test_gradients_are_the_references():
    rng = np.random.default_rng(7)
    layer = made(
        rng,
        filters=[[1, 3], [3, 2]],
        character_embedding_dim=2,
        projection_dim=4,
        num_highway_layers=1,
        activation="tanh",
        max_characters_per_token=6,
    )
    ids = reference.character_ids([["ab", ""], ["c", "abcd"]], 6).astype("int32")
    assert_gradients(
        layer,
        ids,
        None,
        lambda: reference.character_cnn(ids, **character_cnn_of(layer)),
        rng,
    )


def test_layer_contract():
    check_layer(
        CharacterCNN,
        {
            "filters": [[1, 3], [2, 4]],
            "character_embedding_dim": 3,
            "projection_dim": 5,
            "num_highway_layers": 1,
            "activation": "tanh",
            "max_characters_per_token": 6,
        },
        reference.character_ids([["ab", ""], ["c"]], 6).astype("int32"),
        (2, 2, 5),
        1 + 2 + 2 + 4 + 2,
        symbolic_shape=(None, None, 6),
    )
