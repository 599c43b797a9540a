"""Task models as SavedModels: what they say is what Python says."""

import os

import keras
import numpy as np
import pytest

if os.environ.get("KERAS_BACKEND", "tensorflow") != "tensorflow":
    pytest.skip("runs once, with the TensorFlow backend", allow_module_level=True)
tf = pytest.importorskip("tensorflow")

import keras_elmo  # noqa: E402
from keras_elmo.export import export_saved_model  # noqa: E402
from keras_elmo.tasks.encoding import encode  # noqa: E402
from keras_elmo.tasks.predict import class_rows  # noqa: E402
from tests.models_for_tests import character_backbone, word_backbone  # noqa: E402

TEXTS = ["the river bank .", "", "it \u65e5\u672c rains", "word " * 40]


def exported(model, folder):
    told = export_saved_model(model, folder)
    loaded = tf.saved_model.load(told["directory"])
    return loaded, told


def call(loaded, signature="default", **inputs):
    tensors = {name: tf.constant(value) for name, value in inputs.items()}
    outputs = loaded.signatures[signature](**tensors)
    return {name: value.numpy() for name, value in outputs.items()}


slow = pytest.mark.slow


@pytest.mark.parametrize("crf", [pytest.param(False, marks=slow), True])
def test_tags(crf, tmp_path):
    classes = ["O", "B-x", "I-x"]
    options = {"crf": True, "scheme": "IOB2"} if crf else {}
    model = keras_elmo.ElmoTokenClassifier(
        character_backbone(), classes, rnn_dim=5, **options
    )
    for weight in model.weights:
        if weight.path.startswith("crf"):
            weight.assign(np.random.default_rng(1).normal(size=weight.shape))
    expected = model.predict_tags(TEXTS)
    loaded, told = exported(model, tmp_path)
    assert told["custom_ops"] == []
    outputs = call(loaded, strings=TEXTS)
    for row, text in enumerate(TEXTS):
        tokens = text.split()
        n = len(tokens)
        assert outputs["sequence_len"][row] == n
        assert [t.decode() for t in outputs["tokens"][row, :n]] == tokens
        assert [t.decode() for t in outputs["labels"][row, :n]] == expected[row]
        assert (outputs["labels"][row, n:] == b"").all()
        odds = outputs["probabilities"][row]
        np.testing.assert_allclose(odds[:n].sum(axis=-1), 1.0, atol=1e-4)
        assert (odds[n:] == 0).all()
    table = [["the", "bank", "."], ["rains", "", ""]]
    tagged = call(loaded, "tokens", tokens=table, sequence_len=[3, 1])
    told = [[t.decode() for t in row if t] for row in tagged["labels"]]
    assert told == model.predict_tags([table[0], table[1][:1]])
    assert call(loaded, strings=[""])["labels"].shape == (1, 0)


def test_classes_of_texts(tmp_path):
    model = keras_elmo.ElmoTextClassifier(word_backbone(), ["bad", "good"], rnn_dim=5)
    loaded, _ = exported(model, tmp_path)
    outputs = call(loaded, strings=TEXTS)
    assert [t.decode() for t in outputs["label"]] == model.predict_classes(TEXTS)
    tokens = encode(model, [text.split() for text in TEXTS])
    scores = class_rows(model, {"tokens": tokens})
    odds = np.exp(scores - scores.max(-1, keepdims=True))
    odds /= odds.sum(-1, keepdims=True)
    np.testing.assert_allclose(outputs["probabilities"], odds, atol=1e-5)
    # A model server takes outputs apart by their rows: each has all of them.
    assert outputs["classes"].tolist() == [[b"bad", b"good"]] * len(TEXTS)


@pytest.mark.parametrize("targets", [pytest.param(False, marks=slow), True])
def test_classes_of_pairs(targets, tmp_path):
    model = keras_elmo.ElmoPairClassifier(
        character_backbone(), ["no", "yes"], targets=targets, rnn_dim=5
    )
    pairs: dict = {"first": TEXTS, "second": TEXTS[::-1]}
    if targets:
        pairs["first_target"], pairs["second_target"] = [1, 0, 2, 3], [0, 1, 0, 1]
    loaded, _ = exported(model, tmp_path)
    outputs = call(loaded, **pairs)
    assert [t.decode() for t in outputs["label"]] == model.predict_classes(pairs)


@pytest.mark.parametrize(
    "tokenizer", [pytest.param("whitespace", marks=slow), "unicode"]
)
def test_answers(tokenizer, tmp_path):
    model = keras_elmo.ElmoQuestionAnswering(
        character_backbone(), rnn_dim=5, tokenizer=tokenizer, max_answer_tokens=3
    )
    questions = ["Who sang?", "Where ?", "", "What is it?"]
    contexts = ["The choir (of men) sang, loudly.", "", "x", "It is Dr. Smith's."]
    expected = model.answer(questions, contexts)
    loaded, told = exported(model, tmp_path)
    ops = ["RegexSplitWithOffsets"] if tokenizer == "unicode" else []
    assert told["custom_ops"] == ops
    outputs = call(loaded, question=questions, context=contexts)
    assert [t.decode() for t in outputs["answer"]] == expected
    assert outputs["start"][1] == outputs["end"][1] == -1
    assert (outputs["end"] - outputs["start"] < 3).all()
    empty = call(loaded, question=["Who?"], context=[""])
    assert empty["answer"].tolist() == [b""]


def test_a_model_of_ones_own_is_refused(tmp_path):
    inputs = keras.Input((3,))
    model = keras.Model(inputs, keras.layers.Dense(2)(inputs))
    with pytest.raises(ValueError, match="`model` must be"):
        export_saved_model(model, tmp_path)
