"""`train_task`: what it refuses, and that a run that fails leaves nothing."""

import keras
import numpy as np
import pytest

from keras_elmo.tasks.command import train_task
from keras_elmo.tasks.kinds import TASKS
from tests.tasks.task_files import PARTS, changes, names, save_preset, write_files

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    return save_preset(tmp_path_factory.mktemp("train_task") / "preset")


@pytest.fixture
def files(tmp_path):
    """Texts and their labels; what is made lies beside their folder."""
    folder = tmp_path / "files"
    folder.mkdir()
    return write_files(folder, "text-classifier")


def test_what_exists_is_kept_unless_told(preset, files, tmp_path):
    output = tmp_path / "out.keras"
    output.write_text("mine")
    arguments = ("text-classifier", files["train"], files["dev"], output)
    options = {"model": preset, "verbose": False}
    with pytest.raises(FileExistsError, match="--overwrite"):
        train_task(*arguments, **options, changes=changes(epochs=1))
    # A run that fails replaces nothing either.
    with np.errstate(all="ignore"), pytest.raises(ArithmeticError):
        train_task(
            *arguments, **options, changes=changes(learning_rate=1e30), overwrite=True
        )
    assert output.read_text() == "mine" and names(tmp_path) == ["files", "out.keras"]
    train_task(*arguments, **options, changes=changes(epochs=1), overwrite=True)
    assert keras.saving.load_model(output).classes == ["b", "l", "s"]
    assert names(tmp_path) == ["files", "out.keras"]


def refused(error, told, tmp_path, *arguments, **options):
    """A run fails with an error that tells something, and leaves nothing."""
    before = names(tmp_path)
    with np.errstate(all="ignore"), pytest.raises(error) as raised:
        train_task(*arguments, **{"verbose": False, **options})
    text = str(raised.value)
    assert told in text and text.count("\n") == 0
    assert names(tmp_path) == before


@pytest.mark.parametrize(
    "change, error, told",
    [
        ({"task": "tagger"}, ValueError, "task='tagger'"),
        ({"output": "out.h5"}, ValueError, "a .keras file"),
        ({"output": "out"}, ValueError, "a .keras file"),
        ({"output": "no/where/out.keras"}, FileNotFoundError, "does not exist"),
        ({"train": "no.tsv"}, FileNotFoundError, "no.tsv"),
        ({"dev": "no.tsv"}, FileNotFoundError, "no.tsv"),
        ({"test": "no.tsv"}, FileNotFoundError, "no.tsv"),
        ({"model": None}, ValueError, "`--model` and `--word-vectors`"),
        ({"word_vectors": "random"}, ValueError, "`--model` and `--word-vectors`"),
        ({"model": "nowhere"}, FileNotFoundError, "nowhere"),
        ({"changes": ["epoch=3"]}, ValueError, "Did you mean 'epochs'"),
        ({"changes": ["epochs=many"]}, ValueError, "epochs='many'"),
        ({"changes": ["epochs"]}, ValueError, "NAME=VALUE"),
        ({"changes": ["epochs=0"]}, ValueError, "epochs=0"),
        ({"changes": ["dropout=1"]}, ValueError, "dropout=1.0"),
        ({"changes": ["kind=deep"]}, ValueError, "kind='deep'"),
        ({"changes": ["layers=all"]}, ValueError, "layers='all'"),
        ({"changes": ["layers=9"]}, ValueError, "layers=9"),
        ({"changes": ["num_mixes=3"]}, ValueError, "num_mixes=3"),
        ({"changes": ["dtype=float3"]}, ValueError, "float3"),
        ({"changes": ["encoding=klingon"]}, ValueError, "encoding='klingon'"),
    ],
)
def test_a_wrong_argument_is_told_and_leaves_nothing(
    change, error, told, preset, files, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    options = {
        "task": "text-classifier",
        "train": files["train"],
        "dev": files["dev"],
        "output": "out.keras",
        "model": preset,
        **change,
    }
    refused(error, told, tmp_path, **options)


@pytest.mark.parametrize("part", ["train", "dev", "test"])
@pytest.mark.parametrize(
    "task, text, told",
    [
        ("token-classifier", "", "holds no sentence"),
        ("text-classifier", "\n\n", "holds no examples"),
        ("pair-classifier", "", "holds no examples"),
        ("question-answering", '{"data": []}', "holds no question"),
        ("question-answering", "", "line 1"),
    ],
)
def test_a_file_without_examples_is_told(task, text, told, part, preset, tmp_path):
    paths = write_files(tmp_path, task)
    paths[part].write_text(text)
    options = {**paths, "model": preset, "output": tmp_path / "out.keras"}
    refused(ValueError, told, tmp_path, task, **options)
    refused(ValueError, paths[part].name, tmp_path, task, **options)


def test_one_class_is_nothing_to_learn(preset, tmp_path):
    for task, text in (
        ("token-classifier", "a X\nb X\n"),
        ("text-classifier", "a\tX\n"),
    ):
        path = tmp_path / task
        path.write_text(text)
        output = tmp_path / "out.keras"
        for options in ({"model": preset}, {"word_vectors": "random"}):
            refused(
                ValueError,
                "classes=['X']",
                tmp_path,
                task,
                path,
                path,
                output,
                **options,
            )


@pytest.mark.parametrize("part", ["dev", "test"])
def test_pairs_mark_tokens_in_every_file_or_in_none(part, preset, tmp_path):
    for targets in (True, False):
        paths = write_files(tmp_path, "pair-classifier", targets=targets)
        other = tmp_path / "other"
        other.mkdir(exist_ok=True)
        paths[part] = write_files(other, "pair-classifier", targets=not targets)[part]
        refused(
            *(ValueError, "must both mark a token", tmp_path, "pair-classifier"),
            **{**paths, "model": preset, "output": tmp_path / "out.keras"},
        )


def test_a_file_of_another_task_is_told(preset, files, tmp_path):
    for task in ("pair-classifier", "question-answering"):
        refused(
            *(ValueError, "train.tsv", tmp_path, task),
            *(files["train"], files["dev"], tmp_path / "out.keras"),
            model=preset,
        )


def test_a_test_part_that_cannot_be_scored_leaves_no_file(
    preset, files, tmp_path, monkeypatch
):
    kind = TASKS["text-classifier"]

    def score(model, inputs, examples, batch_size):
        if len(examples) == PARTS["test"]:
            raise ValueError("no scores")
        return {"accuracy": 0.5}

    monkeypatch.setattr(kind, "score", score)
    refused(
        *(ValueError, "no scores", tmp_path, "text-classifier"),
        **{**files, "model": preset, "output": tmp_path / "out.keras"},
        changes=changes(epochs=1),
    )
