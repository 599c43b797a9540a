"""The probes of tags, senses and words in context, on files."""

import random

import numpy as np
import pytest

from keras_elmo.evaluation import probe_senses, probe_tags, probe_words_in_context
from keras_elmo.evaluation.layer_runs import limited
from keras_elmo.evaluation.token_layers import TokenLayers
from keras_elmo.tasks.labelled import LabelledPair
from keras_elmo.tasks.mcl_wic import read_mcl_wic
from tests.evaluation.word_files import (
    strong_backbone,
    write_pairs,
    write_senses,
    write_tags,
)

pytestmark = pytest.mark.once
FAST = {"seeds": (0, 1), "steps": 30}
LAYERS = ["layer 0", "layer 1", "layer 2", "mean", "mix"]
AVERAGES = ["layer 0 average", "layer 1 average", "layer 2 average"]


@pytest.fixture(scope="module")
def layers():
    # The same weights whichever test is the first.
    random.seed(0)
    return TokenLayers(strong_backbone())


def test_tags_by_layer(layers, tmp_path):
    train = write_tags(tmp_path / "train.txt", 12)
    test = write_tags(tmp_path / "test.txt", 6)
    found = probe_tags(train, test, layers, seeds=(0, 1), steps=300)
    assert (found["classes"], found["test"]) == (4, 31)
    assert list(found["layers"]) == LAYERS
    # The tag is the token's, of which there are few.
    assert found["layers"]["layer 0"]["accuracy"] > 0.6 > found["most_frequent"]
    one = found["layers"]["layer 2"]
    assert one["accuracy"] == pytest.approx(np.mean(one["runs"]))
    assert one["deviation"] == pytest.approx(np.std(one["runs"], ddof=1))
    assert found["most_frequent"] < one["accuracy"]
    mixes = found["layers"]["mix"]["mix_weights"]
    assert np.shape(mixes) == (2, 3) and "mix_weights" not in one
    less = probe_tags(train, test, layers, limit=11, seeds=(0,), steps=1)
    assert less["train"] <= 11 and less["test"] == 31


def test_context_tells_senses_and_the_word_itself_does_not(layers, tmp_path):
    folder = write_senses(tmp_path / "words", ("bank", "shore"), train=36, test=12)
    # A word whose senses are not in balance.
    for part in ("data", "gold"):
        path = folder / "shore" / f"train.{part}.txt"
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines[:1] + lines[1::2]))
    found = probe_senses(folder, layers, **FAST)
    assert (found["words"], found["train"], found["test"]) == (2, 36 + 19, 24)
    assert found["most_frequent"] == 0.5
    vectors = found["vectors"]
    assert list(vectors) == [*LAYERS, *AVERAGES]
    assert vectors["layer 0"]["probe"]["accuracy"] == 0.5
    assert vectors["layer 1"]["probe"]["accuracy"] > 0.5
    for name in ("layer 1", "mean"):
        assert vectors[name]["neighbors"] > 0.6, name
    assert set(vectors["mean"]["neighbors_of_words"]) == {"bank", "shore"}
    assert "neighbors" not in vectors["mix"]
    assert probe_senses(folder, layers, limit=5, seeds=(0,), steps=1)["train"] == 10


def test_word_vectors_are_compared_with(layers, tmp_path):
    folder = write_senses(tmp_path / "words")
    vectors = {"money": [1.0, 0.0], "loan": [1.0, 0.0], "river": [0.0, 1.0]}
    vectors["muddy"] = [0.0, 1.0]
    fast = {"seeds": (0,), "steps": 1}
    found = probe_senses(folder, layers, word_vectors=vectors, **fast)
    assert found["vectors"]["word2vec average"]["neighbors"] == 1.0
    text = "".join(f"{w} {a} {b}\n" for w, (a, b) in vectors.items())
    (tmp_path / "vectors.txt").write_text(text)
    path = tmp_path / "vectors.txt"
    same = probe_senses(folder, layers, word_vectors=path, **fast)
    assert same["vectors"]["word2vec average"] == found["vectors"]["word2vec average"]


def test_thresholds_of_words_in_context_come_from_training(layers, tmp_path):
    train, test = (
        read_mcl_wic(path, path.with_suffix(".gold"))
        for path in (
            write_pairs(tmp_path / "train.data", 12),
            write_pairs(tmp_path / "test.data", 6),
        )
    )
    found = probe_words_in_context(train, test, layers)
    assert (found["train"], found["test"], found["most_frequent"]) == (12, 6, 0.5)
    assert list(found["vectors"]) == [*LAYERS[:-1], *AVERAGES]
    # A word's token vector is the same in both: nothing above chance.
    assert found["vectors"]["layer 0"]["accuracy"] == 0.5
    assert found["vectors"]["layer 1"]["accuracy"] == 1.0
    # Other labels of the test pairs change what is right, never the threshold.
    turned = [pair._replace(label="FT"[pair.label == "F"]) for pair in test]
    other = probe_words_in_context(train, turned, layers)["vectors"]
    for name, values in found["vectors"].items():
        assert other[name]["threshold"] == values["threshold"]
        assert other[name]["accuracy"] == pytest.approx(1 - values["accuracy"])


def test_pairs_without_words_are_refused(layers):
    pair = LabelledPair("a bank", "the bank", "T")
    with pytest.raises(ValueError, match="mark a word"):
        probe_words_in_context([pair], [pair], layers)
    with pytest.raises(ValueError, match="must hold pairs"):
        probe_words_in_context([], [pair], layers)


def test_a_limit_chooses_the_same_rows_each_time():
    rows = list(range(100))
    chosen = limited(rows, 10)
    assert len(chosen) == 10 and chosen != rows[:10]
    assert limited(rows, 10) == chosen
    assert limited(rows, None) is rows and limited(rows, 100) is rows
    # One row at least, whatever its size.
    assert len(limited(rows, 5, lambda row: 7)) == 1
