"""Puts `<S>` and `</S>` around each sentence of a batch of ids."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_elmo")
class AddSentenceMarkers(keras.layers.Layer):
    """Adds each row's begin marker before it and its end marker after its last token.

    Args:
        begin: int, or list of C ints: the begin marker's id or character ids.
        end: the same for the end marker.

    Call arguments:
        inputs: int, (batch, time) ids or (batch, time, C) character ids; 0 is
            padding.

    Returns:
        int, (batch, time + 2) or (batch, time + 2, C). A row of padding only becomes
        its two markers.

    Reference: bilm-tf `bilm/data.py`, `Batcher`; AllenNLP
    `add_sentence_boundary_token_ids`.

    Example:
    ```python
    ids = keras_elmo.AddSentenceMarkers(1, 2)(keras.ops.array([[7, 8], [9, 0]]))
    # [[1, 7, 8, 2], [1, 9, 2, 0]]
    ```
    """

    def __init__(self, begin, end, **kwargs):
        super().__init__(**kwargs)
        self.begin = begin
        self.end = end

    def call(self, inputs):
        is_token = ops.not_equal(inputs, 0)
        if len(inputs.shape) == 3:
            is_token = ops.any(is_token, axis=-1)
        dtype = keras.backend.standardize_dtype(inputs.dtype)
        padding = ops.zeros((ops.shape(inputs)[0], 1, *inputs.shape[2:]), dtype=dtype)
        begin = padding + ops.cast(ops.array(self.begin), dtype)
        end = padding + ops.cast(ops.array(self.end), dtype)
        framed = ops.concatenate([begin, inputs, padding], axis=1)
        positions = ops.arange(ops.shape(inputs)[1], dtype="int32") + 1
        # Counted to the last token, not over the tokens, so that a row padded on the
        # left keeps its last words.
        zero = ops.zeros_like(positions)
        lengths = ops.max(
            ops.where(is_token, positions, zero), axis=1, keepdims=True, initial=0
        )
        is_end = ops.equal(ops.arange(ops.shape(framed)[1], dtype="int32"), lengths + 1)
        if len(inputs.shape) == 3:
            is_end = ops.expand_dims(is_end, axis=-1)
        return ops.where(is_end, end, framed)

    def compute_output_spec(self, inputs):
        time = inputs.shape[1]
        time = None if time is None else time + 2
        return keras.KerasTensor(
            (inputs.shape[0], time, *inputs.shape[2:]), dtype=inputs.dtype
        )

    def compute_output_shape(self, input_shape):
        time = None if input_shape[1] is None else input_shape[1] + 2
        return (input_shape[0], time, *input_shape[2:])

    def get_config(self):
        config = super().get_config()
        config.update(begin=self.begin, end=self.end)
        return config
