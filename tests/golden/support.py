"""What the golden tests share."""

import importlib
import json

import keras
import numpy as np

import keras_elmo
from keras_elmo.text import encode_sentences
from tests.helpers import to_arrays

# golden/README.md: programs differ from each other and from float64 by 1.4e-6.
TOLERANCE = {"atol": 5e-6, "rtol": 1e-5}


def load(path):
    """The arrays of an npz file, a dict."""
    with np.load(path) as stored:
        return {name: stored[name] for name in stored.files}


def read_json(path):
    return json.loads(path.read_text("utf-8"))


def compiled(function):
    """`function`, on JAX compiled: uncompiled, JAX compiles each operation of it."""
    if keras.backend.backend() != "jax":
        return function
    # Models so small are compiled longer than they run.
    options = {"xla_backend_optimization_level": 0}
    return importlib.import_module("jax").jit(function, compiler_options=options)


def framed_ids(sentences, rows=None, time=None, size=50):
    """Character ids with `<S>` and `</S>` in the stream, padded to (rows, time)."""
    ids = encode_sentences([["<S>", *tokens, "</S>"] for tokens in sentences], size)
    return padded(ids, rows, time)


def padded(ids, rows=None, time=None):
    """`ids` with 0 behind them, up to (rows, time)."""
    new = np.zeros((rows or len(ids), time or ids.shape[1], *ids.shape[2:]), "int32")
    new[: ids.shape[0], : ids.shape[1]] = ids
    return new


def stream_of(backbone):
    """Function of ids that hold their markers, and a state, to layers and state.

    Made of the backbone's public parts: its token embedder and its encoder.
    """

    def run(ids, state):
        vectors = backbone.token_embedder(ids)
        mask = backbone.token_embedder.compute_mask(ids)
        return backbone.encoder(
            vectors, mask=mask, initial_state=state, return_state=True
        )

    run = compiled(run)

    def stream(ids, state):
        layers, state = run(keras.ops.convert_to_tensor(ids), state)
        return np.stack(to_arrays(layers), axis=1), state

    return stream


def outputs_of(model):
    """Function of ids to a model's layers, (batch, layers, time, dim)."""
    run = compiled(model)

    def outputs(ids):
        layers = run(keras.ops.convert_to_tensor(np.asarray(ids, "int32")))
        return np.stack(to_arrays(layers), axis=1)

    return outputs


def with_boundaries(backbone):
    """The same model, that keeps the vectors of `<S>` and `</S>`."""
    config = {**backbone.get_config(), "keep_boundaries": True}
    model = keras_elmo.ElmoBackbone.from_config(config)
    model.set_weights(backbone.get_weights())
    return model


def assert_real_tokens_close(actual, expected, mask, name=None):
    """(batch, layers, time, dim): equal on real tokens, exactly 0 elsewhere."""
    actual = np.swapaxes(actual, 1, 2)
    expected = np.swapaxes(expected, 1, 2)
    np.testing.assert_allclose(
        actual[mask], expected[mask], **TOLERANCE, err_msg=str(name)
    )
    np.testing.assert_array_equal(actual[~mask], 0.0, err_msg=str(name))
