"""Held-out text that stands in the text to train on."""

import numpy as np
import pytest

from keras_elmo.data import Corpus, overlap
from keras_elmo.data.overlap import shared_sentences, warn_of_overlap
from keras_elmo.data.prepare import prepare

pytestmark = pytest.mark.once

TEXT = [
    ["the", "bank", "of", "the", "river"],
    ["the", "bank"],
    ["a", "much", "longer", "sentence", "that", "begins", "as", "another", "does"],
    ["x" * 60, "café"],
]


def test_sentences_are_compared_whole():
    corpus = Corpus.from_sentences(TEXT)
    held_out = [
        TEXT[0],
        TEXT[1],
        TEXT[1],
        ["the", "bank", "of", "the", "Bank"],
        ["the", "river", "of", "the", "bank"],
        ["a", "much", "longer", "sentence", "that", "begins", "as", "others", "do"],
        ["a", "much", "longer", "sentence", "that", "begins", "as", "one"],
        ["never"],
    ]
    for vocabulary in (corpus.vocabulary, None):
        found = Corpus.from_sentences(held_out, vocabulary)
        assert shared_sentences(corpus, found) == (3, 9)


def test_widths_and_parts_change_nothing(tmp_path, monkeypatch):
    (tmp_path / "text.txt").write_text("\n".join(map(" ".join, TEXT)), "utf-8")
    prepare([tmp_path / "text.txt"], tmp_path / "store", min_count=2)
    corpus = Corpus.read(tmp_path / "store")
    wider = Corpus.from_sentences([*TEXT[:3], ["the"]], max_characters_per_token=70)
    assert shared_sentences(corpus, wider) == (3, 16)
    monkeypatch.setattr(overlap, "_ROWS", 2)
    assert shared_sentences(corpus, wider) == (3, 16)
    assert shared_sentences(corpus, Corpus.from_sentences(TEXT)) == (4, 18)


def test_a_large_corpus_agrees_with_sets():
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(7)]

    def draw(number):
        return [rng.choice(words, rng.integers(1, 6)).tolist() for _ in range(number)]

    train, held_out = draw(3000), draw(400)
    known = set(map(tuple, train))
    expected = [row for row in held_out if tuple(row) in known]
    assert 0 < len(expected) < len(held_out)
    found = shared_sentences(
        Corpus.from_sentences(train), Corpus.from_sentences(held_out)
    )
    assert found == (len(expected), sum(map(len, expected)))


def test_what_everyone_says_is_no_matter(recwarn):
    corpus = Corpus.from_sentences([*TEXT, ["Yes", "."]])
    new = [[f"new{i}", "words"] for i in range(120)]
    warn_of_overlap(corpus, Corpus.from_sentences([*new, ["Yes", "."]]))
    assert not recwarn.list
    with pytest.warns(UserWarning, match=r"2 of the 5 held-out .*\(70% of their tok"):
        held_out = Corpus.from_sentences([*TEXT[:2], ["n"], ["e"], ["w"]])
        warn_of_overlap(corpus, held_out)
