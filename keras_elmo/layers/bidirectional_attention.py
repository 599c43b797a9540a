"""What a question has for a text, and the text for that."""

import keras
from keras import ops

from keras_elmo.layers.attend import NEVER, masked_softmax


@keras.saving.register_keras_serializable(package="keras_elmo")
class BidirectionalAttention(keras.layers.Layer):
    """Each token of a text with what the question has for it, and the text for that.

    Call arguments:
        inputs: list of the text, (batch, time, dim), and the question,
            (batch, time', dim).
        mask: list of their masks, bool, or None.

    Returns:
        float, (batch, time, 4 dim), with the text's mask: the token; the question's
        tokens that are like it; the token times those; and the token times the text's
        tokens that are most like the question.

    Reference: Seo et al. 2017 (BiDAF), section 2, "attention flow layer".
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape):
        dim = input_shape[0][-1]
        for name in ("text", "question", "product"):
            weight = self.add_weight(shape=(dim,), name=f"{name}_weight")
            setattr(self, f"{name}_weight", weight)
        self.bias = self.add_weight(shape=(), initializer="zeros", name="bias")

    def call(self, inputs, mask=None):
        text, question = inputs
        text_mask, question_mask = (None, None) if mask is None else mask
        # A trilinear score, w . [t; q; t * q], without the tensor of all pairs.
        scores = ops.matmul(text * self.product_weight, ops.swapaxes(question, 1, 2))
        scores = scores + ops.sum(text * self.text_weight, -1, keepdims=True)
        scores = scores + ops.sum(question * self.question_weight, -1)[:, None]
        scores = ops.cast(scores + self.bias, "float32")
        to_question = masked_softmax(scores, question_mask)
        asked = ops.matmul(ops.cast(to_question, question.dtype), question)
        if question_mask is not None:
            scores = ops.where(question_mask[:, None], scores, NEVER)
        best = ops.max(scores, axis=-1)[:, None]
        to_text = ops.cast(masked_softmax(best, text_mask), text.dtype)
        told = ops.matmul(to_text, text)
        return ops.concatenate([text, asked, text * asked, text * told], axis=-1)

    def compute_mask(self, inputs, mask=None):
        return None if mask is None else mask[0]

    def compute_output_shape(self, input_shape):
        shape = input_shape[0]
        return (*shape[:-1], 4 * shape[-1])
