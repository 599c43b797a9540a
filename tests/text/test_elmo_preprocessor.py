"""`ElmoPreprocessor`: every form of text to the same ids."""

import keras
import numpy as np
import pytest

from keras_elmo import ElmoEmbedding, ElmoPreprocessor, ElmoTokenizer
from keras_elmo.text import encode_sentences
from tests.models_for_tests import CHARACTERS, character_backbone, word_backbone

TEXTS = ["The bank of Nürnberg .", "", "Hi"]
SENTENCES = [text.split() for text in TEXTS]
EXPECTED = encode_sentences(SENTENCES)
once = pytest.mark.once

FORMS = {
    "texts": TEXTS,
    "a tuple": tuple(TEXTS),
    "a generator": lambda: (text for text in TEXTS),
    "an array of texts": np.array(TEXTS),
    "an array of objects": np.array(TEXTS, object),
    "bytes": np.array([text.encode() for text in TEXTS]),
    "tokens": SENTENCES,
    "arrays of tokens": [np.array(tokens, str) for tokens in SENTENCES],
    "a padded array": np.array([[*t, *[""] * (5 - len(t))] for t in SENTENCES]),
}


@once
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_text_gives_the_same_ids(form):
    x = FORMS[form]
    ids = ElmoPreprocessor()(x() if callable(x) else x)
    assert ids.dtype == np.int32
    np.testing.assert_array_equal(ids, EXPECTED)


@once
def test_one_text_has_no_batch_axis():
    np.testing.assert_array_equal(ElmoPreprocessor()(TEXTS[0]), EXPECTED[0])


@once
@pytest.mark.parametrize("length", [1, 3, 5, 9])
def test_a_length_that_is_asked_for_cuts_and_pads(length):
    ids = ElmoPreprocessor(sequence_length=length)(TEXTS)
    expected = np.zeros((3, length, 50), "int32")
    kept = min(length, 5)
    expected[:, :kept] = EXPECTED[:, :kept]
    np.testing.assert_array_equal(ids, expected)


@once
def test_nothing_is_a_batch_too():
    assert ElmoPreprocessor()([]).shape == (0, 0, 50)
    assert ElmoPreprocessor()([[]]).shape == (1, 0, 50)
    assert ElmoPreprocessor(sequence_length=4)([]).shape == (0, 4, 50)


@once
def test_labels_and_weights_pass():
    labels, weights = [1, 0, 2], [1.0, 0.5, 0.0]
    ids, y = ElmoPreprocessor()(TEXTS, labels)
    assert y is labels and ids.shape == EXPECTED.shape
    _, y, weight = ElmoPreprocessor()(TEXTS, labels, weights)
    assert y is labels and weight is weights


@once
def test_words_have_the_ids_of_their_vocabulary():
    backbone = word_backbone()
    ids = ElmoPreprocessor.of(backbone, sequence_length=3)(["the zzz .", "bank"])
    np.testing.assert_array_equal(ids, [[4, 3, 7], [5, 0, 0]])


@once
def test_words_without_a_vocabulary_are_refused():
    with pytest.raises(ValueError, match="vocabulary"):
        ElmoPreprocessor(ElmoTokenizer(input_kind="words"))(["the bank"])


@once
@pytest.mark.parametrize("kind", ["characters", "words"])
def test_a_preset_has_its_preprocessor(kind, tmp_path):
    backbone = character_backbone() if kind == "characters" else word_backbone()
    backbone.save_to_preset(tmp_path / "preset")
    read = ElmoPreprocessor.from_preset(tmp_path / "preset", sequence_length=6)
    made = ElmoPreprocessor.of(backbone, sequence_length=6)
    np.testing.assert_array_equal(read(TEXTS), made(TEXTS))
    assert read.get_config() == made.get_config()


@once
def test_the_config_makes_the_same_preprocessor():
    tokenizer = ElmoTokenizer("unicode", max_characters_per_token=9)
    stored = keras.saving.serialize_keras_object(ElmoPreprocessor(tokenizer, 4))
    again = keras.saving.deserialize_keras_object(stored)
    assert type(again) is ElmoPreprocessor
    np.testing.assert_array_equal(
        again(["It isn't."]), encode_sentences([["It", "isn't", "."]], 9, 4)
    )


@once
@pytest.mark.parametrize(
    "x, named",
    [
        (5, "`x` must be"),
        (b"text", "`x` must be"),
        ({"a": 1}, "`x` must be"),
        ([["a"], "b"], r"x\[1\]"),
        (["b", ["a"]], r"x\[1\]"),
        ([["a", 5]], r"x\[0\]\[1\]"),
        ([5], r"x\[0\]"),
        ([None], r"x\[0\]"),
    ],
)
def test_what_is_no_text_is_refused(x, named):
    with pytest.raises(TypeError, match=named):
        ElmoPreprocessor()(x)


@once
def test_a_wrong_tokenizer_is_refused():
    with pytest.raises(TypeError, match="`tokenizer` must be"):
        ElmoPreprocessor("whitespace")
    with pytest.raises(ValueError, match="sequence_length"):
        ElmoPreprocessor(sequence_length=0)


class Batches(keras.utils.PyDataset):
    """Texts of two at a time, turned into ids as they are asked for."""

    def __init__(self, preprocessor):
        super().__init__()
        self.preprocessor = preprocessor

    def __len__(self):
        return 2

    def __getitem__(self, index):
        # A Keras mean over no real token, as of an empty text, is NaN.
        texts = ["The bank", "Hi", "It is ."][index : index + 2]
        return self.preprocessor(texts, np.array([[0], [1]]))


def test_a_data_set_of_texts_is_fitted():
    backbone = character_backbone()
    preprocessor = ElmoPreprocessor.of(backbone, sequence_length=4)
    inputs = keras.Input((4, CHARACTERS), dtype="int32")
    vectors = ElmoEmbedding(backbone)(inputs)
    pooled = keras.layers.GlobalAveragePooling1D()(vectors)
    model = keras.Model(inputs, keras.layers.Dense(2)(pooled))
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    history = model.fit(Batches(preprocessor), verbose=0)
    assert np.isfinite(history.history["loss"][0])


@pytest.mark.skipif(
    keras.config.backend() == "tensorflow", reason="TensorFlow has strings"
)
def test_strings_into_a_model_say_where_they_belong():
    elmo = ElmoEmbedding(character_backbone())
    for strings in (TEXTS, np.array(TEXTS)):
        with pytest.raises(TypeError, match="ElmoPreprocessor"):
            elmo(strings)
