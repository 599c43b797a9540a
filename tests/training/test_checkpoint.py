"""A checkpoint's file that says other than it should: refused before it is read."""

import h5py
import numpy as np
import pytest

import keras_elmo
from keras_elmo.training.checkpoint import restore_checkpoint, save_checkpoint
from tests.helpers import to_arrays
from tests.models_for_tests import word_backbone

pytestmark = [
    pytest.mark.once,
    pytest.mark.filterwarnings("ignore:A checkpoint cannot be read:UserWarning"),
]
PACKED = {"maxshape": (None, None), "compression": "gzip"}


@pytest.fixture
def model():
    model = keras_elmo.ElmoBiLM(word_backbone())
    model.compile(optimizer="adagrad")
    model.optimizer.build(model.trainable_variables)
    return model


@pytest.mark.parametrize(
    "declared, told",
    [
        ({"shape": (2**20, 2**20), "dtype": "f4", "chunks": True}, r"\(1048576, 1048"),
        ({"shape": (2**31,), "dtype": "f4"}, r"is \(2147483648,\), expected \(7, 4\)"),
        ({"shape": (7, 4), "dtype": "S300000000"}, "300000000 bytes each"),
        ({"shape": (7, 4), "dtype": h5py.string_dtype()}, "must hold plain numbers"),
        (
            {"shape": (7, 4), "dtype": "f4", "chunks": (2**14, 2**14), **PACKED},
            r"in pieces of \(16384, 16384\)",
        ),
        ({"data": h5py.Empty("f4")}, r"is None, expected \(7, 4\)"),
    ],
)
def test_what_a_checkpoint_declares_is_refused_unread(model, declared, told, tmp_path):
    before = to_arrays(model.weights)
    path = save_checkpoint(model, {"step": 3}, tmp_path) / "state.h5"
    assert restore_checkpoint(model, tmp_path)["step"] == 3
    with h5py.File(path, "r+") as file:
        names = []
        file.visit(names.append)
        name = next(n for n in names if getattr(file[n], "shape", None) == (7, 4))
        del file[name]
        file.create_dataset(name, **declared)
    with pytest.raises(ValueError, match=told) as error:
        restore_checkpoint(model, tmp_path)
    assert f"`{path.parent}`: `{name}`" in str(error.value)
    for one, two in zip(to_arrays(model.weights), before, strict=True):
        np.testing.assert_array_equal(one, two)
