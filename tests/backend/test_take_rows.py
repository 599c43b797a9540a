"""Rows of a table: a row that is taken several times has one gradient, their sum."""

import keras
import numpy as np

from keras_elmo import backend


class Rows(keras.layers.Layer):
    def build(self, input_shape):
        self.table = self.add_weight(shape=(4, 2), initializer="zeros", name="table")

    def call(self, inputs):
        return backend.take_rows(self.table, inputs)


def test_clipping_and_squares_see_the_sum_of_a_rows_gradients():
    """Adagrad by hand: the gradient is (3, 3), clipped to a norm of 1."""
    layer = Rows()
    model = keras.Sequential([keras.Input((3,), dtype="int32"), layer])
    model.compile(
        optimizer=keras.optimizers.Adagrad(
            1.0, initial_accumulator_value=1.0, epsilon=0.0, global_clipnorm=1.0
        ),
        loss=lambda _, y: keras.ops.sum(y),
    )
    ids = np.array([[2, 2, 2]], "int32")
    assert model.predict_on_batch(ids).shape == (1, 3, 2)
    model.train_on_batch(ids, np.zeros((1, 3, 2), "float32"))
    gradient = 3 / np.sqrt(18)
    expected = np.zeros((4, 2))
    expected[2] = -gradient / np.sqrt(1 + gradient**2)
    found = keras.ops.convert_to_numpy(layer.table)
    np.testing.assert_allclose(found, expected, atol=1e-6)
