"""An LSTM in both directions, as the task models read a sentence."""

import keras
from keras import ops


# Not keras.layers.Bidirectional: it clones the layer it is given by way of its config,
# and while a model is being loaded Keras takes two objects with one `id()` for the same
# object, though the first was freed long ago. Loading then failed once in many runs.
@keras.saving.register_keras_serializable(package="keras_elmo")
class BidirectionalLSTM(keras.layers.Layer):
    """Both directions of an LSTM, each token's two states side by side.

    The backward direction begins at each sentence's last token: padding, which comes
    behind it, is passed over and gets zeros.

    Args:
        units: int, of each direction.
        **kwargs: of `keras.layers.Layer`.

    Call arguments:
        inputs: float, (batch, time, dim).
        mask: bool, (batch, time), or None where all are tokens.

    Returns:
        float, (batch, time, 2 units): forward first.
    """

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.supports_masking = True
        self.forward_layer, self.backward_layer = (
            keras.layers.LSTM(
                units,
                return_sequences=True,
                zero_output_for_mask=True,
                go_backwards=go_backwards,
                dtype=self.dtype_policy,
                name=name,
            )
            for name, go_backwards in (("forward", False), ("backward", True))
        )

    def build(self, input_shape):
        for layer in (self.forward_layer, self.backward_layer):
            layer.build(input_shape)

    def call(self, inputs, mask=None, training=None):
        forward = self.forward_layer(inputs, mask=mask, training=training)
        backward = self.backward_layer(inputs, mask=mask, training=training)
        # Keras gives the states in the order in which they were computed.
        return ops.concatenate([forward, ops.flip(backward, axis=1)], axis=-1)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], 2 * self.units)

    def get_config(self):
        return {**super().get_config(), "units": self.units}
