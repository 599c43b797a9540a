"""TensorFlow's ops give what the pure-Python reference gives."""

import os
import subprocess
import sys
import unicodedata

import hypothesis
import hypothesis.strategies as st
import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.text import encode_sentences, unicode_tokenize, whitespace_tokenize

if os.environ.get("KERAS_BACKEND", "tensorflow") != "tensorflow":
    pytest.skip("runs once, with the TensorFlow backend", allow_module_level=True)
tf = pytest.importorskip("tensorflow")

from keras_elmo.text import graph  # noqa: E402
from tests.models_for_tests import character_backbone, word_backbone  # noqa: E402

TEXTS = [
    "",
    "  ",
    "The bank isn't open, it's 3.14 km away.",
    "1,000,000 1..2 1.2.3 a.b 1.a a.1 1'2.3'4,5,",
    "a''b 'tis it\u2019s x'y'z '",
    "日本語 text混在 カタカナ ひらがな",
    "e\u0301 é naïve Ünïcödé हिन्दी मह ไทย",
    "\U0001f468\u200d\U0001f469 emoji \U0001f600!",
    "a\x00b \x1ca\x85b\xa0c\u3000d\u2028e\ufefff",
    "٣.٤ ½ Ⅷ ²",
    "#!_a_ $5.00 x_y @user",
    "a\u200bb מלה שלום \u202bعربي\u202c",
    "line\r\nbreak\ttab\vvt",
    "<S> </S> <UNK>",
]
TOKENS = [
    ["", "<S>", "</S>", "<UNK>", "a"],
    [],
    ["x" * 48, "x" * 49, "a" * 47 + "é", "日" * 17, "字" * 60],
    ["\x00", "a\x00b", "e\u0301", "é", "\U0001f468\u200d\U0001f469"],
    ["\xa0", "\u2028", "\u200b", "مرحبا"],
]


def decoded(ragged):
    return [[token.decode() for token in row] for row in ragged.to_list()]


@pytest.mark.parametrize(
    "python, ops",
    [
        (whitespace_tokenize, graph.whitespace_tokenize),
        (unicode_tokenize, graph.unicode_tokenize),
    ],
)
def test_tokenizers_agree_on_hard_texts(python, ops):
    assert decoded(ops(tf.constant(TEXTS))) == [python(text) for text in TEXTS]


# Both Unicode tables know the scripts below, and RE2's may be older than Python's for
# what was added since: characters up to U+FFFF that Python 3.11 has a category for.
KNOWN = st.characters(
    max_codepoint=0x07FF, exclude_categories=("Cs", "Co", "Cn")
) | st.sampled_from("日本カひ'\u2019.,_ 0123456789\u3000\U0001f600\u0301")
ANY = st.characters(exclude_categories=("Cs",))


@hypothesis.settings(max_examples=25)
@hypothesis.given(st.lists(st.text(KNOWN), min_size=1, max_size=40))
def test_the_unicode_tokenizers_agree(texts):
    assert decoded(graph.unicode_tokenize(tf.constant(texts))) == [
        unicode_tokenize(text) for text in texts
    ]


@hypothesis.settings(max_examples=25)
@hypothesis.given(st.lists(st.text(ANY), min_size=1, max_size=40))
def test_the_whitespace_tokenizers_agree(texts):
    assert decoded(graph.whitespace_tokenize(tf.constant(texts))) == [
        whitespace_tokenize(text) for text in texts
    ]


@pytest.mark.parametrize("size", [3, 10, 50])
def test_character_ids_agree_on_hard_tokens(size):
    ragged = tf.ragged.constant(TOKENS, dtype=tf.string)
    expected = encode_sentences(TOKENS, size)
    np.testing.assert_array_equal(graph.character_ids(ragged, size), expected)
    dense = graph.character_ids(
        ragged.to_tensor(""), size, lengths=ragged.row_lengths()
    )
    np.testing.assert_array_equal(dense, expected)


@hypothesis.settings(max_examples=25)
@hypothesis.given(st.lists(st.lists(st.text(ANY), max_size=5), min_size=1, max_size=8))
def test_character_ids_agree(sentences):
    ragged = tf.ragged.constant(sentences, dtype=tf.string, ragged_rank=1)
    got = graph.character_ids(ragged, 12)
    np.testing.assert_array_equal(got, encode_sentences(sentences, 12))


def test_dense_tokens_need_their_lengths():
    with pytest.raises(ValueError, match="`lengths` must be given"):
        graph.character_ids(tf.constant([["a", ""]]))


def test_bytes_that_are_no_utf8_do_not_crash():
    bad = tf.constant([b"\xff\xfe a \xc3", b"ok"])
    assert graph.unicode_tokenize(bad).to_list()[1] == [b"ok"]
    ids = graph.character_ids(graph.whitespace_tokenize(bad), 10)
    np.testing.assert_array_equal(ids[0, 0, :4], [259, 256, 255, 260])


def test_runs_in_a_data_pipeline_with_the_characters_known():
    data = tf.data.Dataset.from_tensor_slices(TEXTS).batch(4)
    data = data.map(lambda x: graph.character_ids(graph.whitespace_tokenize(x), 20))
    assert data.element_spec.shape.as_list() == [None, None, 20]
    expected = encode_sentences([text.split() for text in TEXTS[:4]], 20)
    np.testing.assert_array_equal(next(iter(data)), expected)


PROGRAM = """
import sys
import tensorflow as tf
loaded = tf.saved_model.load(sys.argv[1])
print(loaded.ids(tf.constant(["The bank"])).shape)
"""


def test_white_space_and_characters_are_core_ops(tmp_path):
    """A process that knows TensorFlow alone runs the graph."""
    module = tf.Module()
    module.ids = tf.function(
        lambda x: graph.character_ids(graph.whitespace_tokenize(x), 20),
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    tf.saved_model.save(module, str(tmp_path))
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == "(1, 2, 20)"


def test_the_table_holds_normal_forms_that_differ():
    """Nothing is normalised on either side: the table would not show it otherwise."""
    forms = {unicodedata.normalize(form, "é") for form in ("NFC", "NFD")}
    assert forms <= {token for row in TOKENS for token in row}


@pytest.mark.parametrize("splitter", ["whitespace", "unicode"])
@pytest.mark.parametrize("kind", ["characters", "words"])
@pytest.mark.parametrize("length", [None, 3, 40])
def test_a_graph_encodes_as_the_preprocessor_does(splitter, kind, length):
    vocabulary = keras_elmo.Vocabulary(
        ["<S>", "</S>", "<UNK>", "The", "bank", "a", "a"]
    )
    tokenizer = keras_elmo.ElmoTokenizer(splitter, kind, 10, vocabulary)
    preprocessor = keras_elmo.ElmoPreprocessor(tokenizer, length)
    texts = [text for text in TEXTS if "\x00" not in text]
    expected = preprocessor(texts)
    data = tf.data.Dataset.from_tensor_slices(texts).batch(len(texts))
    ids, label = next(iter(data.map(lambda x: preprocessor(x, 1))))
    np.testing.assert_array_equal(ids, expected)
    assert int(label) == 1
    if splitter == "whitespace":
        rows = [text.split() for text in texts]
        ragged = tf.ragged.constant(rows, dtype=tf.string, ragged_rank=1)
        np.testing.assert_array_equal(preprocessor(ragged), expected)
        np.testing.assert_array_equal(preprocessor(ragged.to_tensor()), expected)
    one = preprocessor(tf.constant(texts[2]))
    np.testing.assert_array_equal(one, preprocessor(texts[2]))


def test_an_empty_string_is_padding_only_behind_the_last_token():
    preprocessor = keras_elmo.ElmoPreprocessor()
    table = [["a", "", "b", ""], ["", "", "", ""], ["c", "d", "", ""]]
    expected = keras_elmo.text.encode_sentences([["a", "", "b"], [], ["c", "d"]])
    tensor = preprocessor(tf.constant(table))
    np.testing.assert_array_equal(tensor[:, :3], expected)
    np.testing.assert_array_equal(tensor[:, 3:], 0)
    np.testing.assert_array_equal(preprocessor(np.array(table)), expected)


@pytest.mark.parametrize("kind", ["characters", "words"])
def test_a_model_takes_strings_and_is_saved_with_its_words(kind, tmp_path):
    backbone = character_backbone() if kind == "characters" else word_backbone()
    backbone.trainable = False
    sentences = [["the", "bank", "zzz"], ["river"], []]
    expected = keras_elmo.embed(sentences, backbone)
    texts = keras.Input((), dtype="string")
    outputs = keras_elmo.ElmoEmbedding(backbone)(texts)
    model = keras.Model(texts, outputs)
    model.save(tmp_path / "model.keras")
    strings = tf.constant([" ".join(tokens) for tokens in sentences])
    for one in (model, keras.saving.load_model(tmp_path / "model.keras")):
        vectors = one.predict(strings, verbose=0)
        np.testing.assert_allclose(vectors, expected, atol=5e-6, rtol=1e-5)
    tokens = keras.Input((None,), dtype="string")
    table = tf.constant([["the", "bank", "zzz"], ["river", "", ""], ["", "", ""]])
    model = keras.Model(tokens, keras_elmo.ElmoEmbedding(backbone)(tokens))
    np.testing.assert_allclose(model(table), expected, atol=5e-6, rtol=1e-5)


def test_numbers_are_no_strings():
    with pytest.raises(TypeError, match="dtype string"):
        graph.GraphEncoder(keras_elmo.ElmoTokenizer())(tf.constant([1.0]))
