"""Tokenizers in pure Python."""

import hypothesis
import hypothesis.strategies as st
import pytest

import keras_elmo
from keras_elmo.text import get_tokenizer, unicode_tokenize
from tests.models_for_tests import word_backbone


@pytest.mark.parametrize(
    "text, tokens",
    [
        ("The bank isn't open.", ["The", "bank", "isn't", "open", "."]),
        ("It\u2019s 3.14, not 1,000!", ["It\u2019s", "3.14", ",", "not", "1,000", "!"]),
        ("a.b 1. .5 x.5", ["a", ".", "b", "1", ".", ".", "5", "x", ".", "5"]),
        ("'a' don''t", ["'", "a", "'", "don", "'", "'", "t"]),
        ("日本語text", ["日", "本", "語", "text"]),
        ("e\u0301a_b", ["e\u0301a_b"]),
        ("a\u3000b\x00c", ["a", "b", "c"]),
        ("(x)-[y]", ["(", "x", ")", "-", "[", "y", "]"]),
        ("", []),
    ],
)
def test_words_numbers_and_marks(text, tokens):
    assert unicode_tokenize(text) == tokens


@hypothesis.given(st.text())
def test_nothing_but_white_space_is_lost(text):
    kept = "".join(c for c in text if not c.isspace() and c != "\0")
    assert "".join(unicode_tokenize(text)) == kept


@hypothesis.given(st.text())
def test_tokens_stay_tokens(text):
    for token in unicode_tokenize(text):
        assert unicode_tokenize(token) == [token]


def test_names_of_tokenizers():
    assert get_tokenizer("whitespace")("a  b\n") == ["a", "b"]
    assert get_tokenizer("unicode") is unicode_tokenize
    with pytest.raises(ValueError, match="'whitespace' or 'unicode'"):
        get_tokenizer("spaces")


def test_a_tokenizer_makes_the_ids_of_its_model():
    backbone = word_backbone()
    tokenizer = keras_elmo.ElmoTokenizer.of(backbone)
    ids = tokenizer.encode_sentences([tokenizer("the river ."), [], ["sea"]])
    assert ids.tolist() == [[4, 6, 7], [0, 0, 0], [3, 0, 0]]
    characters = keras_elmo.ElmoTokenizer("unicode", max_characters_per_token=8)
    assert characters.encode_sentences([characters("a.")]).shape == (1, 2, 8)
    assert characters.get_config()["splitter"] == "unicode"


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="input_kind='bytes'"):
        keras_elmo.ElmoTokenizer(input_kind="bytes")
    with pytest.raises(ValueError, match="needs its vocabulary"):
        keras_elmo.ElmoTokenizer(input_kind="words").encode_tokens(["a"])
