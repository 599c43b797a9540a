"""Character ids: those of the original programs, for any text."""

import json

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from keras_elmo.text import (
    count_truncated,
    decode_characters,
    distinct_tokens,
    encode_sentences,
    encode_tokens,
)


def slow_ids(token, size):
    """One token's ids, one at a time."""
    marker = {"<S>": [257], "</S>": [258]}.get(token)
    inside = marker or [b + 1 for b in token.encode("utf-8", "ignore")][: size - 2]
    ids = [259, *inside, 260]
    return ids + [261] * (size - len(ids))


TOKEN = st.text(max_size=20) | st.sampled_from(["<S>", "</S>", "<UNK>", "", "\ud800x"])


@hypothesis.given(st.lists(TOKEN, max_size=10), st.integers(3, 30))
def test_equals_one_byte_at_a_time(tokens, size):
    expected = np.array([slow_ids(token, size) for token in tokens], "int32")
    got = encode_tokens(tokens, size)
    assert got.dtype == np.int32
    np.testing.assert_array_equal(got, expected.reshape(-1, size))


@hypothesis.given(st.lists(st.lists(TOKEN, max_size=4), max_size=5))
def test_sentences_are_rows_of_tokens(sentences):
    ids = encode_sentences(sentences, 12)
    longest = max(map(len, sentences), default=0)
    assert ids.shape == (len(sentences), longest, 12)
    for row, sentence in zip(ids, sentences, strict=True):
        np.testing.assert_array_equal(row[: len(sentence)], encode_tokens(sentence, 12))
        assert not row[len(sentence) :].any()


def test_golden_ids_of_hard_sentences(golden):
    cases = json.loads((golden / "peers" / "cases.json").read_text("utf-8"))
    stored = np.load(golden / "peers" / "allennlp_on_allennlp_weights.npz")
    for name, sentences in cases["stateless"].items():
        ids = stored[f"{name}/ids"]
        # AllenNLP's ids of an empty batch of sentences are 0 and as long as it likes.
        got = encode_sentences(sentences, 50, length=ids.shape[1])
        np.testing.assert_array_equal(got, ids, err_msg=name)


def test_golden_ids_of_a_training_vocabulary(golden):
    words = (golden / "training" / "vocab.txt").read_text("utf-8").split()
    stored = np.load(golden / "training" / "batches.npz")["vocab_char_ids"]
    # Training ids are not shifted by one.
    np.testing.assert_array_equal(encode_tokens(words, 10) - 1, stored)


def test_a_long_token_is_cut_between_bytes():
    ids = encode_tokens(["a" * 47 + "é", "日" * 17, "a" * 48, "a" * 49])
    np.testing.assert_array_equal(ids[0, 46:], [98, 98, 196, 260])
    assert ids[1, 48] == "日".encode()[2] + 1 and ids[1, 49] == 260
    np.testing.assert_array_equal(ids[2], ids[3])


def test_cut_tokens_are_counted():
    tokens = ["a" * 48, "a" * 49, "日" * 16, "日" * 17, "", "<S>", "</S>"]
    assert count_truncated(tokens) == 2
    assert count_truncated(["<S>", "</S>"], 3) == 0
    assert count_truncated(["ab", "a"], 3) == 1


def test_normal_forms_stay_apart_and_lone_surrogates_vanish():
    composed, decomposed = encode_tokens(["é", "e\u0301"])
    assert (composed != decomposed).any()
    np.testing.assert_array_equal(
        encode_tokens(["\ud800x", "\ud800"]), encode_tokens(["x", ""])
    )


def test_distinct_tokens_come_in_order_of_appearance():
    tokens, indices = distinct_tokens([["b", "a"], [], ["a", "c", "a"]])
    assert tokens == ["b", "a", "c"]
    assert [index.tolist() for index in indices] == [[0, 1], [], [1, 2, 1]]


def test_a_length_pads_and_is_checked():
    assert encode_sentences([["a"]], 10, length=4).shape == (1, 4, 10)
    with pytest.raises(ValueError, match="`length` must be at least 2"):
        encode_sentences([["a", "b"]], 10, length=1)


@pytest.mark.parametrize(
    "size, error", [(2, ValueError), (0, ValueError), (5.0, TypeError)]
)
def test_the_number_of_characters_is_checked(size, error):
    with pytest.raises(error, match="`max_characters_per_token` must be an integer"):
        encode_tokens(["a"], size)


@pytest.mark.parametrize("token", ["bank", "é", "", "<S>", "</S>", "<UNK>"])
def test_rows_can_be_read_again(token):
    assert decode_characters(encode_tokens([token])[0]) == token


def test_padding_reads_as_nothing():
    assert decode_characters(np.zeros(50, "int32")) == ""
