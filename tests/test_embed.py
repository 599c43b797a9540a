"""`embed` and `embed_iter`: what they take, what they give, how they batch."""

import sys

import numpy as np
import pytest

import keras_elmo
from keras_elmo.inference import character_width, used_characters
from tests.models_for_tests import CHARACTERS, character_backbone, word_backbone

SENTENCES = [["The", "bank", "."], [], ["a"], ["of", "the", "river", "bank", "!"]]
DIM = 8


@pytest.fixture(scope="module")
def backbone():
    return character_backbone()


def test_layers_are_chosen_by_name_or_index(backbone):
    every = keras_elmo.embed(SENTENCES, backbone, layers="all")
    assert every.shape == (4, 3, 5, DIM)
    assert every.dtype == np.float32
    for layers, expected in [
        ("mix", every.mean(axis=1)),
        ("mean", every.mean(axis=1)),
        ("sum", every.sum(axis=1)),
        ("top", every[:, 2]),
        (0, every[:, 0]),
        (np.int64(1), every[:, 1]),
        (-1, every[:, 2]),
    ]:
        got = keras_elmo.embed(SENTENCES, backbone, layers=layers)
        np.testing.assert_allclose(got, expected, atol=1e-6)  # a sum of three


def test_mix_takes_the_stored_weights_and_gamma():
    backbone = character_backbone(mix_weights=[0.2, 0.5, 0.3], gamma=1.7)
    every = keras_elmo.embed(SENTENCES, backbone, layers="all")
    expected = 1.7 * np.tensordot([0.2, 0.5, 0.3], every, axes=(0, 1))
    got = keras_elmo.embed(SENTENCES, backbone)
    np.testing.assert_allclose(got, expected, atol=1e-6)
    mean = keras_elmo.embed(SENTENCES, backbone, layers="mean")
    np.testing.assert_allclose(mean, every.mean(axis=1), atol=1e-6)


@pytest.mark.parametrize("layers", ["best", "1", 3, -4, True, None, 1.0])
def test_another_choice_of_layers_is_refused(backbone, layers):
    with pytest.raises(ValueError, match=r"`layers` must be one of .* Received"):
        keras_elmo.embed(SENTENCES, backbone, layers=layers)


def test_pooling_averages_real_tokens_only(backbone):
    vectors = keras_elmo.embed(SENTENCES, backbone)
    pooled = keras_elmo.embed(SENTENCES, backbone, pooling="mean")
    assert pooled.shape == (4, DIM)
    for row, sentence in enumerate(SENTENCES):
        expected = vectors[row, : len(sentence)].sum(axis=0) / max(len(sentence), 1)
        np.testing.assert_allclose(pooled[row], expected, atol=1e-6)
    every = keras_elmo.embed(SENTENCES, backbone, layers="all", pooling="mean")
    assert every.shape == (4, 3, DIM)
    np.testing.assert_allclose(every.mean(axis=1), pooled, atol=1e-6)
    assert keras_elmo.embed([], backbone, pooling="mean").shape == (0, DIM)
    with pytest.raises(ValueError, match=r"`pooling` must be None or \"mean\""):
        keras_elmo.embed(SENTENCES, backbone, pooling="max")


def test_nothing_in_nothing_out(backbone):
    assert keras_elmo.embed([], backbone).shape == (0, 0, DIM)
    assert keras_elmo.embed([], backbone, layers="all").shape == (0, 3, 0, DIM)
    assert keras_elmo.embed([[]], backbone).shape == (1, 0, DIM)
    assert keras_elmo.embed([[], []], backbone, layers="all").shape == (2, 3, 0, DIM)
    assert list(keras_elmo.embed_iter([], backbone)) == []


@pytest.mark.parametrize(
    "limits", [{"batch_size": 1}, {"batch_size": 3}, {"max_tokens": 1}]
)
def test_batches_change_nothing(backbone, limits):
    expected = keras_elmo.embed(SENTENCES, backbone)
    got = keras_elmo.embed(SENTENCES, backbone, **limits)
    np.testing.assert_allclose(got, expected, atol=1e-6)


@pytest.mark.parametrize("name", ["batch_size", "max_tokens"])
def test_limits_of_a_batch_are_checked(backbone, name):
    with pytest.raises(ValueError, match=f"`{name}` must be an integer of at least 1"):
        keras_elmo.embed(SENTENCES, backbone, **{name: 0})


def test_any_iterable_of_token_sequences(backbone):
    expected = keras_elmo.embed(SENTENCES, backbone)
    for sentences in [
        tuple(map(tuple, SENTENCES)),
        (iter(sentence) for sentence in SENTENCES),
        [np.array(sentence, dtype=str) for sentence in SENTENCES],
        [np.array(sentence, dtype=object) for sentence in SENTENCES],
    ]:
        np.testing.assert_array_equal(keras_elmo.embed(sentences, backbone), expected)


@pytest.mark.parametrize(
    "sentences, told",
    [
        ("the cat", "sentences"),
        (["the cat"], r"sentences\[0\]"),
        ([["a"], ["b", 3]], r"sentences\[1\]\[1\]"),
        ([["a"], [b"b"]], r"sentences\[1\]\[0\]"),
        ([["a"], None], r"sentences\[1\]"),
        (5, "sentences"),
    ],
)
def test_other_types_are_refused_with_their_place(backbone, sentences, told):
    with pytest.raises(TypeError, match=rf"`{told}` must be .* Received"):
        keras_elmo.embed(sentences, backbone)


def test_options_are_checked_before_the_first_vector_is_asked_for(backbone):
    with pytest.raises(ValueError, match="layers"):
        keras_elmo.embed_iter(SENTENCES, backbone, layers="best")
    with pytest.raises(TypeError, match="sentences"):
        keras_elmo.embed_iter("the cat", backbone)
    with pytest.raises(TypeError, match="`backbone` must be an ElmoBackbone"):
        keras_elmo.embed(SENTENCES, "my_elmo")


@pytest.mark.parametrize(
    "limit, number, read_first", [("WINDOW", 2, 2), ("WINDOW_TOKENS", 3, 3)]
)
def test_the_iterator_reads_no_further_than_a_window(
    backbone, monkeypatch, limit, number, read_first
):
    # The module of that name stands behind the function.
    monkeypatch.setattr(sys.modules["keras_elmo.embed"], limit, number)
    read = []

    def sentences():
        for number in range(7):
            read.append(number)
            yield ["word"] * number

    vectors = keras_elmo.embed_iter(sentences(), backbone)
    assert next(vectors).shape == (0, DIM)
    assert len(read) == read_first
    assert [v.shape for v in vectors] == [(n, DIM) for n in range(1, 7)]


def test_kept_boundaries_are_handed_out():
    kept = character_backbone(keep_boundaries=True)
    plain = character_backbone()
    plain.set_weights(kept.get_weights())
    vectors = keras_elmo.embed([["a", "b"], []], kept)
    assert vectors.shape == (2, 4, DIM)
    expected = keras_elmo.embed([["a", "b"]], plain)[0]
    np.testing.assert_allclose(vectors[0, 1:3], expected, atol=1e-6)
    assert vectors[1, :2].any(axis=-1).all()
    assert not vectors[1, 2:].any()
    # Markers are no tokens of the sentence.
    pooled = keras_elmo.embed([["a", "b"], []], kept, pooling="mean")
    np.testing.assert_allclose(pooled[0], expected.mean(axis=0), atol=1e-6)
    assert not pooled[1].any()


def test_new_weights_are_used_at_once():
    mine = character_backbone()
    before = keras_elmo.embed(SENTENCES, mine)
    weights = [2.0 * weight for weight in mine.get_weights()]
    mine.set_weights(weights)
    after = keras_elmo.embed(SENTENCES, mine)
    assert np.abs(before - after).max() > 1e-3
    other = character_backbone()
    other.set_weights(weights)
    np.testing.assert_allclose(after, keras_elmo.embed(SENTENCES, other), atol=1e-6)


def test_unknown_words_get_the_unknown_vector():
    backbone = word_backbone()
    unknown, same, known = keras_elmo.embed([["sea"], ["<UNK>"], ["river"]], backbone)
    np.testing.assert_allclose(unknown, same, atol=1e-6)
    assert np.abs(unknown - known).max() > 1e-3


def test_word_input_needs_its_vocabulary():
    backbone = word_backbone()
    backbone.vocabulary = None
    with pytest.raises(ValueError, match="needs its vocabulary"):
        keras_elmo.embed([["river"]], backbone)
    with pytest.raises(ValueError, match="must have one word a row"):
        backbone.vocabulary = keras_elmo.Vocabulary(["<S>", "</S>", "<UNK>"])


def test_short_tokens_need_few_characters():
    ids = keras_elmo.text.encode_tokens(["", "ab", "x" * 40], CHARACTERS)
    np.testing.assert_array_equal(used_characters(ids), [2, 4, CHARACTERS - 1])
    # 4 used characters, and one whole window of padding for the widest filter.
    assert character_width(4, 3, 50) == 8
    assert character_width(6, 3, 50) == 16
    assert character_width(49, 3, 50) == 50
