"""What task models say of text: tags, classes, answers."""

import keras
import numpy as np

from keras_elmo import backend
from keras_elmo.tasks.batches import TaskBatches
from keras_elmo.tasks.encoding import encode
from keras_elmo.tasks.squad import best_span, tokenize_with_offsets


def run(model, inputs, batch_size=32):
    """A model's outputs for every example.

    Args:
        model: a task model.
        inputs: dict of inputs by name, as `TaskBatches` takes them.
        batch_size: int.

    Yields:
        (rows, x, outputs) of each batch: the examples' numbers, and arrays whose first
        `len(rows)` rows are theirs.

    Raises:
        FloatingPointError: when a score is NaN or infinite: there is no best of such.
    """
    batches = TaskBatches(inputs, batch_size=batch_size)
    for rows, index in zip(batches.plan, range(len(batches)), strict=True):
        x = batches[index]
        outputs = model.predict_on_batch(x)
        # `not (...)` also refuses NaN; -inf stands where a text has no token.
        if not all((output < np.inf).all() for output in keras.tree.flatten(outputs)):
            raise FloatingPointError("The model's scores are NaN or infinite.")
        yield rows, x, outputs


def tag_rows(model, encoded, batch_size=32):
    """The best tags of each sentence: list of int32 arrays, rows of `classes`."""
    crf = None if model.crf is None else CompiledCRF.of(model)
    tags = [np.zeros(0, "int32")] * len(encoded.lengths)
    for rows, _, scores in run(model, {"tokens": encoded}, batch_size):
        lengths = encoded.lengths[rows]
        mask = np.zeros(scores.shape[:2], bool)
        for row, length in zip(mask, lengths, strict=False):
            row[:length] = True
        best = scores.argmax(axis=-1) if crf is None else crf(scores, mask)
        for row, n, tagged in zip(rows, lengths, best, strict=False):
            tags[row] = tagged[:n]
    return tags


class CompiledCRF:
    """A CRF's `decode`, of arrays to an array.

    Args:
        crf: `CRF`.
    """

    def __init__(self, crf):
        self._decode = backend.compiled(crf.decode, crf.variables)

    @classmethod
    def of(cls, model):
        """The one of a token classifier, made when first asked for."""
        # No layer, or the model would save the CRF twice.
        if getattr(model, "_compiled_crf", None) is None:
            model._compiled_crf = cls(model.crf)
        return model._compiled_crf

    def __call__(self, scores, mask):
        tensors = map(keras.ops.convert_to_tensor, (scores, mask))
        return keras.ops.convert_to_numpy(self._decode(*tensors))


def class_rows(model, inputs, batch_size=32):
    """The scores of each text or pair: float32, (examples, classes)."""
    encoded = next(iter(inputs.values()))
    scores = np.zeros((len(encoded.lengths), len(model.classes)), "float32")
    for rows, _, output in run(model, inputs, batch_size):
        scores[rows] = output[: len(rows)]
    return scores


def spans(model, inputs, batch_size=32):
    """The best span of each text: list of (first token, last token), None for none."""
    lengths = inputs["context"].lengths
    found: list = [None] * len(lengths)
    for rows, _, output in run(model, inputs, batch_size):
        start, end = (np.asarray(output[name]) for name in ("start", "end"))
        for i, row in enumerate(rows):
            if n := lengths[row]:
                found[row] = best_span(
                    start[i, :n], end[i, :n], model.max_answer_tokens
                )
    return found


def predict_tags(model, sentences, batch_size=32):
    """See `ElmoTokenClassifier.predict_tags`."""
    rows = tag_rows(model, encode(model, _tokens(model, sentences)), batch_size)
    return [[model.classes[tag] for tag in row] for row in rows]


def predict_classes(model, texts, batch_size=32):
    """See `ElmoTextClassifier.predict_classes`; `texts` by the input's name."""
    inputs = {
        name: np.asarray(values, "int32")
        if name.endswith("_target")
        else encode(model, _tokens(model, values))
        for name, values in texts.items()
    }
    scores = class_rows(model, inputs, batch_size)
    return [model.classes[best] for best in scores.argmax(axis=-1)]


def predict_answers(model, questions, contexts, batch_size=32):
    """See `ElmoQuestionAnswering.answer`."""
    questions, contexts = list(questions), list(contexts)
    if len(questions) != len(contexts):
        raise ValueError(
            f"`contexts` must be one a question (={len(questions)}). Received: "
            f"{len(contexts)}."
        )
    split = [tokenize_with_offsets(text, model.tokenizer) for text in contexts]
    asked = [tokenize_with_offsets(text, model.tokenizer)[0] for text in questions]
    inputs = {
        "question": encode(model, asked),
        "context": encode(model, [tokens for tokens, _ in split]),
    }
    return [
        answer_text(text, offsets, span)
        for text, (_, offsets), span in zip(
            contexts, split, spans(model, inputs, batch_size), strict=True
        )
    ]


def answer_text(text, offsets, span):
    """The part of a text from one token to another; "" for no span."""
    if span is None:
        return ""
    return text[offsets[span[0]][0] : offsets[span[1]][1]]


def _tokens(model, sentences):
    """Texts split as the model's preprocessor does; token lists as they are."""
    if isinstance(sentences, str):  # its letters would pass for texts
        raise TypeError(f"Texts must come in a list. Received: {sentences[:80]!r}.")
    split = model.preprocessor.tokenizer
    return [split(s) if isinstance(s, str) else s for s in sentences]
