"""ELMoForManyLangs' dictionaries in TensorFlow's ops."""

import os

import hypothesis
import hypothesis.strategies as st
import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.checkpoints import many_langs
from keras_elmo.text import Dictionaries
from keras_elmo.text.elmo_tokenizer import INPUT_KINDS
from tests.many_langs_files import (
    CHARACTERS,
    WORDS,
    changed_config,
    rows,
    write_directory,
)

if os.environ.get("KERAS_BACKEND", "tensorflow") != "tensorflow":
    pytest.skip("runs once, with the TensorFlow backend", allow_module_level=True)
tf = pytest.importorskip("tensorflow")

from keras_elmo.export import export_saved_model  # noqa: E402
from keras_elmo.text.graph import GraphEncoder  # noqa: E402

SENTENCES = [["the", "cat", "字字é", "thecatsatonthedog"], [], ["<bos>", "The"]]
DICTIONARIES = {
    "dictionary_characters": Dictionaries(characters=rows(CHARACTERS)),
    "dictionary_words": Dictionaries(words=rows(WORDS)),
    "dictionary_words_and_characters": Dictionaries(rows(WORDS), rows(CHARACTERS)),
}
TOKENS = st.one_of(
    st.text(st.sampled_from("thecatsdog é字\u3000<>\0"), max_size=12),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.sampled_from([*WORDS, *CHARACTERS]),
)


@pytest.fixture(scope="module")
def backbone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many_langs") / "model"
    write_directory(folder)
    return many_langs.backbone_from_directory(folder)


@pytest.fixture(scope="module")
def encoders():
    made = {}
    for kind in INPUT_KINDS[2:]:
        for width in (7, 9):
            tokenizer = keras_elmo.ElmoTokenizer(
                "whitespace", kind, width, DICTIONARIES[kind]
            )
            made[kind, width] = tokenizer, GraphEncoder(tokenizer)
    return made


@hypothesis.settings(max_examples=25)
@hypothesis.given(st.lists(st.lists(TOKENS, max_size=5), min_size=1, max_size=8))
def test_a_graph_encodes_as_the_dictionaries_do(encoders, sentences):
    ragged = tf.ragged.constant(
        [[token.encode() for token in tokens] for tokens in sentences],
        dtype=tf.string,
        ragged_rank=1,
    )
    for tokenizer, encode in encoders.values():
        np.testing.assert_array_equal(
            encode(ragged), tokenizer.encode_sentences(sentences)
        )


def test_bytes_that_are_no_utf8_do_not_crash(encoders):
    for tokenizer, encode in encoders.values():
        shape = (1, 1, tokenizer.ids_width)[: 2 + (tokenizer.ids_width is not None)]
        assert encode(tf.constant([[b"\xff\xfea"]])).shape == shape


def test_a_model_takes_strings_and_is_saved_with_its_dictionaries(backbone, tmp_path):
    expected = keras_elmo.embed(SENTENCES, backbone)
    texts = keras.Input((), dtype="string")
    model = keras.Model(texts, keras_elmo.ElmoEmbedding(backbone)(texts))
    model.save(tmp_path / "model.keras")
    strings = tf.constant([" ".join(tokens) for tokens in SENTENCES])
    for one in (model, keras.saving.load_model(tmp_path / "model.keras")):
        vectors = one.predict(strings, verbose=0)
        np.testing.assert_allclose(vectors, expected, atol=5e-6, rtol=1e-5)


@pytest.mark.parametrize(
    "encoder", ["elmo", pytest.param("lstm", marks=pytest.mark.slow)]
)
def test_a_saved_model_gives_the_same_vectors(encoder, backbone, tmp_path):
    if encoder == "lstm":
        write_directory(tmp_path / "lstm", changed_config({"name": "lstm"}))
        backbone = many_langs.backbone_from_directory(tmp_path / "lstm")
    told = export_saved_model(backbone, tmp_path / "out")
    assert told["custom_ops"] == []
    loaded = tf.saved_model.load(told["directory"])
    outputs = loaded.signatures["default"](
        strings=tf.constant([" ".join(tokens) for tokens in SENTENCES])
    )
    layers = keras_elmo.embed(SENTENCES, backbone, layers="all")
    names = ["lstm_outputs1", "lstm_outputs2"][-layers.shape[1] :]
    assert ("word_emb" in outputs) == (encoder == "elmo")
    for name, layer in zip(names, np.moveaxis(layers, 1, 0)[-2:], strict=True):
        np.testing.assert_allclose(outputs[name], layer, atol=5e-6, rtol=1e-5)
    np.testing.assert_allclose(
        outputs["elmo"], keras_elmo.embed(SENTENCES, backbone), atol=5e-6, rtol=1e-5
    )
