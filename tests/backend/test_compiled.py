"""A compiled function reads variables as they are at the call, and compiles once."""

import keras
import numpy as np

from keras_elmo import CRF, backend


def test_values_of_now_are_read():
    scale = keras.Variable(2.0)
    traced = []

    def function(x, y):
        traced.append(1)
        return x * scale + y

    run = backend.compiled(function, [scale])
    ones = keras.ops.ones((2, 3))
    results = []
    for value in (2.0, 5.0, 5.0):
        scale.assign(value)
        results.append(keras.ops.convert_to_numpy(run(ones, ones)))
    np.testing.assert_array_equal(results[0], np.full((2, 3), 3.0))
    np.testing.assert_array_equal(results[1], np.full((2, 3), 6.0))
    compiles = keras.backend.backend() in ("tensorflow", "jax")
    assert len(traced) == (1 if compiles else 3)
    assert run(keras.ops.ones((4, 1)), keras.ops.ones((4, 1))).shape == (4, 1)


def test_a_crf_decodes_as_it_does_uncompiled():
    crf = CRF(4)
    crf.build((None, None, 4))
    rng = np.random.default_rng(0)
    run = backend.compiled(crf.decode, crf.variables)
    mask = keras.ops.convert_to_tensor(np.arange(6) < np.array([[6], [3]]))
    for _ in range(2):
        crf.set_weights([rng.normal(size=w.shape) for w in crf.weights])
        for batch in (2, 1):
            scores = rng.normal(size=(batch, 6, 4)).astype("float32")
            arguments = keras.ops.convert_to_tensor(scores), mask[:batch]
            np.testing.assert_array_equal(
                keras.ops.convert_to_numpy(run(*arguments)),
                keras.ops.convert_to_numpy(crf.decode(*arguments)),
            )
