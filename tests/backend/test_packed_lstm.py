"""The packed loops of inference against the layers that they stand for."""

import logging
import os
import subprocess
import sys

import keras
import numpy as np
import pytest

from keras_elmo import backend
from keras_elmo.backend.pieces import pieces, row_bucket
from keras_elmo.layers.projected_lstm import ProjectedLSTM
from keras_elmo.packed_context import PackedOrder

rng = np.random.default_rng(0)


def built(hidden_dim=7, projection_dim=5, **options):
    lstm = ProjectedLSTM(hidden_dim, projection_dim, **options)
    lstm.build((None, None, 5))
    lstm.set_weights([rng.normal(size=w.shape) for w in lstm.weights])
    return lstm


def run_padded(lstm, sentences):
    """Each row's outputs by the layer itself, alone and without padding."""
    return [keras.ops.convert_to_numpy(lstm(x[None]))[0] for x in sentences]


def run_packed(packed, sentences):
    order = PackedOrder([np.arange(len(x)) for x in sentences])
    flat = np.empty((len(order.source), sentences[0].shape[1]), "float32")
    for x, rows in zip(sentences, order.rows, strict=True):
        flat[rows] = x
    outputs, _ = packed(flat, order.counts, None)
    return [outputs[rows] for rows in order.rows]


def random_sentences(lengths, dim=5):
    return [rng.normal(size=(n, dim)).astype("float32") for n in lengths]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"projection_dim": None},
        {"cell_clip": 0.5, "proj_clip": 0.3},
        {"hidden_dim": 5, "projection_dim": None, "cell_clip": 0.5},
    ],
)
def test_the_packed_loop_is_the_layer(options):
    lstm = built(**options)
    # More rows than one bucket, more steps than one piece, and sentences of one length.
    sentences = random_sentences([1, 3, 70, 3, 2, 300, *[4] * 40])
    actual = run_packed(backend.packed_lstm(lstm), sentences)
    for a, b in zip(actual, run_padded(lstm, sentences), strict=True):
        np.testing.assert_allclose(a, b, atol=5e-6, rtol=1e-5)


def test_every_row_starts_from_a_given_state():
    lstm = built()
    packed = backend.packed_lstm(lstm)
    (first,), sentences = random_sentences([1]), random_sentences([4, 2])
    _, state = packed(first, [1], None)
    outputs, _ = packed(
        np.concatenate([[sentences[0][0], sentences[1][0]],
                        [sentences[0][1], sentences[1][1]], sentences[0][2:]]),
        [2, 2, 1, 1],
        state,
    )  # fmt: skip
    expected = run_padded(lstm, [np.concatenate([first, x]) for x in sentences])
    np.testing.assert_allclose(outputs[[0, 2, 4, 5]], expected[0][1:], atol=5e-6)
    np.testing.assert_allclose(outputs[[1, 3]], expected[1][1:], atol=5e-6)


def test_weights_are_read_at_each_call():
    lstm = built()
    packed = backend.packed_lstm(lstm)
    sentences = random_sentences([3, 2])
    before = run_packed(packed, sentences)
    lstm.set_weights([w * 0.5 for w in lstm.get_weights()])
    after = run_packed(packed, sentences)
    assert np.abs(after[0] - before[0]).max() > 1e-3
    np.testing.assert_allclose(after[0], run_padded(lstm, sentences)[0], atol=5e-6)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8"])
@pytest.mark.parametrize(("dim", "projection_dim"), [(32, 32), (5, 6)])
def test_rounded_weights_stay_near_and_are_rounded(dtype, dim, projection_dim):
    lstm = ProjectedLSTM(64, projection_dim)
    lstm.build((None, None, dim))
    sentences = random_sentences([9, 5], dim)
    exact = run_packed(backend.packed_lstm(lstm), sentences)
    rounded = run_packed(backend.packed_lstm(lstm, dtype), sentences)
    for a, b in zip(exact, rounded, strict=True):
        cosine = (
            (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)
        )
        assert cosine.min() > 0.999
        assert np.abs(a - b).max() > 0


def test_pieces_cover_every_row_once_and_fit():
    counts = sorted([1, 1, 2, 7, 9, 30, 33, 64, 65, 200, 256, 256, 256], reverse=True)
    counts += [1] * 700
    plan = pieces(counts)
    assert plan[0].start == 0 and plan[-1].stop == sum(counts)
    step = 0
    for piece, following in zip(plan, [*plan[1:], None], strict=True):
        assert following is None or piece.stop == following.start
        assert piece.rows == row_bucket(counts[step])
        starts = piece.offsets[: piece.steps]
        assert (starts + piece.rows <= piece.size).all()
        ends = np.append(starts[1:], piece.stop - piece.start)
        np.testing.assert_array_equal(ends - starts, counts[step : step + piece.steps])
        step += piece.steps
    assert step == len(counts)


def test_few_shapes_are_compiled():
    shapes = {(p.rows, p.size) for n in range(1, 257) for p in pieces([n] * 50)}
    assert len(shapes) < 40


def test_a_packed_order_puts_the_longest_first():
    order = PackedOrder(
        [np.array([5]), np.array([1, 2, 3]), np.array([], int)], closing=9
    )
    assert order.counts == [3, 2, 1, 1]
    assert order.source.tolist() == [1, 5, 9, 2, 9, 3, 9]
    assert [rows.tolist() for rows in order.rows] == [[1, 4], [0, 3, 5, 6], [2]]


@pytest.mark.once
@pytest.mark.parametrize("dims", [(64, 96), (20, 12)])
def test_rows_multiply_alike_alone_and_together_with_int8_weights(dims):
    torch = pytest.importorskip("torch")
    from keras_elmo.backend.torch_products import packed_product

    rng = np.random.default_rng(0)
    weight = rng.normal(size=dims).astype("float32")
    x = torch.from_numpy(rng.normal(size=(5, dims[0])).astype("float32"))
    multiply = packed_product(torch.from_numpy(weight), None, "int8")
    together = multiply(x).numpy()
    alone = np.concatenate([multiply(x[i : i + 1]).numpy() for i in range(len(x))])
    scale = np.abs(weight).max(axis=0) / 127
    expected = x.numpy() @ (np.round(weight / scale) * scale)
    # Inputs, scales and results have 16 bits.
    for actual in (together, alone):
        np.testing.assert_allclose(actual, expected, rtol=0.02, atol=0.08)
    assert np.abs(expected - x.numpy() @ weight).max() > 1e-3


@pytest.mark.once
@pytest.mark.parametrize("largest", [0, 2**22])
@pytest.mark.parametrize("with_bias", [False, True])
def test_rows_multiply_alike_alone_and_together(largest, with_bias, monkeypatch):
    torch = pytest.importorskip("torch")
    from keras_elmo.backend import torch_products

    # One row of a small matrix goes another way than many, or one of a large matrix.
    monkeypatch.setattr(torch_products, "FITS_CACHE", largest)
    rng = np.random.default_rng(0)
    weight, x, added, bias = (
        torch.from_numpy(rng.normal(size=size).astype("float32"))
        for size in ((32, 48), (5, 32), (5, 48), (48,))
    )
    bias = bias if with_bias else None
    multiply = torch_products.packed_product(weight, bias)
    expected = x.numpy() @ weight.numpy() + (bias.numpy() if with_bias else 0)
    for more in (None, added):
        if more is not None:
            expected = expected + added.numpy()
        rows = [x[i : i + 1] for i in range(len(x))]
        mores = [None if more is None else more[i : i + 1] for i in range(len(x))]
        alone = np.concatenate(
            [multiply(*pair).numpy() for pair in zip(rows, mores, strict=True)]
        )
        for actual in (multiply(x, more).numpy(), alone):
            np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.once
@pytest.mark.parametrize("largest", [0, 2**22])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int8"])
def test_a_product_is_written_where_it_shall_be(dtype, largest, monkeypatch):
    torch = pytest.importorskip("torch")
    from keras_elmo.backend import torch_products

    monkeypatch.setattr(torch_products, "FITS_CACHE", largest)
    multiply = torch_products.packed_product(torch.randn(32, 64), None, dtype)
    for rows in (1, 5):
        x, added = torch.randn(rows, 32), torch.randn(rows, 64)
        # A row of a wider array, as a step's output is.
        out = torch.zeros(2 * rows, 64)[rows:]
        for more in (None, added):
            assert multiply(x, more, out=out) is out
            torch.testing.assert_close(out, multiply(x, more))


@pytest.mark.once
@pytest.mark.parametrize("largest", [0, 2**22])
@pytest.mark.parametrize("options", [{}, {"projection_dim": None}])
def test_one_sentence_on_torch_is_the_layer(options, largest, monkeypatch):
    pytest.importorskip("torch")
    from keras_elmo.backend import torch_products

    monkeypatch.setattr(torch_products, "FITS_CACHE", largest)
    lstm = built(**options)
    # Small ones: 300 steps must not make a rounding error grow.
    lstm.set_weights([0.3 * w for w in lstm.get_weights()])
    packed = backend.packed_lstm(lstm)
    # More steps than one piece has; the state goes on from call to call.
    (sentence,) = random_sentences([300])
    expected = run_padded(lstm, [sentence])[0]
    first, state = packed(sentence[:20], [1] * 20, None)
    kept = first.copy()
    second, _ = packed(sentence[20:], [1] * 280, state)
    again, _ = packed(sentence[20:], [1] * 280, state)
    np.testing.assert_allclose(np.concatenate([first, second]), expected, atol=5e-6)
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(again, second)


def test_many_shapes_are_no_matter_for_a_warning():
    if keras.backend.backend() != "tensorflow":
        pytest.skip("only TensorFlow warns of many shapes")
    import tensorflow as tf

    told = []
    handler = logging.Handler()
    handler.emit = lambda record: told.append(record.getMessage())
    lstm = ProjectedLSTM(16, 8)
    lstm.build((None, None, 8))
    packed = backend.packed_lstm(lstm)
    tf.get_logger().addHandler(handler)
    try:
        for number in (1, 3, 5, 12, 20, 30, 60, 90):
            run_packed(packed, random_sentences([4] * number, 8))
    finally:
        tf.get_logger().removeHandler(handler)
    assert told == []


COUNT_PROGRAMS = """
import numpy as np
from keras_elmo import backend
from keras_elmo.layers.projected_lstm import ProjectedLSTM

lstm = ProjectedLSTM(7, 5)
lstm.build((None, None, 5))
packed = backend.packed_lstm(lstm)
for counts in ([4, 4, 3, 2], [4, 3, 3, 3], [4, 2, 2, 2]):
    packed(np.zeros((sum(counts), 5), "float32"), counts, None)
"""


def test_where_steps_begin_is_no_part_of_a_program():
    """Each batch of a corpus was compiled anew, 20 times as long as it ran."""
    if keras.backend.backend() != "tensorflow":
        pytest.skip("only TensorFlow compiles by what values there are")
    done = subprocess.run(
        [sys.executable, "-c", COUNT_PROGRAMS],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "TF_CPP_MIN_LOG_LEVEL": "0",
            "TF_CPP_VMODULE": "device_compiler=2",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Already Compiled for signature" in done.stderr
    assert done.stderr.count("Instantly compiling") == 1
