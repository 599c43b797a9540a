"""The four task models: learned, saved, put behind stored layers, without ELMo."""

import sys

import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.tasks.batches import TaskBatches
from keras_elmo.tasks.encoding import copy_weights, encode, on_stored_layers
from keras_elmo.tasks.predict import class_rows
from tests.helpers import next_backend, reload_elsewhere, run_python, to_arrays
from tests.models_for_tests import character_backbone, word_backbone

SENTENCES = [["the", "bank", "."], ["river"], ["the", "river", "bank", "."]]
TAGS = np.array([[0, 1, 2, -1], [1, -1, -1, -1], [0, 1, 1, 2]], "int32")
PAIRS = {"first": SENTENCES, "second": SENTENCES[::-1]}
QUESTIONS = {"question": SENTENCES[::-1], "context": SENTENCES}
SPANS = {"start": np.array([1, 0, 2], "int32"), "end": np.array([2, 0, 2], "int32")}
CLASSES = np.array([0, 1, 0], "int32")
TARGETS = {"first_target": [0, 0, 3], "second_target": [1, 0, 2]}

# Name: the class, its arguments, its inputs, its targets.
TASKS = {
    "tokens": (
        keras_elmo.ElmoTokenClassifier,
        {"classes": ["D", "N", "P"]},
        {"tokens": SENTENCES},
        TAGS,
    ),
    "crf": (
        keras_elmo.ElmoTokenClassifier,
        {"classes": ["O", "B-x", "I-x"], "crf": True, "scheme": "IOB2"},
        {"tokens": SENTENCES},
        TAGS,
    ),
    "pooled": (
        keras_elmo.ElmoTextClassifier,
        {"classes": ["a", "b"]},
        {"tokens": SENTENCES},
        CLASSES,
    ),
    "biattentive": (
        keras_elmo.ElmoTextClassifier,
        {"classes": ["a", "b"], "kind": "biattentive"},
        {"tokens": SENTENCES},
        CLASSES,
    ),
    "pairs": (keras_elmo.ElmoPairClassifier, {"classes": ["a", "b"]}, PAIRS, CLASSES),
    "targets": (
        keras_elmo.ElmoPairClassifier,
        {"classes": ["a", "b"], "targets": True},
        {**PAIRS, **TARGETS},
        CLASSES,
    ),
    "answers": (keras_elmo.ElmoQuestionAnswering, {}, QUESTIONS, SPANS),
}
every_task = pytest.mark.parametrize("task", TASKS)
# What is made of the same parts as another is compiled on one backend only.
most_tasks = pytest.mark.parametrize(
    "task",
    [
        pytest.param(task, marks=pytest.mark.once)
        if task not in ("crf", "targets")
        else task
        for task in TASKS
    ],
)


def made(task, embedding=None, **changes):
    cls, arguments, _, _ = TASKS[task]
    if embedding is None:
        embedding = keras_elmo.ElmoEmbedding(character_backbone(), num_mixes=2)
    return cls(embedding, **{"rnn_dim": 16, "dropout": 0.0, **arguments, **changes})


def encoded(model, task):
    return {
        name: np.array(values, "int32")
        if name.endswith("_target")
        else encode(model, values)
        for name, values in TASKS[task][2].items()
    }


def batches(model, task):
    targets = TASKS[task][3]
    if task in ("tokens", "crf"):
        targets = [row[row >= 0] for row in targets]
    return TaskBatches(encoded(model, task), targets, batch_size=3, seed=1)


def outputs(model, task):
    x, _ = batches(model, task)[0]
    return to_arrays(list(keras.tree.flatten(model.predict_on_batch(x))))


@most_tasks
def test_a_model_learns_is_saved_and_loads(task, tmp_path):
    model = made(task)
    data = batches(model, task)
    model.compile(keras.optimizers.Adam(0.03))
    losses = model.fit(data, epochs=24, verbose=0, shuffle=False).history["loss"]
    assert losses[-1] < 0.7 * losses[0]
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    for one, other in zip(outputs(model, task), outputs(loaded, task), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    assert loaded.preprocessor.get_config() == model.preprocessor.get_config()


@every_task
@pytest.mark.once
def test_a_model_loads_whatever_addresses_its_parts_get(task, tmp_path, monkeypatch):
    """While it loads, Keras knows objects by `id()`, also those freed long ago."""
    model = made(task)
    model.save(tmp_path / "model.keras")
    keras_serialization = sys.modules[keras.saving.serialize_keras_object.__module__]
    # The worst that can happen: each object at the address of one before it.
    monkeypatch.setattr(keras_serialization, "id", lambda _: 1, raising=False)
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    for one, other in zip(outputs(model, task), outputs(loaded, task), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@every_task
@pytest.mark.once
def test_a_model_behind_stored_layers_is_the_same(task):
    model = made(task)
    twin = on_stored_layers(model)
    assert len(twin.weights) == len(model.weights) - len(
        model.embedding.backbone.weights
    )
    for one, other in zip(outputs(model, task), outputs(twin, task), strict=True):
        np.testing.assert_allclose(one, other, atol=2e-3)  # float16 in between
    twin.set_weights([w + 0.1 for w in twin.get_weights()])
    copy_weights(twin, model)
    for one, other in zip(outputs(model, task), outputs(twin, task), strict=True):
        np.testing.assert_allclose(one, other, atol=5e-3, rtol=1e-2)


@every_task
@pytest.mark.once
def test_vectors_that_know_no_context_take_the_place_of_elmo(task, tmp_path):
    vocabulary = keras_elmo.text.build_vocabulary(SENTENCES)
    embedding = keras.layers.Embedding(len(vocabulary) + 1, 5, mask_zero=True)
    model = made(task, embedding, vocabulary=vocabulary)
    model.compile("adam")
    model.fit(batches(model, task), verbose=0, shuffle=False)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.preprocessor.tokenizer.vocabulary == vocabulary
    for one, other in zip(outputs(model, task), outputs(loaded, task), strict=True):
        np.testing.assert_array_equal(one, other)


@every_task
@pytest.mark.once
def test_padding_changes_nothing(task):
    model = made(task)
    x, _ = batches(model, task)[0]
    single = not isinstance(x, dict)
    longer = {
        name: np.pad(ids, [(0, 0), (0, 5), (0, 0)]) if ids.ndim == 3 else ids
        for name, ids in ({"tokens": x} if single else x).items()
    }
    before = keras.tree.flatten(model.predict_on_batch(x))
    after = keras.tree.flatten(
        model.predict_on_batch(longer["tokens"] if single else longer)
    )
    lengths = np.array([3, 1, 4])
    order = batches(model, task).plan[0]
    for one, other in zip(to_arrays(before), to_arrays(after), strict=True):
        for row, n in enumerate(lengths[order]):
            if task in ("tokens", "crf", "answers"):
                one_row, other_row = one[row, :n], other[row, :n]
            else:
                one_row, other_row = one[row], other[row]
            np.testing.assert_allclose(one_row, other_row, atol=1e-5)


@every_task
@pytest.mark.once
def test_empty_texts_are_finite(task):
    texts = TASKS[task][2]
    model = made(task)
    inputs = {
        name: np.zeros(2, "int32")
        if name.endswith("_target")
        else encode(model, [[], ["the"]])
        for name in texts
    }
    x = TaskBatches(inputs, batch_size=2)[0]
    for output in to_arrays(list(keras.tree.flatten(model.predict_on_batch(x)))):
        assert np.isfinite(output).all()


@pytest.mark.once
def test_text_goes_in_and_names_come_out():
    tagger = made("crf")
    tags = tagger.predict_tags([["the", "bank"], [], "the river bank"])
    assert [len(row) for row in tags] == [2, 0, 3]
    assert {tag for row in tags for tag in row} <= set(tagger.classes)
    # The scheme allows no inside without a beginning.
    assert all(row[0] != "I-x" for row in tags if row)
    model = made("pooled")
    scores = class_rows(model, {"tokens": encode(model, SENTENCES)})
    expected = [model.classes[i] for i in scores.argmax(-1)]
    assert model.predict_classes(SENTENCES) == expected
    pairs = {"first": ["the bank"], "second": [["a", "river"]]}
    assert made("pairs").predict_classes(pairs)[0] in ("a", "b")
    answers = made("answers").answer(
        ["Who sang?", "Where?", "?"], ["The choir  sang.", "", "x"]
    )
    assert answers[0] in "The choir  sang." and answers[0]
    assert answers[1] == "" and answers[2] == "x"
    with pytest.raises(ValueError, match="one a question"):
        made("answers").answer(["Who?"], [])


@pytest.mark.once
def test_a_biLM_that_is_trained_along_learns():
    elmo = keras_elmo.ElmoEmbedding(character_backbone(), trainable_backbone=True)
    model = made("tokens", elmo)
    before = [np.array(w) for w in elmo.backbone.get_weights()]
    model.compile("adam")
    model.fit(batches(model, "tokens"), verbose=0, shuffle=False)
    after = elmo.backbone.get_weights()
    assert any((a != b).any() for a, b in zip(before, after, strict=True))


@pytest.mark.once
def test_a_model_of_word_input_loads_in_another_process(tmp_path):
    model = made("tokens", word_backbone())
    model.save(tmp_path / "model.keras")
    expected = model.predict_tags(SENTENCES)
    program = """
import sys, json, keras, keras_elmo
print(json.dumps(keras.saving.load_model(sys.argv[1]).predict_tags(json.loads(sys.argv[2]))))
"""
    import json

    told = run_python(program, str(tmp_path / "model.keras"), json.dumps(SENTENCES))
    assert json.loads(told.splitlines()[-1]) == expected


def test_a_crf_model_loads_on_another_backend(tmp_path):
    model = made("crf")
    model.save(tmp_path / "model.keras")
    ids = model.preprocessor(SENTENCES)
    (expected,) = to_arrays(model(ids))
    (elsewhere,) = reload_elsewhere(tmp_path / "model.keras", ids, next_backend())
    np.testing.assert_allclose(elsewhere, expected, atol=1e-5)


@pytest.mark.once
@pytest.mark.parametrize(
    "embedding, error",
    [
        (lambda: keras.layers.Embedding(5, 3), "mask_zero"),
        (
            lambda: keras_elmo.ElmoEmbedding(character_backbone(), layers="all"),
            "layers='all'",
        ),
        (
            lambda: keras_elmo.ElmoEmbedding(character_backbone(), num_mixes=3),
            "num_mixes=3",
        ),
        (lambda: character_backbone(keep_boundaries=True), "keep_boundaries"),
    ],
)
def test_an_embedding_that_fits_no_task_is_refused(embedding, error):
    with pytest.raises(ValueError, match=error):
        made("tokens", embedding())


@pytest.mark.once
def test_words_that_are_no_vocabulary_are_refused():
    table = keras.layers.Embedding(5, 3, mask_zero=True)
    with pytest.raises(TypeError, match="`vocabulary` must be"):
        made("tokens", table, vocabulary=["a", "b"])
    with pytest.raises(TypeError, match="`vocabulary` must be"):
        character_backbone().vocabulary = ["a", "b"]


@pytest.mark.once
@pytest.mark.parametrize("classes", [["a"], ["a", "a"]])
def test_classes_that_are_none_are_refused(classes):
    with pytest.raises(ValueError, match="classes"):
        made("pooled", classes=classes)
    with pytest.raises(TypeError, match="classes"):
        made("pooled", classes="ab")
    with pytest.raises(ValueError, match="kind"):
        made("pooled", kind="deep")


def test_numbers_that_no_class_has_are_refused():
    """On TensorFlow and JAX they were trained on without a word."""
    backbone = character_backbone()
    tagger = keras_elmo.ElmoTokenClassifier(backbone, ["a", "b"], rnn_dim=4)
    tagger.compile("adam")
    ids = tagger.preprocessor([["x", "y"], ["z"]])
    for wrong in (2, -2):
        for call in (tagger.fit, tagger.evaluate):
            with pytest.raises(ValueError, match=f"`y` must be .* 0 to 1.*y={wrong}"):
                call(ids, np.array([[0, 1], [wrong, -1]]), verbose=0)
    with pytest.raises(ValueError, match="`y` must be numbers of classes"):
        tagger.fit(ids, np.array([["a", "b"], ["a", "b"]]), verbose=0)
    tagger.fit(ids, np.array([[0, 1], [1, -1]]), verbose=0)
