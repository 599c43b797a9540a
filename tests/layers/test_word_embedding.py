"""`WordEmbedding` against the NumPy reference."""

import numpy as np
from keras import ops

from keras_elmo import WordEmbedding
from tests import reference
from tests.helpers import check_layer
from tests.layers.weights import (
    assert_close,
    assert_equal,
    call,
    gradients,
    numbers,
)

# The first and the last row, a padded position on every side.
IDS = np.array([[0, 1, 5], [5, 0, 2], [0, 0, 0]], "int32")


def made():
    layer = WordEmbedding(5, 3)
    layer.build((None, None))
    return layer


def test_equals_the_reference():
    layer = made()
    expected = reference.word_vectors(IDS, numbers(layer.table))
    for ids in (IDS, IDS.astype("int64"), IDS[0], IDS[:0]):
        # A look-up copies: equal to the bit.
        assert_equal(
            call(layer, ids), reference.word_vectors(ids, numbers(layer.table))
        )
    assert_equal(np.abs(expected).max(axis=-1) > 0, IDS > 0)


def test_the_mask_is_false_where_padded():
    mask = made().compute_mask(ops.convert_to_tensor(IDS))
    assert_equal(mask, IDS != 0)


def test_padding_has_no_gradient():
    layer = made()
    ids = np.array([[2, 0, 0, 2]], "int32")
    factors = np.arange(12.0, dtype="float32").reshape(1, 4, 3)
    (gradient,) = gradients(layer, ids, None, factors)
    expected = np.zeros((5, 3))
    expected[1] = factors[0, 0] + factors[0, 3]
    assert_close(gradient, expected, atol=1e-5)


def test_layer_contract():
    check_layer(
        WordEmbedding,
        {"vocabulary_size": 5, "output_dim": 4},
        IDS,
        (3, 3, 4),
        1,
        symbolic_shape=(None, None),
    )
