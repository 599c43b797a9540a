"""The LSTM's gradient by hand equals automatic differentiation of the general one."""

import importlib

import keras
import numpy as np
import pytest
from keras import ops

from keras_elmo import ProjectedLSTM, backend

CELLS, SIZE = 5, 3
# float32, the same sums in another order.
TOLERANCE = {"rtol": 2e-5, "atol": 2e-6}
CLIPS = {"cell_clip": 0.4, "proj_clip": 0.3}
NO_CLIPS = {"cell_clip": None, "proj_clip": None}


def made_mask(time, batch):
    """bool (time, batch, 1): row by row another kind, all of them in five rows."""
    steps = np.arange(time)
    kinds = [
        steps < time // 2,  # right-padded
        steps >= time // 2,  # left-padded
        steps % 2 == 0,  # with holes
        steps < 0,  # empty
        steps >= 0,  # full
    ]
    return np.stack([kinds[row % 5] for row in range(batch)], axis=1)[..., None]


def arguments(time, batch, projection, masked, dtype="float32"):
    """mask, and the float arguments by name, NumPy."""
    rng = np.random.default_rng(7)
    size = SIZE if projection else CELLS
    floats = {
        "gates_input": rng.normal(0.0, 1.5, (time, batch, 4 * CELLS)),
        "h": rng.normal(0.0, 0.5, (batch, size)),
        "c": rng.normal(0.0, 0.5, (batch, CELLS)),
        "recurrent_kernel": rng.normal(0.0, 1.0, (size, 4 * CELLS)),
    }
    if projection:
        floats["projection_kernel"] = rng.normal(0.0, 1.0, (CELLS, SIZE))
    floats = {name: x.astype(dtype) for name, x in floats.items()}
    return made_mask(time, batch) if masked else None, floats


def results_and_gradients(function, mask, floats, clips, factors):
    """Results, and the gradients of the sum of each result times its factors."""

    def total(values):
        filled = {"projection_kernel": None, "mask": mask, **values, **clips}
        results = function(**filled)
        weighted = [ops.sum(x * f) for x, f in zip(results, factors, strict=True)]
        return sum(weighted), results

    name = keras.backend.backend()
    framework = importlib.import_module(name)
    values = {key: ops.convert_to_tensor(x) for key, x in floats.items()}
    mask = None if mask is None else ops.convert_to_tensor(mask)
    factors = [ops.convert_to_tensor(x) for x in factors]
    if name == "jax":
        compiled = framework.jit(
            framework.grad(total, has_aux=True),
            compiler_options={"xla_backend_optimization_level": 0},
        )
        gradients, results = compiled(values)
    elif name == "torch":
        for x in values.values():
            x.requires_grad_()
        loss, results = total(values)
        loss.backward()
        gradients = {key: x.grad for key, x in values.items()}
    else:

        def taped(values):
            with framework.GradientTape() as tape:
                tape.watch(values)
                loss, results = total(values)
            return results, tape.gradient(loss, values)

        results, gradients = framework.function(taped)(values)
    return [
        [ops.convert_to_numpy(x) for x in results],
        {key: ops.convert_to_numpy(x) for key, x in gradients.items()},
    ]


def made_factors(time, batch, projection, which, dtype="float32"):
    """Random factors of the results in `which`, of outputs, h and c, else 0."""
    rng = np.random.default_rng(8)
    size = SIZE if projection else CELLS
    shapes = [(time, batch, size), (batch, size), (batch, CELLS)]
    return [
        (rng.normal(size=shape) * (position in which)).astype(dtype)
        for position, shape in enumerate(shapes)
    ]


def check(time, batch, projection, masked, clips, which=(0, 1, 2)):
    mask, floats = arguments(time, batch, projection, masked)
    factors = made_factors(time, batch, projection, which)
    results, gradients = results_and_gradients(
        backend.projected_lstm, mask, floats, clips, factors
    )
    expected_results, expected = results_and_gradients(
        backend.general_projected_lstm, mask, floats, clips, factors
    )
    for actual, wanted in zip(results, expected_results, strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-6, atol=1e-7)
    assert set(gradients) == set(expected)
    for key, wanted in expected.items():
        np.testing.assert_allclose(gradients[key], wanted, **TOLERANCE, err_msg=key)
    return results, gradients


@pytest.mark.parametrize("projection", [False, True])
@pytest.mark.parametrize("clips", [NO_CLIPS, CLIPS])
@pytest.mark.parametrize("masked", [False, True])
def test_equals_automatic_differentiation(projection, clips, masked):
    check(6, 5, projection, masked, clips)


def test_the_clips_of_these_tests_cut():
    """Else the gradient where they cut would stay untested; nor do they cut all."""
    (outputs, _, c), gradients = check(6, 8, True, False, CLIPS)
    for x, limit in ((outputs, CLIPS["proj_clip"]), (c, CLIPS["cell_clip"])):
        cut = np.abs(x) == np.float32(limit)
        assert 0.2 < cut.mean() < 0.8
    assert all(np.abs(x).sum() > 0 for x in gradients.values())


@pytest.mark.parametrize("which", [(0,), (1,), (2,)])
def test_each_result_alone(which):
    check(4, 5, True, True, CLIPS, which)


@pytest.mark.parametrize(("time", "batch"), [(1, 5), (4, 1)])
def test_one_step_or_one_row(time, batch):
    check(time, batch, True, True, CLIPS)


def test_no_steps_hand_the_gradient_to_the_state():
    mask, floats = arguments(0, 2, True, True)
    factors = made_factors(0, 2, True, (1, 2))
    results, gradients = results_and_gradients(
        backend.projected_lstm, mask, floats, CLIPS, factors
    )
    assert results[0].shape == (0, 2, SIZE)
    np.testing.assert_array_equal(results[1], floats["h"])
    np.testing.assert_array_equal(results[2], floats["c"])
    np.testing.assert_array_equal(gradients["h"], factors[1])
    np.testing.assert_array_equal(gradients["c"], factors[2])
    for key in ("gates_input", "recurrent_kernel", "projection_kernel"):
        assert gradients[key].shape == floats[key].shape
        np.testing.assert_array_equal(gradients[key], 0.0)


@pytest.mark.skipif(
    keras.backend.backend() == "jax", reason="JAX has no float64 unless asked at start"
)
def test_equals_finite_differences():
    mask, floats = arguments(4, 5, True, True, "float64")
    factors = made_factors(4, 5, True, (0, 1, 2), "float64")

    def run(values):
        return results_and_gradients(
            backend.projected_lstm, mask, values, CLIPS, factors
        )

    _, gradients = run(floats)
    rng = np.random.default_rng(9)
    for key, x in floats.items():
        direction = rng.normal(size=x.shape)
        step = 1e-6
        ends = [
            sum(
                (result * factor).sum()
                for result, factor in zip(
                    run({**floats, key: x + sign * step * direction})[0],
                    factors,
                    strict=True,
                )
            )
            for sign in (1, -1)
        ]
        np.testing.assert_allclose(
            (gradients[key] * direction).sum(),
            (ends[0] - ends[1]) / (2 * step),
            rtol=1e-7,
            atol=1e-8,
            err_msg=key,
        )


# Which ways of running `fit` each backend has.
WAYS = {
    "jax": [{"jit_compile": True}, {"jit_compile": False}],
    "tensorflow": [
        {"jit_compile": True},
        {"jit_compile": False},
        {"run_eagerly": True, "jit_compile": False},
    ],
    "torch": [{"jit_compile": False}],
}


@pytest.mark.parametrize("way", WAYS[keras.backend.backend()])
def test_trains_compiled_and_not(way):
    inputs = keras.Input((None, 3))
    outputs = ProjectedLSTM(CELLS, SIZE, cell_clip=0.4)(inputs)
    model = keras.Model(inputs, outputs)
    before = [ops.convert_to_numpy(w) for w in model.weights]
    model.compile("sgd", "mse", **way)
    x = np.ones((4, 6, 3), "float32")
    model.fit(x, np.ones((4, 6, SIZE), "float32"), batch_size=2, verbose=0)
    for weight, old in zip(model.weights, before, strict=True):
        new = ops.convert_to_numpy(weight)
        assert np.isfinite(new).all()
        assert (new != old).any(), weight.path


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sixteen_bits_keep_the_cell_state_in_float32(dtype):
    mask, floats = arguments(4, 5, True, True)
    tensors = {
        name: ops.cast(x, "float32" if name == "c" else dtype)
        for name, x in floats.items()
    }
    outputs, h, c = backend.projected_lstm(
        mask=ops.convert_to_tensor(mask), **tensors, **CLIPS
    )
    wanted = [dtype, dtype, "float32"]
    assert [keras.backend.standardize_dtype(x.dtype) for x in (outputs, h, c)] == wanted
    exact, _, _ = backend.projected_lstm(
        mask=ops.convert_to_tensor(mask),
        **{name: ops.convert_to_tensor(x) for name, x in floats.items()},
        **CLIPS,
    )
    np.testing.assert_allclose(
        ops.convert_to_numpy(ops.cast(outputs, "float32")),
        ops.convert_to_numpy(exact),
        atol=0.03,
    )


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="TensorFlow's file format"
)
def test_a_saved_graph_has_the_gradient_too(tmp_path):
    tf = importlib.import_module("tensorflow")
    inputs, mask = keras.Input((None, 3)), keras.Input((None,), dtype="bool")
    outputs = ProjectedLSTM(CELLS, SIZE, **CLIPS)(inputs, mask=mask)
    model = keras.Model([inputs, mask], outputs)
    model.export(tmp_path, verbose=False)
    loaded = tf.saved_model.load(tmp_path)
    x = tf.random.stateless_normal((5, 4, 3), (1, 2))
    real = tf.constant(made_mask(4, 5)[..., 0].T)
    found = []
    for function in (model, loaded.serve):
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.reduce_sum(function([x, real]) ** 2)
        found.append([total, tape.gradient(total, x)])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
