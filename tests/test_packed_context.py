"""Inference without padding against the encoder over padded batches."""

import numpy as np
import pytest

from keras_elmo import embed
from keras_elmo.inference import Inference
from tests.models_for_tests import character_backbone

SENTENCES = [["the", "bank", "."], [], ["a"], ["river"] * 9, ["the", "river"]]


def vectors_of(backbone, keep_boundaries=None):
    inference = Inference(backbone)
    tokens = sorted({token for sentence in SENTENCES for token in sentence})
    indices = [np.array([tokens.index(t) for t in s], int) for s in SENTENCES]
    vectors = inference.token_vectors(tokens)
    keep = backbone.keep_boundaries if keep_boundaries is None else keep_boundaries
    options = {"keep_boundaries": keep_boundaries}
    return (
        list(inference.contextual_vectors(vectors, indices, **options)),
        list(inference._general_contextual_vectors(vectors, indices, keep)),
    )


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"num_layers": 1},
        {"num_layers": 3, "use_skip_connections": False},
        {"keep_boundaries": True},
        {"cell_clip": None, "proj_clip": None},
        {"hidden_dim": 4, "projection_dim": 4},
    ],
)
def test_packed_sentences_have_the_vectors_of_padded_ones(changes):
    packed, padded = vectors_of(character_backbone(**changes))
    for a, b in zip(packed, padded, strict=True):
        assert a.dtype == b.dtype == np.float32
        np.testing.assert_allclose(a, b, atol=5e-6, rtol=1e-5)


def test_boundaries_are_kept_for_who_asks_for_them():
    backbone = character_backbone()
    packed, padded = vectors_of(backbone, keep_boundaries=True)
    without, _ = vectors_of(backbone)
    for a, b, inner in zip(packed, padded, without, strict=True):
        np.testing.assert_allclose(a, b, atol=5e-6, rtol=1e-5)
        np.testing.assert_allclose(a[:, 1:-1], inner, atol=5e-6, rtol=1e-5)


def test_a_backbone_in_16_bits_takes_the_general_path():
    backbone = character_backbone(dtype="bfloat16")
    packed, padded = vectors_of(backbone)
    np.testing.assert_array_equal(packed[0], padded[0])
    with pytest.raises(ValueError, match="`dtype` must be 'float32' for a BiLMEncoder"):
        embed(SENTENCES, backbone, dtype="int8")


def test_dtype_is_an_option_of_embed():
    backbone = character_backbone()
    exact, rounded = (embed(SENTENCES, backbone, dtype=d) for d in ("float32", "int8"))
    assert 0 < np.abs(exact - rounded).max() < 0.05
    with pytest.raises(ValueError, match="`dtype` must be"):
        embed(SENTENCES, backbone, dtype="int4")
