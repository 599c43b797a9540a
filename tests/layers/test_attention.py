"""The layers between texts against loops over their formulas."""

import keras
import numpy as np
import pytest

from keras_elmo import (
    Attend,
    BidirectionalAttention,
    PoolTokens,
    SpanScores,
    TokenAt,
)
from tests.helpers import check_layer, to_arrays

RNG = np.random.default_rng(3)
TEXT = RNG.normal(size=(3, 4, 5)).astype("float32")
OTHER = RNG.normal(size=(3, 6, 5)).astype("float32")
TEXT_MASK = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]], bool)
OTHER_MASK = np.array(
    [[1, 1, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1]], bool
)
TOLERANCE = {"atol": 2e-6, "rtol": 1e-5}


def softmax(scores):
    scores = np.exp(scores - scores.max())
    return scores / scores.sum()


def test_each_token_gets_the_tokens_that_are_like_it():
    (actual,) = to_arrays(Attend()([TEXT, OTHER], mask=[TEXT_MASK, OTHER_MASK]))
    for b in range(3):
        keys = OTHER[b][OTHER_MASK[b]].astype("float64")
        for t in range(4):
            expected = softmax(keys @ TEXT[b, t]) @ keys
            np.testing.assert_allclose(actual[b, t], expected, **TOLERANCE)


def test_a_text_without_tokens_gives_zeros():
    (actual,) = to_arrays(Attend()([OTHER, TEXT], mask=[OTHER_MASK, TEXT_MASK]))
    np.testing.assert_array_equal(actual[2], 0.0)
    assert np.isfinite(actual).all()


def test_sums_are_over_real_tokens():
    layer = PoolTokens(["max", "mean", "min", "attention"])
    layer.build(TEXT.shape)
    query = RNG.normal(size=5).astype("float32")
    layer.query.assign(query)
    (actual,) = to_arrays(layer(TEXT, mask=TEXT_MASK))
    for b in range(2):
        real = TEXT[b][TEXT_MASK[b]].astype("float64")
        attended = softmax(real @ query) @ real
        expected = [real.max(0), real.mean(0), real.min(0), attended]
        np.testing.assert_allclose(actual[b], np.concatenate(expected), **TOLERANCE)
    np.testing.assert_array_equal(actual[2], 0.0)


def test_a_wrong_sum_is_refused():
    with pytest.raises(ValueError, match="kinds"):
        PoolTokens(["median"])


def test_one_token_is_picked():
    (actual,) = to_arrays(TokenAt()([TEXT, np.array([3, 0, 1], "int32")]))
    np.testing.assert_array_equal(actual, TEXT[[0, 1, 2], [3, 0, 1]])


def test_bidirectional_attention_is_its_formula():
    layer = BidirectionalAttention()
    layer.build([TEXT.shape, OTHER.shape])
    weights = [RNG.normal(size=w.shape).astype("float32") for w in layer.weights]
    layer.set_weights(weights)
    w_text, w_question, w_product, bias = (w.astype("float64") for w in weights)
    (actual,) = to_arrays(layer([TEXT, OTHER], mask=[TEXT_MASK, OTHER_MASK]))
    for b in range(2):
        text = TEXT[b][TEXT_MASK[b]].astype("float64")
        question = OTHER[b][OTHER_MASK[b]].astype("float64")
        scores = np.array(
            [
                [w_text @ t + w_question @ q + w_product @ (t * q) + bias]
                for t in text
                for q in question
            ]
        ).reshape(len(text), len(question))
        told = softmax(scores.max(axis=1)) @ text
        for t, row in enumerate(scores):
            asked = softmax(row) @ question
            expected = [text[t], asked, text[t] * asked, text[t] * told]
            np.testing.assert_allclose(
                actual[b, t], np.concatenate(expected), atol=1e-5, rtol=1e-5
            )
    assert np.isfinite(actual).all()


def test_padding_never_wins():
    layer = SpanScores()
    scores = to_arrays(layer(TEXT, mask=TEXT_MASK))[0]
    assert (scores[~TEXT_MASK] < -1e8).all()
    expected = TEXT @ to_arrays(layer.kernel)[0][:, 0]
    np.testing.assert_allclose(scores[TEXT_MASK], expected[TEXT_MASK], **TOLERANCE)


@pytest.mark.parametrize(
    "cls, arguments, inputs, mask, shape, weights",
    [
        (Attend, {}, [TEXT, OTHER], [TEXT_MASK, OTHER_MASK], (3, 4, 5), 0),
        (PoolTokens, {"kinds": ["max", "attention"]}, TEXT, TEXT_MASK, (3, 10), 1),
        (
            BidirectionalAttention,
            {},
            [TEXT, OTHER],
            [TEXT_MASK, OTHER_MASK],
            (3, 4, 20),
            4,
        ),
    ],
)
def test_layer_contract(cls, arguments, inputs, mask, shape, weights):
    check_layer(cls, arguments, inputs, shape, weights, call_kwargs={"mask": mask})


@pytest.mark.parametrize("kind", ["attend", "bidirectional", "pool"])
def test_a_text_without_tokens_changes_no_gradient(kind):
    def trained(texts, questions, targets):
        """The weights behind one step of SGD."""
        keras.utils.set_random_seed(0)
        text, question = keras.Input((None,), dtype="int32"), keras.Input((None,))
        vectors = keras.layers.Embedding(9, 4, mask_zero=True)
        x, y = vectors(text), vectors(question)
        if kind == "attend":
            x = PoolTokens(["mean"])(Attend()([x, y]))
        elif kind == "bidirectional":
            x = PoolTokens(["mean"])(BidirectionalAttention()([x, y]))
        else:
            x = keras.layers.Add()([PoolTokens(["attention"])(z) for z in (x, y)])
        model = keras.Model([text, question], keras.layers.Dense(1)(x))
        model.compile(keras.optimizers.SGD(0.1), keras.losses.MeanSquaredError("sum"))
        model.train_on_batch([texts, questions], targets)
        return model.get_weights()

    texts = np.array([[1, 2, 3], [4, 5, 0]], "int32")
    questions = np.array([[6, 7], [8, 0]], "int32")
    targets = np.array([[1.0], [-1.0]], "float32")
    expected = trained(texts, questions, targets)
    # Its score is the bias, 0, which is its target: it has no loss.
    padded = (np.pad(x, ((0, 1), (0, 0))) for x in (texts, questions, targets))
    for after, before in zip(trained(*padded), expected, strict=True):
        np.testing.assert_allclose(after, before, atol=1e-6)
