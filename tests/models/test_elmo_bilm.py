"""The language model: its loss and its two directions."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_elmo
from keras_elmo.training import perplexity
from tests.models_for_tests import character_backbone, word_backbone
from tests.sentence_batches import SentenceBatches

WORDS = ["the", "bank", "river", "is", "near", "open", ".", "!"]
SENTENCES = [
    ["the", "bank", "is", "open", "."],
    ["the", "river", "is", "near", "the", "bank", "."],
    ["open", "!"],
    [],
    ["the", "unseen", "river", "."],
]
VOCABULARY = keras_elmo.Vocabulary(["<S>", "</S>", "<UNK>", *WORDS])


def character_model(**changes):
    return keras_elmo.ElmoBiLM(character_backbone(**changes), len(VOCABULARY))


def test_a_uniform_model_has_the_perplexity_of_its_vocabulary():
    model = character_model()
    for weight in model.softmax.weights:
        weight.assign(np.zeros(weight.shape, "float32"))
    found = perplexity(model, SENTENCES, VOCABULARY, batch_size=2)
    # Words and one marker a sentence.
    assert found.pop("tokens") == sum(map(len, SENTENCES)) + len(SENTENCES)
    for value in found.values():
        assert value == pytest.approx(len(VOCABULARY), rel=1e-6)


def test_the_batch_size_changes_no_perplexity():
    model = character_model()
    one = perplexity(model, SENTENCES, VOCABULARY, batch_size=1)
    many = perplexity(model, SENTENCES, VOCABULARY, batch_size=5)
    assert one["forward_perplexity"] != one["backward_perplexity"]
    for name, value in one.items():
        assert many[name] == pytest.approx(value, rel=1e-5)
    mean = np.log([one["forward_perplexity"], one["backward_perplexity"]]).mean()
    assert one["perplexity"] == pytest.approx(np.exp(mean), rel=1e-6)


def test_sentences_may_come_from_a_generator():
    model = character_model()
    expected = perplexity(model, SENTENCES, VOCABULARY)
    assert perplexity(model, (s for s in SENTENCES), VOCABULARY) == expected


def test_the_streams_are_what_the_backbone_reads():
    """Training and use see the same vectors, in both directions."""
    model = character_model()
    kept = character_backbone(keep_boundaries=True)
    kept.set_weights(model.backbone.get_weights())
    sentence = SENTENCES[1]
    top = keras_elmo.embed([sentence], kept, layers="top")[0]
    x, _, weight = SentenceBatches(
        [sentence], model.backbone, VOCABULARY, batch_size=1
    )[0]
    hidden = model.predict_on_batch(x)
    count = int(weight["forward"].sum())
    assert count == len(sentence) + 1
    size = model.backbone.projection_dim
    np.testing.assert_allclose(hidden["forward"][0, :count], top[:-1, :size], atol=1e-6)
    np.testing.assert_allclose(
        hidden["backward"][0, :count], top[:0:-1, size:], atol=1e-6
    )


@pytest.mark.parametrize("tied", [False, True])
def test_the_loss_is_the_mean_of_both_directions(tied):
    if tied:
        model = keras_elmo.ElmoBiLM(word_backbone(WORDS), tie_embeddings=True)
    else:
        model = character_model()
    x, y, weight = SentenceBatches(SENTENCES, model.backbone, VOCABULARY, batch_size=8)[
        0
    ]
    hidden = model.predict_on_batch(x)
    if tied:
        kernel = model.backbone.token_embedder.table
        assert len(model.softmax.weights) == 1
    else:
        kernel = model.softmax.kernel
    kernel = np.asarray(ops.convert_to_numpy(kernel), "float64")
    bias = np.asarray(ops.convert_to_numpy(model.softmax.bias), "float64")
    losses = []
    for direction in ("forward", "backward"):
        scores = hidden[direction].astype("float64") @ kernel.T + bias
        scores -= np.log(np.exp(scores).sum(axis=-1, keepdims=True))
        nll = -np.take_along_axis(scores, y[direction][..., None], axis=-1)[..., 0]
        losses.append((nll * weight[direction]).sum() / weight[direction].sum())
    found = model.compute_loss(
        y={k: ops.convert_to_tensor(v) for k, v in y.items()},
        y_pred={k: ops.convert_to_tensor(v) for k, v in hidden.items()},
        sample_weight={k: ops.convert_to_tensor(v) for k, v in weight.items()},
    )
    assert float(ops.convert_to_numpy(found)) == pytest.approx(
        np.mean(losses), rel=1e-5
    )


def test_keras_files_hold_the_language_model(tmp_path):
    model = keras_elmo.ElmoBiLM(word_backbone(WORDS), tie_embeddings=True)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    expected = perplexity(model, SENTENCES, VOCABULARY)
    assert perplexity(again, SENTENCES, VOCABULARY) == expected
    assert again.backbone.vocabulary == model.backbone.vocabulary


def test_arguments_that_contradict_the_backbone_are_refused():
    with pytest.raises(ValueError, match="`vocabulary_size` must be given"):
        keras_elmo.ElmoBiLM(character_backbone())
    with pytest.raises(ValueError, match="`tie_embeddings` needs a backbone of word"):
        keras_elmo.ElmoBiLM(character_backbone(), 20, tie_embeddings=True)
