"""The recurrent loops on a GPU: by the reference in NumPy, which never sees one."""

import keras
import numpy as np
import pytest

from keras_elmo import backend
from keras_elmo.layers.projected_lstm import ProjectedLSTM
from keras_elmo.packed_context import PackedOrder
from tests.reference.recurrent import LSTM, run_lstm


def gpus():
    """The GPUs that this backend would use."""
    name = keras.backend.backend()
    if name == "torch":
        import torch

        return list(range(torch.cuda.device_count()))
    if name == "jax":
        import jax

        return [device for device in jax.devices() if device.platform == "gpu"]
    return keras.distribution.list_devices("gpu")


pytestmark = pytest.mark.skipif(
    not gpus(), reason=f"{keras.backend.backend()} sees no GPU on this machine"
)

# TensorFlow and JAX may multiply with ten bits of a number (TF32).
TOLERANCE = {"atol": 5e-3, "rtol": 5e-3}


@pytest.fixture
def work():
    """An LSTM, sentences, and the outputs for them by the reference."""
    rng = np.random.default_rng(0)
    lstm = ProjectedLSTM(64, 32, cell_clip=3.0, proj_clip=3.0)
    lstm.build((None, None, 32))
    lstm.set_weights([rng.normal(0, 0.2, w.shape) for w in lstm.weights])
    stored = {w.name: keras.ops.convert_to_numpy(w) for w in lstm.weights}
    reference = LSTM(
        stored["kernel"],
        stored["recurrent_kernel"],
        stored["bias"],
        stored["projection_kernel"],
        lstm.cell_clip,
        lstm.proj_clip,
    )
    sentences = [rng.normal(size=(n, 32)).astype("float32") for n in (40, 7, 7, 1)]
    return lstm, sentences, [run_lstm(reference, x)[0] for x in sentences]


def test_the_layer_on_a_gpu_is_the_reference(work):
    lstm, sentences, expected = work
    assert "cpu" not in str(keras.ops.zeros((1,)).device).lower()
    for x, y in zip(sentences, expected, strict=True):
        found = keras.ops.convert_to_numpy(lstm(x[None]))[0]
        np.testing.assert_allclose(found, y, **TOLERANCE)


@pytest.mark.parametrize("rows", [slice(None), slice(0, 1)], ids=["packed", "alone"])
def test_the_packed_loop_on_a_gpu_is_the_reference(work, rows):
    lstm, sentences, expected = work
    sentences, expected = sentences[rows], expected[rows]
    order = PackedOrder([np.arange(len(x)) for x in sentences])
    flat = np.empty((len(order.source), 32), "float32")
    for x, at in zip(sentences, order.rows, strict=True):
        flat[at] = x
    outputs, _ = backend.packed_lstm(lstm)(flat, order.counts, None)
    for at, y in zip(order.rows, expected, strict=True):
        np.testing.assert_allclose(outputs[at], y, **TOLERANCE)
