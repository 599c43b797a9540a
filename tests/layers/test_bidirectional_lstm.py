"""`BidirectionalLSTM` against Keras' own wrapper, and with padding."""

import keras
import numpy as np
import pytest

from keras_elmo.layers import BidirectionalLSTM
from tests.helpers import to_arrays

LENGTHS = (5, 2, 0)


def inputs(dim=3):
    x = np.random.default_rng(0).normal(size=(len(LENGTHS), 5, dim)).astype("float32")
    mask = np.arange(5) < np.array(LENGTHS)[:, None]
    return x, mask


@pytest.mark.parametrize("padded", [False, True])
def test_equals_the_wrapper_of_keras(padded):
    x, mask = inputs()
    mask = mask if padded else None
    ours = BidirectionalLSTM(4)
    theirs = keras.layers.Bidirectional(keras.layers.LSTM(4, return_sequences=True))
    ours.build(x.shape)
    theirs.build(x.shape)
    theirs.set_weights(ours.get_weights())
    found, expected = ours(x, mask=mask), theirs(x, mask=mask)
    assert tuple(found.shape) == ours.compute_output_shape(x.shape) == (3, 5, 8)
    np.testing.assert_allclose(
        *to_arrays([found, expected]), rtol=0, atol=1e-6, strict=True
    )


def test_padding_changes_nothing_and_gets_zeros():
    x, mask = inputs()
    layer = BidirectionalLSTM(4)
    (whole,) = to_arrays([layer(x, mask=mask)])
    (alone,) = to_arrays([layer(x[1:2, :2])])
    np.testing.assert_allclose(whole[1, :2], alone[0], rtol=0, atol=1e-6)
    assert not whole[~mask].any()
