"""A run: what it learns, how it goes on, what stops it."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
import warnings

import h5py
import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.data import Corpus
from keras_elmo.training import (
    perplexity,
    pretrain,
    settings_of,
    unigram_perplexity,
)
from keras_elmo.training.build import build_model, usable_negatives
from keras_elmo.training.checkpoint import find_checkpoints, save_checkpoint
from tests.training.conftest import SETTINGS, WORDS, sentences


def run(corpus, path, changes=None, **options):
    settings = {**SETTINGS, **(changes or {})}
    return pretrain(corpus, path, "tiny", settings, verbose=False, **options)


def log_of(path):
    with open(path / "log.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def last_state(path):
    """{name: array} of the last checkpoint."""
    found = {}
    with h5py.File(find_checkpoints(path / "checkpoints")[-1] / "state.h5") as file:
        file.visititems(
            lambda name, item: found.update(
                {name: item[()]} if isinstance(item, h5py.Dataset) else {}
            )
        )
    return found


def assert_same_state(one, other):
    assert set(one) == set(other)
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)


def test_a_run_learns_and_goes_on_to_the_bit(corpus, held_out, tmp_path):
    """Twelve steps at once, or eight and four: every number is the same."""
    options = {"held_out": held_out}
    run(corpus, tmp_path / "whole", steps=12, **options)
    run(corpus, tmp_path / "parts", steps=6, **options)
    assert [int(row["step"]) for row in log_of(tmp_path / "parts")] == [4, 6]
    run(corpus, tmp_path / "parts", steps=12, **options)
    assert_same_state(last_state(tmp_path / "whole"), last_state(tmp_path / "parts"))
    whole, parts = (log_of(tmp_path / name) for name in ("whole", "parts"))
    assert [int(row["step"]) for row in parts] == [4, 6, 8, 12]
    assert [row["perplexity"] != "" for row in whole] == [False, True, False]
    same = ("step", "epoch", "words", "perplexity", "learning_rate")
    assert [whole[1][name] for name in same] == [parts[2][name] for name in same]
    position = json.loads(
        (
            find_checkpoints(tmp_path / "whole/checkpoints")[-1] / "position.json"
        ).read_text("utf-8")
    )
    assert (position["step"], position["epoch"], position["step_in_epoch"]) == (
        12,
        0,
        12,
    )


@pytest.mark.once
def test_held_out_text_that_is_trained_on_is_told(corpus, tmp_path):
    # Warnings are errors here.
    with pytest.raises(UserWarning, match="60 of the 60 held-out sentences looked"):
        run(corpus, tmp_path / "run", held_out=corpus, steps=1)


@pytest.mark.once
def test_a_whole_run_beats_word_frequencies(corpus, held_out, tmp_path):
    model = run(corpus, tmp_path / "run", {"learning_rate": 0.03, "epochs": 6})
    text = sentences(12, seed=1)
    found = perplexity(model, text, corpus.vocabulary)
    assert found["perplexity"] < 0.6 * unigram_perplexity(
        sentences(), text, corpus.vocabulary
    )
    again = keras_elmo.ElmoBiLM.from_preset(tmp_path / "run" / "preset")
    assert perplexity(again, text, corpus.vocabulary) == pytest.approx(found, rel=1e-6)
    # The state was carried, and is not part of the preset.
    states = model.training_state.states["backward"]
    for h, c in states:
        assert keras.ops.convert_to_numpy(h).any(axis=1).all()
        assert keras.ops.convert_to_numpy(c).any(axis=1).all()
    assert again.training_state is None
    assert len(find_checkpoints(tmp_path / "run" / "checkpoints")) == 2
    # Nothing is left to do: the same command again changes nothing.
    before = last_state(tmp_path / "run")
    run(corpus, tmp_path / "run", {"learning_rate": 0.03, "epochs": 6})
    assert_same_state(before, last_state(tmp_path / "run"))


@pytest.mark.once
def test_a_killed_run_goes_on(corpus, tmp_path):
    """After kill -9 the same command ends where an undisturbed run does."""
    text, path = tmp_path / "text.txt", tmp_path / "killed"
    text.write_text("".join(" ".join(s) + "\n" for s in sentences()), encoding="utf-8")
    program = f"""
import keras_elmo, itertools
from keras_elmo.data import Corpus
from keras_elmo.training import pretrain
lines = [line.split() for line in open({str(text)!r}, encoding="utf-8")]
corpus = Corpus.from_sentences(lines, keras_elmo.text.build_vocabulary(lines))
pretrain(corpus, {str(path)!r}, "tiny", {SETTINGS!r}, verbose=False, steps=10**6)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", program], env=environment)
    deadline = time.monotonic() + 200
    while not find_checkpoints(path / "checkpoints") and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    for folder in (path, path / "checkpoints"):
        (folder / ".tmp-half").mkdir()  # as if killed while writing
    run(corpus, path, steps=16)
    run(corpus, tmp_path / "undisturbed", steps=16)
    assert_same_state(last_state(tmp_path / "undisturbed"), last_state(path))
    assert not list(path.rglob(".tmp-*"))


@pytest.mark.once
@pytest.mark.filterwarnings("ignore:A checkpoint cannot be read:UserWarning")
def test_a_damaged_checkpoint_gives_way_to_the_one_before(corpus, tmp_path):
    run(corpus, tmp_path / "run", steps=8)
    newest = find_checkpoints(tmp_path / "run" / "checkpoints")[-1]
    (newest / "state.h5").write_bytes(b"no longer HDF5")
    run(corpus, tmp_path / "run", steps=12)
    run(corpus, tmp_path / "whole", steps=12)
    assert_same_state(last_state(tmp_path / "whole"), last_state(tmp_path / "run"))


@pytest.mark.once
def test_a_full_disk_leaves_the_last_checkpoint(corpus, tmp_path, monkeypatch):
    run(corpus, tmp_path / "run", steps=4)
    before = last_state(tmp_path / "run")

    def full(path, mode="r", **options):
        if mode == "w":
            raise OSError(28, "No space left on device")
        return h5py_file(path, mode, **options)

    h5py_file = h5py.File

    with monkeypatch.context() as patched:
        patched.setattr("keras_elmo.training.checkpoint.h5py.File", full)
        with pytest.raises(OSError, match=r"No space left.*last good checkpoint is"):
            run(corpus, tmp_path / "run", steps=8)
    assert_same_state(before, last_state(tmp_path / "run"))
    assert len(list((tmp_path / "run" / "checkpoints").iterdir())) == 1


@pytest.mark.once
def test_a_loss_that_is_no_number_stops(corpus, tmp_path):
    changes = {"learning_rate": 1e30, "warmup_steps": 0, "clip_norm": None}
    changes |= {"optimizer": "adagrad", "schedule": "constant", "cell_clip": None}
    changes |= {"proj_clip": None, "checkpoint_steps": 1}
    with pytest.raises(ArithmeticError) as error:
        run(corpus, tmp_path / "run", changes, steps=40)
    text = str(error.value)
    assert "at step 2 (learning rate 1e+30)" in text
    last = find_checkpoints(tmp_path / "run" / "checkpoints")
    assert [path.name for path in last] == ["step-000000001"]
    assert f"The last good checkpoint is `{last[-1]}`" in text


@pytest.mark.once
def test_weights_that_are_no_numbers_are_not_kept(corpus, tmp_path):
    model = run(corpus, tmp_path / "run", steps=4)
    model.softmax.bias.assign(np.full(len(corpus.vocabulary), np.inf, "float32"))
    with pytest.raises(ArithmeticError, match=r"softmax.*bias.*step-000000004"):
        save_checkpoint(model, {"step": 5}, tmp_path / "run" / "checkpoints")
    assert len(find_checkpoints(tmp_path / "run" / "checkpoints")) == 1


@pytest.mark.once
def test_the_schedule_knows_how_long_a_long_sentence_makes_an_epoch(held_out, tmp_path):
    """By its number of words alone the rate was 0 after a quarter of the steps."""
    text = [*sentences(30), [WORDS[i % len(WORDS)] for i in range(400)]]
    corpus = Corpus.from_sentences(text, keras_elmo.text.build_vocabulary(text))
    changes = {"log_steps": 1, "warmup_steps": 0, "evaluate_steps": 1000}
    run(corpus, tmp_path / "run", changes, held_out=held_out)
    rows = log_of(tmp_path / "run")
    words = sum(len(sentence) + 1 for sentence in text)
    assert len(rows) > 2 * 2 * words / (4 * 5)  # twice the balanced rows' of 2 epochs
    rates = [float(row["learning_rate"]) for row in rows]
    assert min(rates[:-1]) > 0 and rates[-1] == pytest.approx(0, abs=1e-9)
    # The end is looked at, though `evaluate_steps` is not reached.
    assert [row["perplexity"] != "" for row in rows] == [False] * (len(rows) - 1) + [
        True
    ]


@pytest.mark.once
def test_settings_that_were_refused_do_not_stand_in_the_way(corpus, tmp_path):
    path = tmp_path / "run"
    for wrong in ({"dropout": 2.0}, {"char_cnn_filters": []}, {"cell_clip": -3.0}):
        with pytest.raises(ValueError):
            run(corpus, path, wrong, steps=4)
        assert not path.exists()
    run(corpus, path, steps=4)
    # Of a run that has begun nothing goes.
    before = sorted(f.name for f in path.iterdir())
    with pytest.raises(FileNotFoundError):
        pretrain(corpus, tmp_path / "new", "tiny", SETTINGS, init_from="nowhere")
    with pytest.raises(ValueError, match="holds another run"):
        run(corpus, path, {"dropout": 0.5}, steps=4)
    assert sorted(f.name for f in path.iterdir()) == before


@pytest.mark.once
def test_another_run_in_the_same_place_is_refused(corpus, tmp_path):
    run(corpus, tmp_path / "run", steps=4)
    with pytest.raises(ValueError, match="seed is 3, the run's is 0"):
        run(corpus, tmp_path / "run", {"seed": 3}, steps=8)
    other = Corpus.from_sentences(sentences(9), corpus.vocabulary)
    with pytest.raises(ValueError, match="holds another run: corpus is"):
        run(other, tmp_path / "run", steps=8)
    # The same sentences in another order are other batches.
    other = Corpus.from_sentences(sentences()[::-1], corpus.vocabulary)
    with pytest.raises(ValueError, match="holds another run: corpus is"):
        run(other, tmp_path / "run", steps=8)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="holds no run"):
        run(corpus, tmp_path / "full", steps=4)
    # What changes no number may differ.
    run(corpus, tmp_path / "run", {"log_steps": 1}, steps=5)
    assert len(log_of(tmp_path / "run")) == 2


@pytest.mark.once
@pytest.mark.filterwarnings("ignore:The vocabulary has 13 words:UserWarning")
def test_a_small_vocabulary_takes_the_full_softmax(corpus, tmp_path):
    settings = settings_of("tiny", {"num_negatives": 13})
    with pytest.warns(UserWarning, match=r"num_negatives \(=13\): the full softmax"):
        assert usable_negatives(settings, corpus.vocabulary) is None
    changes = {"num_negatives": 13, "dropout": 0.0}
    run(corpus, tmp_path / "run", changes, steps=4)
    full = {"num_negatives": None, "dropout": 0.0}
    run(corpus, tmp_path / "full", full, steps=4)
    one, other = (log_of(tmp_path / name)[-1]["loss"] for name in ("run", "full"))
    assert one == other


@pytest.mark.parametrize("tied", [pytest.param(False, marks=pytest.mark.once), True])
def test_words_as_input(corpus, held_out, tmp_path, tied):
    changes = {"input_kind": "words", "tie_embeddings": tied, "dropout": 0.0}
    model = run(corpus, tmp_path / "run", changes, held_out=held_out, steps=8)
    assert len(model.softmax.weights) == (1 if tied else 2)
    assert float(log_of(tmp_path / "run")[-1]["perplexity"]) < 2 * len(
        corpus.vocabulary
    )
    again = keras_elmo.ElmoBiLM.from_preset(tmp_path / "run" / "preset")
    text = sentences(5, seed=3)
    assert perplexity(again, text, corpus.vocabulary) == pytest.approx(
        perplexity(model, text, corpus.vocabulary), rel=1e-6
    )


@pytest.mark.once
@pytest.mark.filterwarnings("ignore:The vocabulary is not sorted:UserWarning")
def test_fine_tuning_with_a_vocabulary_that_grows(corpus, tmp_path):
    first = run(corpus, tmp_path / "first", {"learning_rate": 0.03, "epochs": 4})
    domain = [[*s[:2], "quark", *s[2:]] for s in sentences(60, seed=5)]
    held_out = [[*s[:2], "quark", *s[2:]] for s in sentences(12, seed=6)]
    words, counts = corpus.vocabulary.tokens, corpus.vocabulary.counts
    grown = keras_elmo.Vocabulary([*words, "quark"], [*counts, len(domain)])
    init_from = tmp_path / "first" / "preset"
    changes = {"learning_rate": 0.01, "epochs": 1}
    # Before a step was made the known words have their rows.
    new = Corpus.from_sentences(domain, grown)
    model = run(new, tmp_path / "tuned", changes, init_from=init_from)
    known = run(
        Corpus.from_sentences(domain, corpus.vocabulary),
        tmp_path / "kept",
        changes,
        init_from=init_from,
    )
    before = perplexity(first, held_out, corpus.vocabulary)["perplexity"]
    assert perplexity(known, held_out, corpus.vocabulary)["perplexity"] < before
    after = perplexity(model, held_out, grown)["perplexity"]
    scratch = run(new, tmp_path / "scratch", changes)
    assert after < perplexity(scratch, held_out, grown)["perplexity"]
    preset = keras_elmo.ElmoBackbone.from_preset(tmp_path / "tuned" / "preset")
    assert preset.vocabulary == grown
    assert keras_elmo.embed([WORDS], preset).shape == (1, len(WORDS), 12)


@pytest.mark.once
def test_a_model_of_other_sizes_cannot_be_started_from(corpus, tmp_path):
    run(corpus, tmp_path / "first", steps=1)
    with pytest.raises(ValueError, match="`hidden_dim` is 16, the model's is 12"):
        run(
            corpus,
            tmp_path / "second",
            {"hidden_dim": 16},
            init_from=tmp_path / "first" / "preset",
        )


@pytest.mark.once
def test_training_ends_in_time(corpus, tmp_path):
    run(corpus, tmp_path / "run", {"epochs": 10_000}, seconds=0.0)
    run(corpus, tmp_path / "run", {"epochs": 10_000}, seconds=1.0)
    assert 0 < int(log_of(tmp_path / "run")[-1]["step"]) < 10_000


@pytest.mark.once
def test_no_generator_of_the_process_is_touched(corpus, tmp_path):
    import random

    random.seed(3)
    expected = random.Random(3).random()
    with warnings.catch_warnings():
        run(corpus, tmp_path / "run", steps=1)
    assert random.random() == expected


@pytest.mark.once
def test_a_start_from_counts_has_the_perplexity_of_counts(corpus):
    settings = settings_of("tiny", {**SETTINGS, "dropout": 0.0})
    model = build_model(settings, corpus.vocabulary)
    bias = keras.ops.convert_to_numpy(model.softmax.bias)
    counts = np.array(corpus.vocabulary.counts) + 1.0
    np.testing.assert_allclose(np.exp(bias), counts / counts.sum(), rtol=1e-5)
    found = perplexity(model, sentences(), corpus.vocabulary)["perplexity"]
    ids = [corpus.vocabulary.ids([*tokens, "</S>"]) - 1 for tokens in sentences()]
    expected = np.exp(-np.log(counts / counts.sum())[np.concatenate(ids)].mean())
    assert found == pytest.approx(expected, rel=0.02)
