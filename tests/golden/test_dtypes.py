"""How far rounded LSTM weights move the vectors of the published fixtures."""

import numpy as np
import pytest

import keras_elmo
from tests.golden.support import read_json


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8"])
@pytest.mark.parametrize(
    ("fixture", "texts"),
    [("bilm", "lm_embeddings_sentences.json"), ("allennlp", "sentences.json")],
)
def test_each_token_stays_within_a_thousandth(golden, fixture, texts, dtype):
    folder = golden / fixture
    backbone = keras_elmo.ElmoBackbone.from_options(
        folder / "options.json", folder / "lm_weights.hdf5"
    )
    streams = read_json(folder / texts)
    sentences = [sentence.split() for stream in streams for sentence in stream]
    exact, rounded = (
        np.concatenate(
            list(keras_elmo.embed_iter(sentences, backbone, layers="all", dtype=d)),
            axis=1,
        )
        for d in ("float32", dtype)
    )
    lengths = np.linalg.norm(exact, axis=-1) * np.linalg.norm(rounded, axis=-1)
    cosine = (exact * rounded).sum(axis=-1) / lengths
    # Token vectors are not rounded at all; the layers above are.
    np.testing.assert_array_equal(exact[0], rounded[0])
    assert 0.999 < cosine[1:].min() < 1.0
