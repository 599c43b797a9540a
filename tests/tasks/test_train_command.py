"""`train_task`: from files to a `.keras` file that scores what was reported."""

import json

import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.tasks.command import train_task
from keras_elmo.tasks.encoding import StoredLayers
from keras_elmo.tasks.kinds import TASKS
from keras_elmo.tasks.squad_score import exact_match, f1
from tests.tasks.task_files import (
    PARTS,
    changes,
    names,
    save_preset,
    sentences,
    tag,
    write_files,
)

once = pytest.mark.once


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    return save_preset(tmp_path_factory.mktemp("train_task") / "preset")


@pytest.fixture
def files(tmp_path):
    """Texts and their labels; what is made lies beside their folder."""
    folder = tmp_path / "files"
    folder.mkdir()
    return write_files(folder, "text-classifier")


def lines(path):
    return [line.split("\t") for line in path.read_text("utf-8").splitlines()]


def scores_of_a_file(model, task, path):
    """What a loaded model scores on a file, read and scored by hand."""
    if task == "token-classifier":
        blocks = path.read_text("utf-8").split("\n\n")
        rows = [
            [line.split() for line in block.split("\n") if line] for block in blocks
        ]
        gold = [label for row in rows for _, label in row]
        told = model.predict_tags([[token for token, _ in row] for row in rows])
        told = [label for row in told for label in row]
        right = sum(a == b for a, b in zip(gold, told, strict=True))
        return {"accuracy": right / len(gold)}
    if task == "question-answering":
        paragraphs = json.loads(path.read_text("utf-8"))["data"][0]["paragraphs"]
        entries = [paragraph["qas"][0] for paragraph in paragraphs]
        told = model.answer(
            [entry["question"] for entry in entries],
            [paragraph["context"] for paragraph in paragraphs],
        )
        gold = [entry["answers"][0]["text"] for entry in entries]
        pairs = list(zip(told, gold, strict=True))
        found = [[exact_match(*pair), f1(*pair)] for pair in pairs]
        exact, overlap = 100.0 * np.array(found).sum(axis=0) / len(found)
        return {"exact_match": exact, "f1": overlap}
    *texts, gold = zip(*lines(path), strict=True)
    if len(texts) == 1:
        told = model.predict_classes(list(texts[0]))
    else:
        told = model.predict_classes(dict(zip(("first", "second"), texts, strict=True)))
    right = [a == b for a, b in zip(told, gold, strict=True)]
    return {"accuracy": sum(right) / len(right)}


# One task is enough on the other backends; without an RNN it compiles fast.
@pytest.mark.parametrize(
    "task",
    [task if task[:5] == "token" else pytest.param(task, marks=once) for task in TASKS],
)
def test_the_file_scores_what_was_reported(task, preset, tmp_path, capsys):
    paths = write_files(tmp_path, task)
    output = tmp_path / "out.keras"
    summary = train_task(
        *(task, paths["train"], paths["dev"], output),
        model=preset,
        test=paths["test"],
        changes=changes(num_rnn_layers=0),
    )
    told = capsys.readouterr()
    assert told.out == ""
    epochs = [line for line in told.err.splitlines() if line.startswith("epoch ")]
    assert len(epochs) == summary["dev_epochs"]
    assert {part: summary[f"{part}_examples"] for part in PARTS} == PARTS
    json.dumps(summary, allow_nan=False)
    assert names(tmp_path) == ["dev" + paths["dev"].suffix, "out.keras"] + [
        part + paths["dev"].suffix for part in ("test", "train")
    ]

    model = keras.saving.load_model(output)
    assert type(model) is TASKS[task].model_class
    for part in ("dev", "test"):
        for name, value in scores_of_a_file(model, task, paths[part]).items():
            assert summary[f"{part}_{name}"] == pytest.approx(value, abs=1e-9)
    # The mix that is told is the file's, and was learned; the biLM is the preset's.
    elmo = model.embedding
    assert summary["mix_weights"] == elmo.mix_weights.tolist()
    assert summary["gamma"] == elmo.gamma != 1.0
    before = keras_elmo.ElmoBackbone.from_preset(preset).get_weights()
    for old, new in zip(before, elmo.backbone.get_weights(), strict=True):
        assert old.tobytes() == new.tobytes()


@once
def test_the_scores_are_the_files_not_those_of_stored_layers(
    preset, tmp_path, monkeypatch, capsys
):
    # Stored layers are rounded; here so much that it shows.
    real = StoredLayers.batch
    monkeypatch.setattr(StoredLayers, "batch", lambda *arguments: -real(*arguments))
    paths = write_files(tmp_path, "token-classifier")
    output = tmp_path / "out.keras"
    summary = train_task(
        *("token-classifier", paths["train"], paths["dev"], output),
        model=preset,
        test=paths["test"],
        changes=changes(num_rnn_layers=0, learning_rate=0.1),
    )
    model = keras.saving.load_model(output)
    for part in ("dev", "test"):
        found = scores_of_a_file(model, "token-classifier", paths[part])
        assert summary[f"{part}_accuracy"] == pytest.approx(found["accuracy"])
    # What training saw was something else.
    assert f"accuracy {summary['dev_accuracy']:.4g} " not in capsys.readouterr().err


@once
def test_a_biLM_that_was_tuned_is_in_the_file(preset, files, tmp_path):
    output = tmp_path / "out.keras"
    summary = train_task(
        *("text-classifier", files["train"], files["dev"], output),
        model=preset,
        changes=changes(fine_tune="true", frozen_epochs=0, num_mixes=2),
        verbose=False,
    )
    model = keras.saving.load_model(output)
    found = scores_of_a_file(model, "text-classifier", files["dev"])
    assert summary["dev_accuracy"] == found["accuracy"]
    assert summary["mix_weights"] == [w.tolist() for w in model.embedding.mix_weights]
    assert summary["gamma"] == model.embedding.gamma and len(summary["gamma"]) == 2
    before = keras_elmo.ElmoBackbone.from_preset(preset).get_weights()
    after = model.embedding.backbone.get_weights()
    assert any((old != new).any() for old, new in zip(before, after, strict=True))
    # No optimizer's slots, which would make the file three times as large.
    assert not model.compiled


@once
def test_random_vectors_take_the_biLMs_place(files, tmp_path):
    output = tmp_path / "out.keras"
    summary = train_task(
        *("text-classifier", files["train"], files["dev"], output),
        word_vectors="random",
        test=files["test"],
        changes=changes(embedding_dim=7),
        verbose=False,
    )
    assert "mix_weights" not in summary and "gamma" not in summary
    model = keras.saving.load_model(output)
    assert model.embedding.output_dim == 7
    for part in ("dev", "test"):
        found = scores_of_a_file(model, "text-classifier", files[part])
        assert summary[f"{part}_accuracy"] == found["accuracy"]
    assert model.predict_classes(["words that training never saw", ""])


@once
def test_a_tagger_learns_its_tags(tmp_path):
    paths = write_files(tmp_path, "token-classifier")
    output = tmp_path / "out.keras"
    summary = train_task(
        *("token-classifier", paths["train"], paths["dev"], output),
        word_vectors="random",
        test=paths["test"],
        changes=changes(epochs=12, patience=12, learning_rate=0.05),
        verbose=False,
    )
    # Each word has one tag.
    assert summary["test_accuracy"] == summary["test_f1"] == 1.0
    model, found = keras.saving.load_model(output), sentences(5, 9)
    assert model.predict_tags(found) == [[tag(token) for token in row] for row in found]


@once
@pytest.mark.parametrize("task", ["token-classifier", "question-answering"])
def test_vectors_of_a_file_take_the_biLMs_place(task, tmp_path, capsys):
    paths = write_files(tmp_path, task)
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("the 0.1 0.2 0.3\ndog 1 2 3\nriver -1 0 0.5\nelse 9 9 9\n")
    output = tmp_path / "out.keras"
    summary = train_task(
        *(task, paths["train"], paths["dev"], output),
        word_vectors=vectors,
        changes=changes(epochs=1),
        verbose=False,
    )
    assert "3 of " in capsys.readouterr().err
    model = keras.saving.load_model(output)
    vocabulary = model.preprocessor.tokenizer.vocabulary
    (row,) = vocabulary.ids(["dog"])
    table = model.embedding.get_weights()[0]
    # The file's vectors are held still.
    np.testing.assert_array_equal(table[row], [1, 2, 3])
    for name, value in scores_of_a_file(model, task, paths["dev"]).items():
        assert summary[f"dev_{name}"] == pytest.approx(value, abs=1e-9)


@once
def test_word_vectors_split_text_as_in_training(tmp_path):
    rows = [("It's a dog,not so?", "a"), ("(The river!)", "b")] * 4
    path = tmp_path / "texts.tsv"
    path.write_text("".join(f"{text}\t{label}\n" for text, label in rows))
    train_task(
        *("text-classifier", path, path, tmp_path / "out.keras"),
        word_vectors="random",
        changes=changes(epochs=1, tokenizer="unicode"),
        verbose=False,
    )
    model = keras.saving.load_model(tmp_path / "out.keras")
    assert model.preprocessor.tokenizer("dog,not") == ["dog", ",", "not"]


@once
def test_the_dtype_that_was_set_is_the_files(preset, files, tmp_path):
    train_task(
        *("text-classifier", files["train"], files["dev"], tmp_path / "out.keras"),
        model=preset,
        changes=changes(epochs=1, dtype="mixed_bfloat16"),
        verbose=False,
    )
    model = keras.saving.load_model(tmp_path / "out.keras")
    assert model.get_layer("integrator").compute_dtype == "bfloat16"


@once
def test_the_tokenizer_that_was_set_is_the_files(preset, tmp_path):
    rows = [("It's a dog,not so?", "a"), ("(The river!)", "b")] * 4
    path = tmp_path / "texts.tsv"
    path.write_text("".join(f"{text}\t{label}\n" for text, label in rows))
    summary = train_task(
        *("text-classifier", path, path, tmp_path / "out.keras"),
        model=preset,
        changes=changes(epochs=1, tokenizer="unicode"),
        verbose=False,
    )
    model = keras.saving.load_model(tmp_path / "out.keras")
    assert model.preprocessor.tokenizer("dog,not") == ["dog", ",", "not"]
    found = scores_of_a_file(model, "text-classifier", path)
    assert summary["dev_accuracy"] == found["accuracy"]


@once
def test_tags_of_a_scheme_are_learned_with_a_crf(preset, tmp_path):
    paths = write_files(tmp_path, "token-classifier")
    summary = train_task(
        *("token-classifier", paths["train"], paths["dev"], tmp_path / "out.keras"),
        model=preset,
        changes=changes(crf="true", scheme="IOBES", epochs=1, layers="top"),
        verbose=False,
    )
    model = keras.saving.load_model(tmp_path / "out.keras")
    assert model.classes == ["B-x", "E-x", "O"]  # the things end what "the" begins
    assert {tag(token) for token in sentences(1, 0)[0]} == {"B-x", "I-x", "O"}
    assert 0.0 <= summary["dev_f1"] <= 1.0
    # The scheme holds whatever was learned: what begins ends.
    for row in model.predict_tags(sentences(5, 7)):
        text = " ".join(row)
        assert text.count("B-x E-x") == text.count("B-x") == text.count("E-x")
    # One layer alone: the mix that is told says so.
    assert summary["mix_weights"] == [0.0, 0.0, 1.0]
