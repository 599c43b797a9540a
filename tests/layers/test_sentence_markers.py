"""`AddSentenceMarkers` and `RemoveSentenceMarkers`."""

import numpy as np
import pytest

from keras_elmo import AddSentenceMarkers, RemoveSentenceMarkers
from tests import reference
from tests.helpers import check_layer
from tests.layers.weights import (
    assert_equal,
    numbers,
)

SIZE = 6
BEGIN, END = reference.character_ids([["<S>", "</S>"]], SIZE)[0].tolist()


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(
    "sentences",
    [
        [["a", "bc", ""], ["d"], []],
        [[]],
        [["one"]],
        [[""], ["", ""]],
        [["<S>", "</S>"], ["x"]],
    ],
)
def test_characters_get_the_markers_that_the_peers_add(sentences, dtype):
    ids = reference.character_ids(sentences, SIZE).astype(dtype)
    framed = AddSentenceMarkers(BEGIN, END)(ids)
    assert_equal(framed, reference.framed_ids(sentences, SIZE))


def test_no_sentence_at_all():
    framed = AddSentenceMarkers(BEGIN, END)(np.zeros((0, 2, SIZE), "int32"))
    assert tuple(framed.shape) == (0, 4, SIZE)
    framed = AddSentenceMarkers(1, 2)(np.zeros((0, 0), "int32"))
    assert tuple(framed.shape) == (0, 2)


def test_words_get_their_markers_wherever_the_padding_is():
    ids = np.array([[7, 8, 9], [7, 0, 0], [0, 0, 7], [0, 8, 0], [0, 0, 0]], "int32")
    framed = AddSentenceMarkers(3, 5)(ids)
    expected = [
        [3, 7, 8, 9, 5],
        [3, 7, 5, 0, 0],
        # Padding on the left stays there: it is masked, and no word is lost.
        [3, 0, 0, 7, 5],
        [3, 0, 8, 5, 0],
        [3, 5, 0, 0, 0],
    ]
    assert_equal(framed, expected)


def test_removing_undoes_adding():
    ids = np.array([[7, 8, 9], [7, 0, 0], [0, 0, 7], [0, 8, 0], [0, 0, 0]], "int32")
    framed = numbers(AddSentenceMarkers(3, 5)(ids))
    mask = framed != 0
    vectors = np.stack([framed, -framed], axis=-1).astype("float32")
    remove = RemoveSentenceMarkers()
    removed = remove([vectors, 2 * vectors], mask=[mask, mask])
    for factor, actual in zip((1, 2), removed, strict=True):
        expected = factor * np.stack([ids, -ids], axis=-1)
        assert_equal(numbers(actual), expected)
    for actual in remove.compute_mask([vectors, vectors], mask=[mask, mask]):
        assert_equal(numbers(actual).astype(bool), ids != 0)


def test_removing_needs_a_mask():
    with pytest.raises(ValueError, match="mask"):
        RemoveSentenceMarkers()([np.ones((1, 4, 2), "float32")])


def test_adding_contract():
    ids = np.array([[7, 8, 9], [7, 0, 0]], "int32")
    check_layer(
        AddSentenceMarkers,
        {"begin": 3, "end": 5},
        ids,
        (2, 5),
        0,
        symbolic_shape=(None, None),
    )
    ids = reference.character_ids([["a", "b"], ["c"]], SIZE).astype("int32")
    check_layer(
        AddSentenceMarkers,
        {"begin": BEGIN, "end": END},
        ids,
        (2, 4, SIZE),
        0,
        symbolic_shape=(None, None, SIZE),
    )


def test_removing_contract():
    mask = np.array([[1, 1, 1, 0], [1, 1, 1, 1]], bool)
    vectors = np.random.default_rng(1).normal(size=(2, 4, 3)).astype("float32")
    check_layer(
        RemoveSentenceMarkers,
        {},
        [vectors],
        [(2, 2, 3)],
        0,
        call_kwargs={"mask": [mask]},
    )
