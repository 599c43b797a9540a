"""One highway layer, with bilm-tf's carry sign."""

import keras
from keras import ops

from keras_elmo import backend


@keras.saving.register_keras_serializable(package="keras_elmo")
class Highway(keras.layers.Layer):
    """`y = g * relu(x W_t + b_t) + (1 - g) * x` with `g = sigmoid(x W_c + b_c)`.

    The gate that the published files call "carry" opens the *transformed* part.
    The activation is relu whatever the character CNN's own activation is.

    Call arguments:
        inputs: float, (..., dim).

    Returns:
        float in the compute dtype, (..., dim).

    Reference: Srivastava et al. 2015; bilm-tf `bilm/model.py`, `high`.

    Example:
    ```python
    outputs = keras_elmo.Highway()(keras.ops.ones((2, 8)))
    ```
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape):
        dim = input_shape[-1]
        # bilm-tf `bilm/training.py`: normal(1/sqrt(dim)); the gate starts at
        # sigmoid(-2) = 0.12, so that the layer begins close to the identity.
        kernel_initializer = keras.initializers.RandomNormal(stddev=dim**-0.5)
        self.transform_kernel = self.add_weight(
            name="transform_kernel", shape=(dim, dim), initializer=kernel_initializer
        )
        self.transform_bias = self.add_weight(
            name="transform_bias", shape=(dim,), initializer="zeros"
        )
        self.carry_kernel = self.add_weight(
            name="carry_kernel",
            shape=(dim, dim),
            initializer=keras.initializers.RandomNormal(stddev=dim**-0.5),
        )
        self.carry_bias = self.add_weight(
            name="carry_bias",
            shape=(dim,),
            initializer=keras.initializers.Constant(-2.0),
        )

    def call(self, inputs):
        gate = ops.sigmoid(backend.product(inputs, self.carry_kernel) + self.carry_bias)
        transformed = ops.relu(
            backend.product(inputs, self.transform_kernel) + self.transform_bias
        )
        return gate * transformed + (1.0 - gate) * inputs

    def compute_output_shape(self, input_shape):
        return input_shape
