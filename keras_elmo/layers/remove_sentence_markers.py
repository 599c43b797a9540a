"""Takes the vectors of `<S>` and `</S>` out of a batch again."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_elmo")
class RemoveSentenceMarkers(keras.layers.Layer):
    """Undoes `AddSentenceMarkers` on what was computed from its ids.

    Call arguments:
        inputs: list of floats, each (batch, time + 2, dim).
        mask: list of bools, each (batch, time + 2), True on tokens and markers.

    Returns:
        list of floats, each (batch, time, dim), exactly 0 where no token is; the
        mask that goes with them is True on tokens only.

    Reference: bilm-tf `bilm/model.py`, `BidirectionalLanguageModel`; AllenNLP
    `remove_sentence_boundaries`.

    Example:
    ```python
    framed = keras.ops.ones((1, 4, 3))
    mask = keras.ops.array([[True, True, True, False]])
    (vectors,) = keras_elmo.RemoveSentenceMarkers()([framed], mask=[mask])
    # (1, 2, 3): the first is 1, the second 0
    ```
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs, mask=None):
        if mask is None or mask[0] is None:
            raise ValueError(
                "`mask` must say where tokens and markers are. Received: mask=None."
            )
        is_token = ops.expand_dims(self._token_mask(mask[0]), axis=-1)
        tokens = [x[:, 1:-1] for x in inputs]
        return [ops.where(is_token, x, ops.zeros_like(x)) for x in tokens]

    def _token_mask(self, mask):
        # Counted with cumsum: masks are computed on symbolic tensors too, whose
        # length `ops.arange` could not take.
        positions = ops.cumsum(ops.ones_like(mask, dtype="int32"), axis=1)
        ends = positions * ops.cast(mask, "int32")
        end = ops.max(ends, axis=1, keepdims=True, initial=0)
        is_token = ops.logical_and(mask, ops.less(positions, end))
        return is_token[:, 1:-1]

    def compute_mask(self, inputs, mask=None):
        if mask is None or mask[0] is None:
            return None
        return [self._token_mask(mask[0])] * len(inputs)

    def compute_output_spec(self, inputs, mask=None):
        shapes = self.compute_output_shape([x.shape for x in inputs])
        return [
            keras.KerasTensor(shape, dtype=x.dtype)
            for x, shape in zip(inputs, shapes, strict=True)
        ]

    def compute_output_shape(self, input_shape):
        return [
            (batch, None if time is None else time - 2, dim)
            for batch, time, dim in input_shape
        ]
