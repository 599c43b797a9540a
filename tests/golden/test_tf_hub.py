"""google/elmo's files: the outputs of the exported module."""

import json

import numpy as np
import pytest

import keras_elmo
from keras_elmo.checkpoints.tf_hub import build_backbone
from tests.golden.support import TOLERANCE, load


@pytest.mark.parametrize("name", ["hub_module", "saved_model"])
def test_outputs_are_those_of_the_module(golden, name):
    backbone = build_backbone(golden / "tf_hub" / name)
    stored = load(golden / "tf_hub" / "expected.npz")
    odds = np.exp([0.2, -0.3, 0.5])
    np.testing.assert_allclose(backbone.mix_weights, odds / odds.sum(), rtol=1e-6)
    assert backbone.gamma == pytest.approx(1.3)
    rows = json.loads(str(stored["tokens"]))
    sentences = [
        row[:length] for row, length in zip(rows, stored["sequence_len"], strict=True)
    ]
    every = keras_elmo.embed(sentences, backbone, layers="all")
    time = every.shape[2]
    found = {
        "word_emb": every[:, 0, :, : backbone.projection_dim],
        "lstm_outputs1": every[:, 1],
        "lstm_outputs2": every[:, 2],
        "elmo": keras_elmo.embed(sentences, backbone),
        "default": keras_elmo.embed(sentences, backbone, pooling="mean"),
    }
    for output, array in found.items():
        expected = stored[f"tokens/{output}"]
        if output != "default":
            np.testing.assert_array_equal(expected[:, time:], 0.0)
            expected = expected[:, :time]
        np.testing.assert_allclose(array, expected, **TOLERANCE, err_msg=output)


def test_texts_give_the_vectors_of_their_words(golden):
    backbone = build_backbone(golden / "tf_hub" / "hub_module")
    stored = load(golden / "tf_hub" / "expected.npz")
    for inputs, prefix in (
        ("sentences", "default"),
        ("sentences_odd_spaces", "default_odd_spaces"),
    ):
        texts = json.loads(str(stored[inputs]))
        # Split at spaces and nothing else, as the module does: a tab stays in a word.
        sentences = [[word for word in text.split(" ") if word] for text in texts]
        vectors = keras_elmo.embed(sentences, backbone)
        expected = stored[f"{prefix}/elmo"]
        np.testing.assert_allclose(
            vectors, expected[:, : vectors.shape[1]], **TOLERANCE
        )
        np.testing.assert_array_equal(expected[:, vectors.shape[1] :], 0.0)
        pooled = keras_elmo.embed(sentences, backbone, pooling="mean")
        np.testing.assert_allclose(pooled, stored[f"{prefix}/default"], **TOLERANCE)
