"""Checks that every layer passes, and a reload in another process."""

import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import keras
import numpy as np
from keras import ops, tree

CHECKOUT = pathlib.Path(__file__).resolve().parent.parent
BACKENDS = ("tensorflow", "jax", "torch")
DTYPE_POLICIES = ("float32", "mixed_float16", "mixed_bfloat16")


def check_layer(
    cls,
    init_kwargs,
    inputs,
    expected_output_shape,
    expected_num_trainable_weights,
    *,
    expected_num_non_trainable_weights=0,
    call_kwargs=None,
    symbolic_shape=None,
    dtype_policies=DTYPE_POLICIES,
    float32_outputs=(),
    batched_outputs=True,
    save=True,
):
    """Check what has to hold for any layer.

    Args:
        cls: the layer class.
        init_kwargs: dict, what it is made with.
        inputs: NumPy array, or a structure of them: the first call argument.
        expected_output_shape: tuple, or a structure of tuples like the outputs.
        expected_num_trainable_weights: int.
        expected_num_non_trainable_weights: int.
        call_kwargs: dict, more call arguments: arrays become inputs of the models
            that are made, anything else is passed as it is.
        symbolic_shape: shape of `inputs` with None where a size is unknown when a
            model is made. Defaults to None for the batch alone.
        dtype_policies: names; their compute dtype must be that of float outputs.
        float32_outputs: positions, among the flat outputs, of those that are float32
            whatever the policy.
        batched_outputs: bool, whether each output's first axis is the batch; the
            steps that go through `fit` and `predict` need it.
        save: bool, whether a functional model of the layer is saved and loaded.
    """
    call_kwargs = dict(call_kwargs or {})
    _check_config(cls, init_kwargs)
    layer = cls(**init_kwargs)
    outputs = layer(to_tensors(inputs), **to_tensors(call_kwargs))
    assert _shapes(outputs) == _shape_list(expected_output_shape)
    assert layer.built
    assert len(layer.trainable_weights) == expected_num_trainable_weights
    assert len(layer.non_trainable_weights) == expected_num_non_trainable_weights
    for policy in dtype_policies:
        _check_dtypes(
            cls, init_kwargs, inputs, call_kwargs, policy, set(float32_outputs)
        )
    _check_unknown_batch(cls, init_kwargs, inputs, call_kwargs, symbolic_shape, outputs)
    if batched_outputs:
        _check_compiled(cls, init_kwargs, inputs, call_kwargs)
    if save:
        _check_saved(cls, init_kwargs, inputs, call_kwargs)


def to_tensors(structure):
    """The structure with each NumPy array as a tensor of the backend."""
    return tree.map_structure(
        lambda x: ops.convert_to_tensor(x) if _is_array(x) else x, structure
    )


def to_arrays(structure):
    """The tensors of a structure as a flat list of NumPy arrays."""
    return [ops.convert_to_numpy(x) for x in tree.flatten(structure)]


def assert_all_close(actual, expected, atol, rtol):
    """Two structures have the same tensors, in the same order."""
    actual, expected = to_arrays(actual), to_arrays(expected)
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(
            one.astype("float64"), other.astype("float64"), atol=atol, rtol=rtol
        )


def next_backend():
    """Another backend than this run's: over the three runs, each is loaded in once."""
    return BACKENDS[(BACKENDS.index(keras.config.backend()) + 1) % len(BACKENDS)]


def reload_elsewhere(path, inputs, backend):
    """Outputs of a `.keras` file in a new process on another backend.

    Each call costs the start of a framework, seconds: for a few tests only.

    Args:
        path: of the `.keras` file.
        inputs: NumPy array, or a list or dict of them.
        backend: "tensorflow", "jax" or "torch".

    Returns:
        flat list of NumPy arrays, in the order of `keras.tree.flatten`.
    """
    program = """
import sys
import keras, numpy as np
import keras_elmo
path, folder, kind = sys.argv[1:]
stored = np.load(folder + "/inputs.npz")
inputs = {name: stored[name] for name in stored.files}
if kind != "dict":
    inputs = [inputs[str(n)] for n in range(len(inputs))]
if kind == "array":
    inputs = inputs[0]
inputs = keras.tree.map_structure(keras.ops.convert_to_tensor, inputs)
outputs = keras.saving.load_model(path)(inputs)
np.savez(
    folder + "/outputs.npz",
    *[keras.ops.convert_to_numpy(x) for x in keras.tree.flatten(outputs)],
)
"""
    kind = "array"
    named = {"0": inputs}
    if isinstance(inputs, dict):
        kind, named = "dict", inputs
    elif isinstance(inputs, (list, tuple)):
        kind, named = "list", {str(n): x for n, x in enumerate(inputs)}
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/inputs.npz", **named)
        run_python(program, str(path), folder, kind, backend=backend)
        with np.load(f"{folder}/outputs.npz") as stored:
            return [stored[f"arr_{n}"] for n in range(len(stored.files))]


def run_python(program, *arguments, backend=None, **environment):
    """Run a program in a new process; its standard output.

    Args:
        program: str, Python source.
        arguments: strings, its `sys.argv[1:]`.
        backend: its KERAS_BACKEND. Defaults to this run's.
        environment: more environment variables.
    """
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={
            **os.environ,
            "KERAS_BACKEND": backend or keras.config.backend(),
            "TF_CPP_MIN_LOG_LEVEL": "2",
            **environment,
        },
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-8000:]
    return done.stdout


def _is_array(x):
    return isinstance(x, np.ndarray)


def _shapes(structure):
    return [tuple(x.shape) for x in tree.flatten(structure)]


def _shape_list(expected):
    """A shape, or a structure of shapes, as a flat list of tuples."""
    if isinstance(expected, dict):
        expected = list(expected.values())
    if isinstance(expected, tuple) and all(
        size is None or isinstance(size, int) for size in expected
    ):
        return [expected]
    return [shape for part in expected for shape in _shape_list(part)]


def _dtypes(structure):
    return [keras.backend.standardize_dtype(x.dtype) for x in tree.flatten(structure)]


def _is_float(x):
    return "float" in keras.backend.standardize_dtype(x.dtype)


def _check_config(cls, init_kwargs):
    layer = cls(**init_kwargs)
    config = layer.get_config()
    missing = sorted(set(init_kwargs) - set(config))
    assert not missing, f"get_config lacks {missing}"
    # What a file holds is JSON: a tuple that comes back as a list must do too.
    stored = json.loads(json.dumps(config))
    again = cls.from_config(copy.deepcopy(stored))
    assert type(again) is cls
    assert json.loads(json.dumps(again.get_config())) == stored
    serialized = keras.saving.serialize_keras_object(layer)
    assert serialized["registered_name"] == f"keras_elmo>{cls.__name__}"
    assert type(keras.saving.deserialize_keras_object(serialized)) is cls


def _check_dtypes(cls, init_kwargs, inputs, call_kwargs, policy, float32_outputs):
    """Float outputs have the compute dtype, and a symbolic call says the same."""
    layer = cls(**{**init_kwargs, "dtype": policy})
    outputs = layer(to_tensors(inputs), **to_tensors(call_kwargs))
    compute_dtype = keras.DTypePolicy(policy).compute_dtype
    for position, output in enumerate(tree.flatten(outputs)):
        if _is_float(output):
            wanted = "float32" if position in float32_outputs else compute_dtype
            dtype = keras.backend.standardize_dtype(output.dtype)
            assert dtype == wanted, f"{policy}: output {position}: {dtype}"
            array = ops.convert_to_numpy(ops.cast(output, "float32"))
            assert np.isfinite(array).all()
    for weight in layer.weights:
        if "float" in weight.dtype:
            assert weight.dtype == "float32", weight.path

    def symbolic(x):
        return keras.KerasTensor(x.shape, x.dtype.name) if _is_array(x) else x

    spec = cls(**{**init_kwargs, "dtype": policy})(
        tree.map_structure(symbolic, inputs),
        **tree.map_structure(symbolic, call_kwargs),
    )
    assert _shapes(spec) == _shapes(outputs)
    assert _dtypes(spec) == _dtypes(outputs)


def _functional(layer, inputs, call_kwargs, symbolic_shape=None):
    """A functional model whose inputs are all arrays, `inputs` first."""

    def placeholder(x):
        if not _is_array(x):
            return x
        shape = (None, *x.shape[1:])
        if symbolic_shape is not None and x is inputs:
            shape = symbolic_shape
        return keras.Input(batch_shape=shape, dtype=x.dtype.name)

    first = tree.map_structure(placeholder, inputs)
    more = tree.map_structure(placeholder, call_kwargs)
    outputs = layer(first, **more)
    tensors = [
        x for x in tree.flatten([first, more]) if isinstance(x, keras.KerasTensor)
    ]
    return keras.Model(tensors, outputs)


def _feed(inputs, call_kwargs):
    return [
        ops.convert_to_tensor(x)
        for x in tree.flatten([inputs, call_kwargs])
        if _is_array(x)
    ]


def _check_unknown_batch(
    cls, init_kwargs, inputs, call_kwargs, symbolic_shape, outputs
):
    """What is unknown when a model is made may be any size later."""
    model = _functional(cls(**init_kwargs), inputs, call_kwargs, symbolic_shape)
    symbolic, eager = _shapes(model.outputs), _shapes(outputs)
    assert len(symbolic) == len(eager)
    for spec, shape in zip(symbolic, eager, strict=True):
        assert len(spec) == len(shape)
        for size, actual in zip(spec, shape, strict=True):
            assert size in (None, actual), (spec, shape)
    assert _shapes(model(_feed(inputs, call_kwargs))) == eager


class MeanOutput(keras.Model):
    """One number a row: something to fit whatever the layer returns."""

    def __init__(self, layer, inputs, call_kwargs):
        super().__init__()
        self.layer = layer
        self.structure = [inputs, call_kwargs]

    def call(self, data):
        fed = iter(data)
        inputs, call_kwargs = tree.map_structure(
            lambda x: next(fed) if _is_array(x) else x, self.structure
        )
        outputs = tree.flatten(self.layer(inputs, **call_kwargs))
        rows = [ops.cast(x, "float32") for x in outputs]
        rows = [ops.reshape(x, (ops.shape(x)[0], -1)) for x in rows]
        return ops.mean(ops.concatenate(rows, axis=-1), axis=-1, keepdims=True)


def _check_compiled(cls, init_kwargs, inputs, call_kwargs):
    """`predict` equals a plain call, and one step of `fit` changes the weights."""
    layer = cls(**init_kwargs)
    model = MeanOutput(layer, inputs, call_kwargs)
    data = _feed(inputs, call_kwargs)
    expected = to_arrays(model(data))[0]
    arrays = to_arrays(data)
    # Compiled code adds up in another order.
    np.testing.assert_allclose(
        model.predict(arrays, verbose=0), expected, atol=1e-5, rtol=1e-5
    )
    if not layer.trainable_weights:
        return
    before = to_arrays(layer.trainable_weights)
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse")
    history = model.fit(arrays, expected + 1.0, epochs=1, verbose=0)
    assert np.isfinite(history.history["loss"]).all()
    after = to_arrays(layer.trainable_weights)
    assert all(np.isfinite(array).all() for array in after)
    assert any((old != new).any() for old, new in zip(before, after, strict=True))


def _check_saved(cls, init_kwargs, inputs, call_kwargs):
    """A `.keras` file gives the same outputs."""
    model = _functional(cls(**init_kwargs), inputs, call_kwargs)
    data = _feed(inputs, call_kwargs)
    expected = model(data)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.keras")
        model.save(path)
        # The same numbers in the same order: equal to the bit.
        assert_all_close(keras.saving.load_model(path)(data), expected, 0, 0)
