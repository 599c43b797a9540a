"""allenai/bilm-tf's published fixture: no skip connections, carried state."""

import h5py
import numpy as np
import pytest

import keras_elmo
from tests.golden.support import (
    TOLERANCE,
    framed_ids,
    read_json,
    stream_of,
)


@pytest.fixture(scope="module")
def backbone(golden):
    folder = golden / "bilm"
    return keras_elmo.ElmoBackbone.from_options(
        folder / "options.json", folder / "lm_weights.hdf5"
    )


@pytest.fixture(scope="module")
def batches(golden):
    """Ten batches: the i-th sentence of each of three parallel streams."""
    streams = read_json(golden / "bilm" / "lm_embeddings_sentences.json")
    return [
        [sentence.strip().split() for sentence in batch]
        for batch in zip(*streams, strict=True)
    ]


@pytest.fixture(scope="module")
def top_layers(golden):
    """The expected (tokens, 32) of batch i, stream k: `top_layers[i][k]`."""
    streams = []
    for stream in range(3):
        with h5py.File(golden / "bilm" / f"lm_embeddings_{stream}.hdf5") as file:
            streams.append([np.concatenate(file[str(i)][()], -1) for i in range(10)])
    return list(zip(*streams, strict=True))


def test_top_layer_with_state_carried_over_ten_batches(backbone, batches, top_layers):
    stream = stream_of(backbone)
    # One length for all: padding advances no state, and one shape is compiled.
    longest = max(len(tokens) for batch in batches for tokens in batch) + 2
    state = backbone.encoder.zero_state(3)
    for batch, expected in zip(batches, top_layers, strict=True):
        layers, state = stream(framed_ids(batch, time=longest), state)
        for row, vectors in enumerate(expected):
            actual = layers[row, -1, 1 : len(vectors) + 1]
            np.testing.assert_allclose(actual, vectors, **TOLERANCE)


def test_the_first_batch_needs_no_state(backbone, batches, top_layers):
    vectors = keras_elmo.embed(batches[0], backbone, layers="top")
    for row, expected in zip(vectors, top_layers[0], strict=True):
        np.testing.assert_allclose(row[: len(expected)], expected, **TOLERANCE)


def test_later_batches_differ_without_the_state(backbone, batches, top_layers):
    """What makes the test of the carried state one: bilm/README.md measured 0.79."""
    vectors = keras_elmo.embed(batches[1], backbone, layers="top")
    largest = max(
        np.abs(row[: len(expected)] - expected).max()
        for row, expected in zip(vectors, top_layers[1], strict=True)
    )
    assert largest > 0.1
