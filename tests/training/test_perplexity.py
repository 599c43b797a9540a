"""Perplexities against plain NumPy and worked by hand."""

import importlib
import math
import tracemalloc

import numpy as np
import pytest
from keras import ops

import keras_elmo
from keras_elmo import backend
from keras_elmo.inference import Inference
from keras_elmo.training import perplexity, unigram_perplexity
from tests.models_for_tests import character_backbone, word_backbone
from tests.sentence_batches import SentenceBatches

# `keras_elmo.training.perplexity` is the function.
module = importlib.import_module("keras_elmo.training.perplexity")
# Of one block of words, and of several.
SMALL, LARGE = 9, 10_000
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
    backbone = character_backbone(**changes)
    return keras_elmo.ElmoBiLM(backbone, size, dtype=changes.get("dtype"))


@pytest.fixture(scope="module")
def shared_models():
    """Models by the size of their vocabulary: JAX compiles each for seconds."""
    return {size: language_model(size) for size in (SMALL, LARGE)}


@pytest.fixture
def models(shared_models):
    """The shared models, their softmax far from uniform whatever was done to them."""
    for model in shared_models.values():
        for weight in model.softmax.weights:
            weight.assign(np.random.normal(size=weight.shape).astype("float32"))
    return shared_models


@pytest.fixture
def small(models):
    return models[SMALL]


def brute_force(model, sentences, vocabulary):
    """Perplexities from all scores at once, in float64."""
    kernel = ops.convert_to_numpy(model.softmax_kernel).astype("float64")
    bias = ops.convert_to_numpy(model.softmax.bias).astype("float64")
    losses = {"forward": [], "backward": []}
    for x, y, weight in SentenceBatches(sentences, model.backbone, vocabulary):
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


@pytest.mark.once
@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_a_uniform_model_has_the_perplexity_of_its_vocabulary(models, size):
    for weight in models[size].softmax.weights:
        weight.assign(np.zeros(weight.shape, "float32"))
    found = perplexity(models[size], SENTENCES, vocabulary_of(size))
    assert found.pop("tokens") == 6 + 1 + 4 + 0 + 18 + len(SENTENCES)
    for value in found.values():
        assert value == pytest.approx(size, rel=1e-6)


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_perplexity_equals_a_softmax_of_all_words_at_once(models, size):
    vocabulary = vocabulary_of(size)
    expected = brute_force(models[size], SENTENCES, vocabulary)
    found = perplexity(models[size], SENTENCES, vocabulary)
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.once
def test_perplexity_of_a_tied_softmax():
    backbone = word_backbone(("the", "bank", "river", "."))
    model = keras_elmo.ElmoBiLM(backbone, tie_embeddings=True)
    model.softmax.bias.assign(np.random.normal(size=7).astype("float32"))
    expected = brute_force(model, SENTENCES, backbone.vocabulary)
    found = perplexity(model, SENTENCES, backbone.vocabulary)
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.once
def test_perplexity_is_that_of_the_models_own_loss(small):
    model, vocabulary = small, vocabulary_of(SMALL)
    (x, y, weight) = SentenceBatches(SENTENCES, model.backbone, vocabulary)[0]
    hidden = model.predict_on_batch(x)
    found = perplexity(model, SENTENCES, vocabulary)
    for direction in ("forward", "backward"):
        losses = ops.convert_to_numpy(model.nll(hidden[direction], y[direction]))
        mean = losses[weight[direction] > 0].mean()
        assert found[f"{direction}_perplexity"] == pytest.approx(np.exp(mean), rel=1e-5)


@pytest.mark.once
def test_tokens_by_hand(small):
    model, vocabulary = small, vocabulary_of(SMALL)
    # "the bank </S>" and "open </S>"; backward "bank the <S>" and "open <S>".
    found = perplexity(model, [["the", "bank"], ["open"]], vocabulary)
    assert found["tokens"] == 5


@pytest.mark.once
def test_odds_that_ignore_the_sentence_by_hand(small):
    model, vocabulary = small, vocabulary_of(SMALL)
    odds = np.arange(1, SMALL + 1) / 45
    model.softmax.kernel.assign(np.zeros((SMALL, 4), "float32"))
    model.softmax.bias.assign(np.log(odds).astype("float32"))
    found = perplexity(model, [["the", "unseen"], []], vocabulary)
    # Rows: <S> </S> <UNK> the. Forward "the <UNK> </S>" and "</S>"; backward
    # "<UNK> the <S>" and "<S>".
    nats = -np.log(odds)
    forward = (nats[3] + nats[2] + 2 * nats[1]) / 4
    backward = (nats[3] + nats[2] + 2 * nats[0]) / 4
    assert found == pytest.approx(
        {
            "forward_perplexity": np.exp(forward),
            "backward_perplexity": np.exp(backward),
            "perplexity": np.exp(0.5 * (forward + backward)),
            "tokens": 4,
        },
        rel=1e-5,
    )


@pytest.mark.once
def test_batches_and_windows_change_no_perplexity(small, monkeypatch):
    model, vocabulary = small, vocabulary_of(SMALL)
    expected = perplexity(model, SENTENCES, vocabulary)
    for batch_size, window, positions, words in (
        (32, 1, 1024, 4096),
        (3, 2, 1024, 4096),
        (3, 100, 7, 5),
    ):
        monkeypatch.setattr(module, "WINDOW", window)
        monkeypatch.setattr(module, "POSITIONS", positions)
        monkeypatch.setattr(module, "WORDS", words)
        found = perplexity(model, iter(SENTENCES), vocabulary, batch_size)
        assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.once
def test_text_is_read_window_by_window(small, monkeypatch):
    """No more sentences are taken from an iterator than are looked at together."""
    monkeypatch.setattr(module, "WINDOW", 2)
    model, vocabulary = small, vocabulary_of(SMALL)
    taken, scored = 0, []

    def sentences():
        nonlocal taken
        for sentence in SENTENCES:
            taken += 1
            yield sentence

    inference = Inference.of(model.backbone)
    embed = inference.token_vectors

    def spy(tokens):
        scored.append(taken)
        return embed(tokens)

    monkeypatch.setattr(inference, "token_vectors", spy)
    perplexity(model, sentences(), vocabulary)
    assert scored == [2, 4, 5]


@pytest.mark.once
def test_a_large_vocabulary_needs_no_scores_of_all_its_words(models, monkeypatch):
    """NumPy's memory, and the sizes of all that is multiplied."""
    model, vocabulary = models[LARGE], vocabulary_of(LARGE)
    multiply, sizes = backend.product, []

    def spy(*tensors):
        scores = multiply(*tensors)
        sizes.append(math.prod(scores.shape))
        return scores

    monkeypatch.setattr(module.backend, "product", spy)
    tracemalloc.start()
    perplexity(model, [["the", "river"] * 15] * 40, vocabulary)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Two directions, two chunks of positions, three blocks of words.
    blocks = [n for n in sizes if n > 1e6]
    assert sum(blocks) == 2 * 2 * 1024 * LARGE
    assert max(sizes) == 1 << 22
    assert peak < 64e6


@pytest.mark.once
def test_low_precision_models_have_a_float32_softmax():
    model = language_model(SMALL, dtype="mixed_bfloat16")
    vocabulary = vocabulary_of(SMALL)
    for weight in model.softmax.weights:
        weight.assign(np.random.normal(size=weight.shape).astype("float32"))
    expected = brute_force(model, SENTENCES, vocabulary)
    found = perplexity(model, SENTENCES, vocabulary)
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.once
def test_a_model_beyond_all_floats_has_an_infinite_perplexity(small):
    model, vocabulary = small, vocabulary_of(SMALL)
    model.softmax.kernel.assign(np.zeros((9, 4), "float32"))
    model.softmax.bias.assign(np.array([1e4] + [0] * 8, "float32"))
    found = perplexity(model, [["the"]], vocabulary)
    assert found["forward_perplexity"] == math.inf
    model.softmax.bias.assign(np.full(9, np.nan, "float32"))
    found = perplexity(model, [["the"]], vocabulary)
    assert math.isnan(found["perplexity"])


@pytest.mark.once
def test_what_is_no_text_is_refused(small):
    model, vocabulary = small, vocabulary_of(SMALL)
    for nothing in ([], iter(())):
        with pytest.raises(ValueError, match="at least one sentence"):
            perplexity(model, nothing, vocabulary)
    with pytest.raises(TypeError, match=r"sentences\[1\]"):
        perplexity(model, [["the"], "the bank"], vocabulary)
    with pytest.raises(ValueError, match=r"softmax \(=9\). Received: 10 words"):
        perplexity(model, SENTENCES, vocabulary_of(10))
    with pytest.raises(ValueError, match="batch_size=0"):
        perplexity(model, SENTENCES, vocabulary, batch_size=0)


@pytest.mark.once
def test_a_perplexity_leaves_the_model_as_it_was(small):
    model, vocabulary = small, vocabulary_of(SMALL)
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
