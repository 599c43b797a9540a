"""word2vec of a corpus, and sentences as averages of its vectors."""

import sys

import numpy as np
import pytest

from keras_elmo.evaluation.word2vec import SentenceAverages, train_word2vec

pytestmark = pytest.mark.once
TEXT = "The bank lends money\nA river bank\nthe BANK of a river\n" * 20


def test_the_same_seed_gives_the_same_vectors(tmp_path):
    pytest.importorskip("gensim", reason="gensim is not installed")
    path = tmp_path / "corpus.txt"
    path.write_text(TEXT)
    vectors = train_word2vec([path], dim=7, epochs=2)
    again = train_word2vec([path], dim=7, epochs=2)
    other = train_word2vec([path], dim=7, epochs=2, seed=1)
    assert vectors["bank"].shape == (7,)
    np.testing.assert_array_equal(vectors["bank"], again["bank"])
    assert not np.array_equal(vectors["bank"], other["bank"])
    assert "The" not in vectors and "the" in vectors
    average = SentenceAverages(vectors, [["The", "bank"]])
    expected = (vectors["the"] + vectors["bank"]) / 2
    np.testing.assert_allclose(average([["The", "bank"]])[0], expected, atol=1e-7)
    with pytest.raises(ValueError, match="No word of the corpus occurs 999 times"):
        train_word2vec([path], min_count=999)


def test_words_without_a_vector_do_not_count():
    vectors = {"bank": np.array([1.0, 3.0]), "river": np.array([3.0, 5.0])}
    sentences = [["Bank", "of", "river"], ["of"], []]
    found = SentenceAverages(vectors, sentences)(sentences)
    np.testing.assert_array_equal(found, [[2, 4], [0, 0], [0, 0]])
    assert SentenceAverages(vectors, sentences)([]).shape[0] == 0
    with pytest.raises(ValueError, match="no vector of the sentences' words"):
        SentenceAverages(vectors, [["of"]])


def test_without_gensim_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim", None)
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(ImportError, match=r"keras-elmo\[probe\]"):
        train_word2vec(["corpus.txt"])
