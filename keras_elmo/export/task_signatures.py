"""The graphs of a task model's SavedModel: text in, labels and odds out.

TensorFlow only; see `keras_elmo.export.export_saved_model`.
"""

import tensorflow as tf

from keras_elmo.models.elmo_pair_classifier import ElmoPairClassifier
from keras_elmo.models.elmo_question_answering import ElmoQuestionAnswering
from keras_elmo.models.elmo_text_classifier import ElmoTextClassifier
from keras_elmo.models.elmo_token_classifier import ElmoTokenClassifier
from keras_elmo.text.elmo_tokenizer import ElmoTokenizer
from keras_elmo.text.graph import (
    GraphEncoder,
    rows_of,
    unicode_tokenize_with_offsets,
)


def strings(name):
    """The spec of an input of texts, (batch,)."""
    return tf.TensorSpec((None,), tf.string, name)


def integers(name):
    """The spec of an input of numbers, (batch,)."""
    return tf.TensorSpec((None,), tf.int32, name)


def task_signatures(model, tokenizer=None):
    """A task model's signatures by name: (function, specs); and its tables.

    Args:
        model: a task model.
        tokenizer: "whitespace" or "unicode", or None for the model's own.
    """
    config = model.preprocessor.tokenizer.get_config()
    if isinstance(model, ElmoQuestionAnswering):
        config["splitter"] = model.tokenizer
    if tokenizer is not None:
        config["splitter"] = tokenizer
    split = ElmoTokenizer(**config, vocabulary=model.preprocessor.tokenizer.vocabulary)
    encode = GraphEncoder(split)
    makers = {
        ElmoTokenClassifier: _tagger,
        ElmoTextClassifier: _text_classifier,
        ElmoPairClassifier: _pair_classifier,
        ElmoQuestionAnswering: _answerer,
    }
    for cls, make in makers.items():
        if isinstance(model, cls):
            return make(model, encode), encode.resources
    raise ValueError(
        "`model` must be one of keras_elmo's task models. Received: "
        f"{type(model).__name__}."
    )


def _padded(ids):
    """Ids with one position of padding behind: Keras' LSTMs need a step to run."""
    return tf.pad(ids, [[0, 0], [0, 1]] + [[0, 0]] * (ids.shape.rank - 2))


def _tagger(model, encode):
    classes = tf.constant(model.classes)

    def tag(rows):
        ids = encode(rows)
        scores = model(_padded(ids), training=False)[:, :-1]
        lengths = tf.cast(rows.row_lengths(), tf.int32)
        mask = tf.sequence_mask(lengths, tf.shape(ids)[1])
        best = model.decode(scores, mask)
        odds = (
            tf.nn.softmax(tf.cast(scores, tf.float32))
            if model.crf is None
            else model.crf.marginals(scores, mask)
        )
        return {
            "tokens": rows.to_tensor(""),
            "labels": tf.where(mask, tf.gather(classes, best), ""),
            "probabilities": tf.where(mask[..., None], odds, 0.0),
            "sequence_len": lengths,
        }

    def default(strings):
        return tag(encode.tokens(strings))

    def tokens(tokens, sequence_len):
        return tag(rows_of(tokens, sequence_len))

    table = tf.TensorSpec((None, None), tf.string, "tokens")
    return {
        "default": (default, [strings("strings")]),
        "tokens": (tokens, [table, integers("sequence_len")]),
    }


def _classes(model, scores):
    odds = tf.nn.softmax(tf.cast(scores, tf.float32))
    best = tf.argmax(odds, axis=-1)
    classes = tf.constant(model.classes)
    return {
        "label": tf.gather(classes, best),
        "probabilities": odds,
        # Once a row: a model server takes outputs apart by their rows, all of them.
        "classes": tf.broadcast_to(classes, tf.shape(odds)),
    }


def _text_classifier(model, encode):
    def default(strings):
        return _classes(model, model(_padded(encode(strings)), training=False))

    return {"default": (default, [strings("strings")])}


def _pair_classifier(model, encode):
    def default(first, second):
        ids = {"first": _padded(encode(first)), "second": _padded(encode(second))}
        return _classes(model, model(ids, training=False))

    def marked(first, second, first_target, second_target):
        ids = {
            "first": _padded(encode(first)),
            "second": _padded(encode(second)),
            "first_target": first_target,
            "second_target": second_target,
        }
        return _classes(model, model(ids, training=False))

    specs = [strings("first"), strings("second")]
    if not model.targets:
        return {"default": (default, specs)}
    specs += [integers("first_target"), integers("second_target")]
    return {"default": (marked, specs)}


def _answerer(model, encode):
    is_unicode = encode.splitter == "unicode"

    def default(question, context):
        if is_unicode:
            rows, begins, ends, context = unicode_tokenize_with_offsets(context)
        else:
            rows = encode.tokens(context)
        context_ids = encode(rows)
        ids = {"question": _padded(encode(question)), "context": _padded(context_ids)}
        scores = model(ids, training=False)
        start, end, value = _best_spans(
            scores["start"], scores["end"], model.max_answer_tokens
        )
        found = tf.greater(rows.row_lengths(), 0)
        if is_unicode:
            begins, ends = (_padded(x.to_tensor()) for x in (begins, ends))
            first = tf.gather(begins, start, batch_dims=1)
            last = tf.gather(ends, end, batch_dims=1)
            answer = tf.strings.substr(context, first, last - first)
        else:
            places = tf.range(tf.shape(context_ids)[1])[None]
            inside = (places >= start[:, None]) & (places <= end[:, None])
            chosen = tf.ragged.boolean_mask(rows.to_tensor(""), inside)
            answer = tf.strings.reduce_join(chosen, axis=1, separator=" ")
        return {
            "answer": tf.where(found, answer, ""),
            "start": tf.where(found, start, -1),
            "end": tf.where(found, end, -1),
            "score": value,
        }

    return {"default": (default, [strings("question"), strings("context")])}


def _best_spans(start, end, most):
    """The best span of each row, as `keras_elmo.tasks.squad.best_span` finds it.

    Args:
        start: float32, (batch, time), scores of first tokens.
        end: float32, (batch, time), scores of last tokens.
        most: int, tokens of a span at most.

    Returns:
        int32 (batch,) first and last token, and float32 (batch,) their log odds.
    """
    start, end = tf.nn.log_softmax(start), tf.nn.log_softmax(end)
    time = tf.shape(start)[1]
    longer = tf.range(time)[None] - tf.range(time)[:, None]
    allowed = (longer >= 0) & (longer < most)
    pairs = start[:, :, None] + end[:, None, :]
    pairs = tf.where(allowed[None], pairs, pairs.dtype.min)
    flat = tf.reshape(pairs, [tf.shape(start)[0], -1])
    best = tf.argmax(flat, axis=-1, output_type=tf.int32)
    value = tf.gather(flat, best, batch_dims=1)
    return tf.math.floordiv(best, time), tf.math.floormod(best, time), value
