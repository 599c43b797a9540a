"""The same sentence has the same vectors, whatever else there is."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_elmo
from tests.helpers import next_backend, run_python
from tests.models_for_tests import CHARACTERS, character_backbone

# float32 sums of another order.
ATOL = 1e-6
SENTENCE = ["The", "bank", "of", "the", "river", "."]
DIM = 8


@pytest.fixture(scope="module")
def backbone():
    return character_backbone()


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(3)
    words = np.array(["the", "a", "bank", "river", "naïve", "日本", "", "!"])
    return [list(map(str, rng.choice(words, rng.integers(0, 7)))) for _ in range(1000)]


def arrays(layers):
    return [np.asarray(ops.convert_to_numpy(layer)) for layer in layers]


def test_any_batch_size_and_order(backbone, many):
    expected = keras_elmo.embed(many, backbone, batch_size=1000, max_tokens=100_000)
    by_seven = keras_elmo.embed(many, backbone, batch_size=7)
    np.testing.assert_allclose(by_seven, expected, atol=ATOL)
    some = slice(0, 60)
    one_by_one = keras_elmo.embed(many[some], backbone, batch_size=1)
    longest = one_by_one.shape[1]
    np.testing.assert_allclose(one_by_one, expected[some, :longest], atol=ATOL)
    order = np.random.default_rng(4).permutation(len(many))
    shuffled = keras_elmo.embed([many[i] for i in order], backbone)
    np.testing.assert_allclose(shuffled, expected[order], atol=ATOL)


def test_alone_repeated_and_after_others(backbone, many):
    first = keras_elmo.embed([SENTENCE], backbone, layers="all")
    keras_elmo.embed(many[:50], backbone)
    again = keras_elmo.embed([SENTENCE], backbone, layers="all")
    np.testing.assert_array_equal(first, again)
    beside = keras_elmo.embed([[], SENTENCE, SENTENCE * 5], backbone, layers="all")
    np.testing.assert_allclose(beside[1, :, :6], first[0], atol=ATOL)
    assert not beside[1, :, 6:].any()
    assert not beside[0].any()


def test_padding_of_the_model_itself(backbone):
    ids = keras_elmo.text.encode_sentences([SENTENCE], CHARACTERS)
    expected = arrays(backbone(ids))
    padded = np.zeros((3, 12, CHARACTERS), "int32")
    padded[0, :6] = ids[0]
    padded[1, 6:] = ids[0]  # padded on the left: no word is lost
    for layer, alone in zip(arrays(backbone(padded)), expected, strict=True):
        np.testing.assert_allclose(layer[0, :6], alone[0], atol=ATOL)
        np.testing.assert_allclose(layer[1, 6:], alone[0], atol=ATOL)
        assert not layer[0, 6:].any() and not layer[1, :6].any()
        assert not layer[2].any()
    predicted = backbone.predict(padded, verbose=0)
    for layer, alone in zip(predicted, expected, strict=True):
        np.testing.assert_allclose(layer[0, :6], alone[0], atol=ATOL)


def test_after_a_reload(backbone, tmp_path):
    expected = keras_elmo.embed([SENTENCE], backbone)
    backbone.save(tmp_path / "model.keras")
    backbone.save_to_preset(tmp_path / "preset")
    for again in (
        keras.saving.load_model(tmp_path / "model.keras"),
        keras_elmo.ElmoBackbone.from_preset(tmp_path / "preset"),
    ):
        np.testing.assert_array_equal(keras_elmo.embed([SENTENCE], again), expected)


PROGRAM = """
import sys
import keras
import numpy as np
import keras_elmo
backbone = keras.saving.load_model(sys.argv[1])
sentences = [["The", "bank", "of", "the", "river", "."]]
np.save(sys.argv[2], keras_elmo.embed(sentences, backbone, layers="all"))
"""


def test_in_another_process_on_another_backend(backbone, tmp_path):
    backbone.save(tmp_path / "model.keras")
    run_python(
        PROGRAM, tmp_path / "model.keras", tmp_path / "out.npy", backend=next_backend()
    )
    expected = keras_elmo.embed([SENTENCE], backbone, layers="all")
    # Across backends.
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), expected, atol=1e-5)


def test_empty_tokens_and_odd_ones(backbone):
    tokens = ["", "字" * 60, "\ud800", "\ud800x", "é", "e\u0301", "\x00", "x"]
    vectors = keras_elmo.embed([tokens], backbone, layers=0)[0]
    assert vectors.shape == (8, DIM) and np.isfinite(vectors).all()
    assert vectors.any(axis=-1).all()  # each is a token, "" too
    np.testing.assert_array_equal(vectors[0], vectors[2])  # lone surrogates vanish
    np.testing.assert_array_equal(vectors[3], vectors[7])
    assert np.abs(vectors[4] - vectors[5]).max() > 1e-4  # nothing is normalised


def test_one_token_and_ten_thousand(backbone):
    one = keras_elmo.embed([["a"]], backbone)
    assert one.shape == (1, 1, DIM) and np.isfinite(one).all()
    long = keras_elmo.embed([["a", "b"] * 5000], backbone, layers="all")
    assert long.shape == (1, 3, 10_000, DIM) and np.isfinite(long).all()


@pytest.mark.parametrize("wrong", [262, 500, -1])
def test_ids_out_of_range_are_refused_before_anything_runs(backbone, wrong):
    ids = keras_elmo.text.encode_sentences([SENTENCE], CHARACTERS)
    ids[0, 1, 2] = wrong
    for call in (
        backbone,
        lambda x: backbone(ops.convert_to_tensor(x)),
        lambda x: backbone.predict(x, verbose=0),
        backbone.predict_on_batch,
    ):
        with pytest.raises(ValueError, match=f"from 0 to 261.*an id of {wrong}"):
            call(ids)


def test_sentence_vectors_leave_padding_out(backbone):
    alone = keras_elmo.embed([SENTENCE], backbone, pooling="mean")
    beside = keras_elmo.embed([SENTENCE, SENTENCE * 10], backbone, pooling="mean")
    np.testing.assert_allclose(beside[0], alone[0], atol=ATOL)


def test_no_global_state_is_touched(backbone):
    before = np.random.get_state()[1].copy()
    keras_elmo.embed([SENTENCE], backbone)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_lower_precision_is_close(backbone, policy):
    low = character_backbone(dtype=policy)
    low.set_weights(backbone.get_weights())
    expected = keras_elmo.embed([SENTENCE], backbone).ravel()
    got = keras_elmo.embed([SENTENCE], low).ravel()
    assert np.isfinite(got).all()
    cosine = got @ expected / np.linalg.norm(got) / np.linalg.norm(expected)
    assert cosine > 0.999
