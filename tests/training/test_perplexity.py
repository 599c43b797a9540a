"""Perplexities against plain NumPy and worked by hand."""

import importlib
import math
import tracemalloc

import numpy as np
import pytest
from keras import ops

import keras_elmo
from keras_elmo.data.sentence_batches import SentenceBatches
from keras_elmo.training import perplexity, unigram_perplexity
from tests.models_for_tests import character_backbone, word_backbone

# `keras_elmo.training.perplexity` is the function.
module = importlib.import_module("keras_elmo.training.perplexity")
SENTENCES = [
    ["the", "bank", "of", "the", "river", "."],
    ["open"],
    ["the", "unseen", "bank", "."],
    [],
    ["the", "river"] * 9,
]


def vocabulary_of(size):
    words = ["the", "bank", "of", "river", "open", "."]
    words += [f"w{i}" for i in range(size - 3 - len(words))]
    return keras_elmo.Vocabulary(["<S>", "</S>", "<UNK>", *words])


def language_model(size, **changes):
    """A model whose softmax is far from uniform."""
    backbone = character_backbone(**changes)
    model = keras_elmo.ElmoBiLM(backbone, size, dtype=changes.get("dtype"))
    for weight in model.softmax.weights:
        weight.assign(np.random.normal(size=weight.shape).astype("float32"))
    return model


def brute_force(model, sentences, vocabulary):
    """Perplexities from all scores at once, in float64."""
    kernel = ops.convert_to_numpy(model.softmax_kernel).astype("float64")
    bias = ops.convert_to_numpy(model.softmax.bias).astype("float64")
    losses = {"forward": [], "backward": []}
    for x, y, weight in SentenceBatches(sentences, model.backbone, vocabulary, 1):
        hidden = model.predict_on_batch(x)
        for direction, found in losses.items():
            scores = hidden[direction].astype("float64") @ kernel.T + bias
            scores -= np.log(np.exp(scores).sum(axis=-1, keepdims=True))
            odds = np.take_along_axis(scores, y[direction][..., None], axis=-1)[..., 0]
            found.extend(-odds[weight[direction] > 0])
    means = {direction: np.mean(found) for direction, found in losses.items()}
    return {
        "forward_perplexity": np.exp(means["forward"]),
        "backward_perplexity": np.exp(means["backward"]),
        "perplexity": np.exp(0.5 * (means["forward"] + means["backward"])),
        "tokens": len(losses["forward"]),
    }


@pytest.mark.parametrize("size", [9, 4096, 10_000])
def test_a_uniform_model_has_the_perplexity_of_its_vocabulary(size):
    """Of one block of words, of exactly one, and of several."""
    model = keras_elmo.ElmoBiLM(character_backbone(), size)
    model.softmax.kernel.assign(np.zeros((size, 4), "float32"))
    found = perplexity(model, SENTENCES, vocabulary_of(size))
    assert found.pop("tokens") == 6 + 1 + 4 + 0 + 18 + len(SENTENCES)
    for value in found.values():
        assert value == pytest.approx(size, rel=1e-6)


@pytest.mark.parametrize("size", [9, 10_000])
def test_perplexity_equals_a_softmax_of_all_words_at_once(size):
    model, vocabulary = language_model(size), vocabulary_of(size)
    expected = brute_force(model, SENTENCES, vocabulary)
    assert perplexity(model, SENTENCES, vocabulary) == pytest.approx(expected, rel=1e-6)


def test_perplexity_of_a_tied_softmax():
    backbone = word_backbone(("the", "bank", "river", "."))
    model = keras_elmo.ElmoBiLM(backbone, tie_embeddings=True)
    model.softmax.bias.assign(np.random.normal(size=7).astype("float32"))
    expected = brute_force(model, SENTENCES, backbone.vocabulary)
    found = perplexity(model, SENTENCES, backbone.vocabulary)
    assert found == pytest.approx(expected, rel=1e-6)


def test_perplexity_is_that_of_the_models_own_loss():
    model, vocabulary = language_model(9), vocabulary_of(9)
    (x, y, weight) = SentenceBatches(SENTENCES, model.backbone, vocabulary, 8)[0]
    hidden = model.predict_on_batch(x)
    found = perplexity(model, SENTENCES, vocabulary)
    for direction in ("forward", "backward"):
        losses = ops.convert_to_numpy(model.nll(hidden[direction], y[direction]))
        mean = losses[weight[direction] > 0].mean()
        assert found[f"{direction}_perplexity"] == pytest.approx(np.exp(mean), rel=1e-5)


def test_tokens_by_hand():
    model, vocabulary = language_model(9), vocabulary_of(9)
    # "the bank </S>" and "open </S>"; backward "bank the <S>" and "open <S>".
    found = perplexity(model, [["the", "bank"], ["open"]], vocabulary)
    assert found["tokens"] == 5


def test_batches_and_windows_change_no_perplexity(monkeypatch):
    model, vocabulary = language_model(50), vocabulary_of(50)
    expected = perplexity(model, SENTENCES, vocabulary)
    for batch_size in (1, 3):
        for window in (1, 2, 100):
            for positions, words in ((1024, 4096), (7, 4096), (7, 13)):
                monkeypatch.setattr(module, "WINDOW", window)
                monkeypatch.setattr(module, "POSITIONS", positions)
                monkeypatch.setattr(module, "WORDS", words)
                found = perplexity(model, iter(SENTENCES), vocabulary, batch_size)
                assert found == pytest.approx(expected, rel=1e-6)


def test_text_is_read_window_by_window(monkeypatch):
    """No more sentences are taken from an iterator than are looked at together."""
    monkeypatch.setattr(module, "WINDOW", 2)
    model, vocabulary = language_model(9), vocabulary_of(9)
    taken, scored = 0, []

    def sentences():
        nonlocal taken
        for sentence in SENTENCES:
            taken += 1
            yield sentence

    predict = model.predict_on_batch

    def spy(x):
        scored.append(taken)
        return predict(x)

    monkeypatch.setattr(model, "predict_on_batch", spy)
    perplexity(model, sentences(), vocabulary, batch_size=2)
    assert scored == [2, 4, 5]


def test_a_large_vocabulary_needs_no_scores_of_all_its_words(monkeypatch):
    """NumPy's memory, and the sizes of all that is multiplied."""
    size = 50_000
    model, vocabulary = language_model(size), vocabulary_of(size)
    multiply, sizes = ops.matmul, []

    def spy(a, b):
        scores = multiply(a, b)
        sizes.append(math.prod(scores.shape))
        return scores

    monkeypatch.setattr(module.ops, "matmul", spy)
    tracemalloc.start()
    perplexity(model, [["the", "river"] * 700], vocabulary)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Two directions, two chunks of positions, 13 blocks of words.
    assert sum(n > 1e6 for n in sizes) >= 4 * 12
    assert max(sizes) <= 1 << 22
    assert peak < 64e6


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_low_precision_models_have_a_float32_softmax(policy):
    model, vocabulary = language_model(9, dtype=policy), vocabulary_of(9)
    expected = brute_force(model, SENTENCES, vocabulary)
    found = perplexity(model, SENTENCES, vocabulary)
    # The layers below it round differently in each batch.
    assert found == pytest.approx(expected, rel=2e-2)
    model.softmax.kernel.assign(np.zeros((9, 4), "float32"))
    model.softmax.bias.assign(np.zeros(9, "float32"))
    found = perplexity(model, SENTENCES, vocabulary)
    assert found["perplexity"] == pytest.approx(9, rel=1e-6)


def test_a_model_beyond_all_floats_has_an_infinite_perplexity():
    model, vocabulary = language_model(9), vocabulary_of(9)
    model.softmax.kernel.assign(np.zeros((9, 4), "float32"))
    model.softmax.bias.assign(np.array([1e4] + [0] * 8, "float32"))
    found = perplexity(model, [["the"]], vocabulary)
    assert found["forward_perplexity"] == math.inf
    model.softmax.bias.assign(np.full(9, np.nan, "float32"))
    found = perplexity(model, [["the"]], vocabulary)
    assert math.isnan(found["perplexity"])


def test_what_is_no_text_is_refused():
    model, vocabulary = language_model(9), vocabulary_of(9)
    for nothing in ([], iter(())):
        with pytest.raises(ValueError, match="at least one sentence"):
            perplexity(model, nothing, vocabulary)
    with pytest.raises(TypeError, match=r"sentences\[1\]"):
        perplexity(model, [["the"], "the bank"], vocabulary)
    with pytest.raises(ValueError, match=r"softmax \(=9\). Received: 10 words"):
        perplexity(model, SENTENCES, vocabulary_of(10))
    with pytest.raises(ValueError, match="batch_size=0"):
        perplexity(model, SENTENCES, vocabulary, batch_size=0)


def test_a_perplexity_leaves_the_model_as_it_was():
    model, vocabulary = language_model(9), vocabulary_of(9)
    before = [ops.convert_to_numpy(w) for w in model.variables]
    perplexity(model, SENTENCES, vocabulary)
    for variable, value in zip(model.variables, before, strict=True):
        np.testing.assert_array_equal(ops.convert_to_numpy(variable), value)


def test_unigram_perplexity_by_hand():
    vocabulary = keras_elmo.Vocabulary(["<S>", "</S>", "<UNK>", "a", "b"])
    train = [["a", "a", "b"], ["a", "z"]]
    # Counts and one each: </S> 2 + 1, <UNK> 1 + 1, a 3 + 1, b 1 + 1, <S> 0 + 1; of 12.
    held_out = [["a", "q"], ["b"]]
    odds = [4 / 12, 2 / 12, 3 / 12, 2 / 12, 3 / 12]
    expected = math.exp(-sum(map(math.log, odds)) / 5)
    assert unigram_perplexity(train, held_out, vocabulary) == pytest.approx(expected)
