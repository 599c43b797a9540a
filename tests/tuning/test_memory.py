"""What is left of a trial's model on TensorFlow; other backends: test_long_searches."""

import gc
import importlib

import keras
import numpy as np
import pytest

from keras_elmo.layers.projected_lstm import ProjectedLSTM
from keras_elmo.tuning import BiLMHyperModel
from keras_elmo.tuning.memory import trial_memory
from tests.tuning.test_hypermodels import FIXED, SEARCHED, values_of

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="of what TensorFlow keeps"
)


def train():
    """A step of a model whose gradient is written by hand."""
    model = keras.Sequential([keras.Input((3, 4)), ProjectedLSTM(2, dtype="float32")])
    model.compile(loss="mse", optimizer="sgd", jit_compile=False)
    model.fit(np.ones((2, 3, 4)), np.ones((2, 3, 2)), verbose=0)


def graphs():
    """How many graphs of functions there are."""
    gc.collect()
    return sum(type(one).__name__ == "FuncGraph" for one in gc.get_objects())


def test_a_trial_leaves_no_graph():
    known = importlib.import_module("keras_elmo.backend.tensorflow_memory").known
    with trial_memory():
        train()
    before, names = graphs(), known()
    train()
    # What TensorFlow does by itself; when it no longer does, there is less to free.
    assert graphs() > before and known() > names
    others, names = graphs(), known()
    with trial_memory():
        train()
        assert known() > names
    # Those of others stay: a gradient may still be wanted of them.
    assert known() == names and graphs() <= others


def test_programs_that_stay_in_memory_are_not_compiled(corpus, held_out):
    fixed = {name: value for name, value in FIXED.items() if name not in SEARCHED}
    made = BiLMHyperModel(corpus, held_out, "tiny", fixed, SEARCHED, list(SEARCHED))
    assert not made.build(values_of(made)).jit_compile
