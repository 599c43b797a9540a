"""The task's weighted sum of biLM layers."""

import math

import keras
from keras import ops

from keras_elmo import checks

# A weight of 0 has no logarithm; this one is lost in float32 beside a weight of 1.
_SMALLEST_WEIGHT = 1e-8


@keras.saving.register_keras_serializable(package="keras_elmo")
class ScalarMix(keras.layers.Layer):
    """Learned weighted sum of biLM layers: `gamma * sum_j softmax(s)_j * h_j`.

    Args:
        layer_norm: bool. Normalise each layer first, with one mean and one variance
            over all real tokens of the batch (epsilon 1e-12): a sentence's vector
            then depends on the batch it is in. This is bilm-tf's `do_layer_norm`;
            AllenNLP counts the sentence markers in, which is this layer on vectors
            that hold them. Computed in float32 whatever the dtype policy.
        initial_weights: floats of at least 0 that sum to 1, the weights after the
            softmax, or None for equal ones.
        initial_gamma: float, the scale to start from.
        learn_weights: bool. False keeps the weights as they are and learns gamma
            alone.
        regularizer: keras regularizer of `s`, the weights before the softmax.
            bilm-tf's `l2_coef` is `keras.regularizers.L2(l2_coef)`.

    Call arguments:
        inputs: float, (batch, num_layers + 1, time, dim).
        mask: bool, (batch, time), True on real tokens, or None for all.

    Returns:
        float in the compute dtype, (batch, time, dim); exactly 0 where `mask` is
        False.

    Raises:
        ValueError: when `inputs` has not 4 axes, or another number of layers than
            `initial_weights`.

    Reference: Peters et al. 2018, equation 1; bilm-tf `bilm/elmo.py`,
    `weight_layers`; AllenNLP `ScalarMix`.

    Example:
    ```python
    mix = keras_elmo.ScalarMix(initial_weights=[0.2, 0.5, 0.3])
    vectors = mix(keras.ops.ones((2, 3, 5, 8)))  # (2, 5, 8)
    weights, gamma = mix.mix_weights, mix.gamma
    ```
    """

    def __init__(
        self,
        layer_norm=False,
        initial_weights=None,
        initial_gamma=1.0,
        learn_weights=True,
        regularizer=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.layer_norm = bool(layer_norm)
        self.initial_weights = (
            None
            if initial_weights is None
            else checks.mix_weights("initial_weights", initial_weights)
        )
        self.initial_gamma = float(initial_gamma)
        self.learn_weights = bool(learn_weights)
        self.regularizer = keras.regularizers.get(regularizer)

    def build(self, input_shape):
        if len(input_shape) != 4:
            raise ValueError(
                checks.received(
                    "inputs", input_shape, "of shape (batch, num_layers + 1, time, dim)"
                )
            )
        number = input_shape[1]
        values = [0.0] * number
        if self.initial_weights is not None:
            weights = checks.mix_weights(
                "initial_weights", self.initial_weights, number
            )
            values = [math.log(max(weight, _SMALLEST_WEIGHT)) for weight in weights]
        self.scalars = self.add_weight(
            name="scalars",
            shape=(number,),
            initializer=lambda shape, dtype=None: ops.convert_to_tensor(values, dtype),
            regularizer=self.regularizer,
            autocast=False,
            trainable=self.learn_weights,
        )
        self._gamma = self.add_weight(
            name="gamma",
            shape=(),
            initializer=keras.initializers.Constant(self.initial_gamma),
            autocast=False,
        )

    def call(self, inputs, mask=None):
        real = None if mask is None else mask[:, None, :, None]
        weights = self._softmax()
        layers = ops.cast(inputs, "float32")
        if self.layer_norm:
            layers = self._normalize(layers, real)
        mixed = ops.sum(weights[None, :, None, None] * layers, axis=1)
        mixed = ops.cast(self._gamma, "float32") * mixed
        if mask is not None:
            mixed = ops.where(mask[:, :, None], mixed, ops.zeros_like(mixed))
        return ops.cast(mixed, self.compute_dtype)

    def _softmax(self):
        scalars = ops.cast(self.scalars, "float32")
        # Keras warns of a softmax over one number.
        return ops.softmax(scalars) if scalars.shape[0] > 1 else ops.ones_like(scalars)

    def _normalize(self, layers, real):
        if real is None:
            real = ops.ones_like(layers[:, :1, :, :1], dtype="bool")
        real = ops.cast(real, "float32")
        # A batch of padding only has no mean: any divisor but 0 will do.
        count = ops.maximum(ops.sum(real) * layers.shape[-1], 1.0)
        axes = (0, 2, 3)
        mean = ops.sum(layers * real, axis=axes, keepdims=True) / count
        centered = layers - mean
        variance = ops.sum(ops.square(centered * real), axis=axes, keepdims=True)
        return centered / ops.sqrt(variance / count + 1e-12)

    @property
    def mix_weights(self):
        """The weights after the softmax: NumPy float32, (num_layers + 1,), sum 1."""
        return ops.convert_to_numpy(self._softmax())

    @property
    def gamma(self):
        """The scale of the sum: a Python float."""
        return float(ops.convert_to_numpy(self._gamma))

    def compute_mask(self, inputs, mask=None):
        return mask

    def compute_output_shape(self, input_shape):
        return (input_shape[0], *input_shape[2:])

    def get_config(self):
        config = super().get_config()
        config.update(
            layer_norm=self.layer_norm,
            initial_weights=self.initial_weights,
            initial_gamma=self.initial_gamma,
            learn_weights=self.learn_weights,
            regularizer=keras.regularizers.serialize(self.regularizer),
        )
        return config
