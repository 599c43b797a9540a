"""Sentences kept as ids or as layers, and models that stand behind the layers."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_elmo
from keras_elmo.tasks import encoding
from keras_elmo.tasks.batches import TaskBatches
from keras_elmo.tasks.encoding import (
    StoredLayers,
    TokenIds,
    copy_weights,
    encode,
    on_stored_layers,
)
from tests.models_for_tests import character_backbone, word_backbone

pytestmark = pytest.mark.once

SENTENCES = [
    ["the", "bank", "."],
    [],
    ["river"],
    ["the", "bank", "."],
    ["a", "river", "of", "unseen", "words", "x" * 40],
]
# float16 has 11 bits of a number: half of the last one, and below 2 ** -14 half of
# 2 ** -24; 1e-6: the sums of another batch.
HALF = {"rtol": 2.0**-11, "atol": 2.0**-25 + 1e-6}


def classifier(embedding, **changes):
    arguments = {"classes": ["a", "b"], "rnn_dim": 4, "dropout": 0.0, **changes}
    return keras_elmo.ElmoTextClassifier(embedding, **arguments)


def elmo(backbone=None, **options):
    return keras_elmo.ElmoEmbedding(backbone or character_backbone(), **options)


def outputs(model, inputs):
    x = TaskBatches(inputs, batch_size=8)[0]
    return [np.asarray(y) for y in keras.tree.flatten(model.predict_on_batch(x))]


@pytest.mark.parametrize("make", [character_backbone, word_backbone])
def test_ids_are_those_of_the_tokenizer_in_any_rows(make):
    tokenizer = keras_elmo.ElmoTokenizer.of(make())
    ids = TokenIds(iter(SENTENCES), tokenizer)
    assert ids.lengths.tolist() == [3, 0, 1, 3, 6]
    rows = np.array([4, 0, 1, 0])
    batch = ids.batch(rows, 6, 8)
    expected = np.zeros((6, 8, *batch.shape[2:]))
    found = tokenizer.encode_sentences([SENTENCES[row] for row in rows])
    expected[:4, :6] = found
    np.testing.assert_array_equal(batch, expected)
    assert batch.dtype == "int32"


def test_each_distinct_token_is_encoded_once():
    class Tokenizer(keras_elmo.ElmoTokenizer):
        def encode_tokens(self, tokens):
            asked.append(list(tokens))
            return super().encode_tokens(tokens)

    asked = []
    TokenIds(SENTENCES, Tokenizer(max_characters_per_token=16))
    (tokens,) = asked
    assert len(tokens) == len(set(tokens)) == 9


def test_no_sentences_are_none():
    model = classifier(elmo())
    assert encode(model, []).lengths.tolist() == []
    assert encode(on_stored_layers(model), []).lengths.tolist() == []
    assert model.predict_classes([]) == []
    tagger = keras_elmo.ElmoTokenClassifier(elmo(), ["a", "b"], rnn_dim=4)
    assert tagger.predict_tags([]) == []
    assert keras_elmo.ElmoQuestionAnswering(elmo(), rnn_dim=4).answer([], []) == []


@pytest.mark.parametrize("make", [character_backbone, word_backbone])
def test_stored_layers_are_those_of_embed(make):
    backbone = make()
    stored = StoredLayers((tuple(s) for s in SENTENCES), backbone)
    assert stored.lengths.tolist() == [3, 0, 1, 3, 6]
    rows = np.array([4, 1, 3, 2])
    batch = stored.batch(rows, 5, 8)
    assert batch.shape == (5, 3, 8, 8) and batch.dtype == "float32"
    for layers, row in zip(batch, rows, strict=False):
        sentence = SENTENCES[row]
        # Alone, so that it does not depend on the batch it was in.
        (expected,) = keras_elmo.embed([sentence], backbone, layers="all")
        np.testing.assert_allclose(layers[:, : len(sentence)], expected, **HALF)
        assert not layers[:, len(sentence) :].any()
        # No real token may pass for padding.
        assert (layers[:, : len(sentence)] != 0).any(axis=(0, 2)).all()
    assert not batch[4].any()


def test_what_is_held_takes_two_bytes_a_number():
    stored = StoredLayers(SENTENCES, character_backbone())
    assert {layers.dtype.name for layers in stored._layers} == {"float16"}


def test_repeated_sentences_are_computed_once(monkeypatch):
    def counting(sentences, *arguments, **options):
        asked.extend(sentences)
        return real(asked, *arguments, **options)

    asked, real = [], encoding.embed_iter
    monkeypatch.setattr(encoding, "embed_iter", counting)
    stored = StoredLayers([*SENTENCES, tuple(SENTENCES[0])], character_backbone())
    assert len(asked) == 4 and len(stored.lengths) == 6
    batch = stored.batch(np.array([0, 3, 5]), 3, 8)
    np.testing.assert_array_equal(batch[0], batch[1])
    np.testing.assert_array_equal(batch[0], batch[2])


@pytest.mark.parametrize("sentences", [["the bank"], [["the", 3]], "the bank"])
def test_what_is_no_token_list_is_refused(sentences):
    tokenizer = keras_elmo.ElmoTokenizer(max_characters_per_token=16)
    with pytest.raises(TypeError):
        TokenIds(sentences, tokenizer)
    with pytest.raises(TypeError):
        StoredLayers(sentences, character_backbone())


def test_a_text_where_a_list_of_texts_belongs_is_refused():
    with pytest.raises(TypeError, match="must come in a list"):
        classifier(elmo()).predict_classes("the bank")


def test_pairs_of_unequal_numbers_are_refused():
    model = keras_elmo.ElmoPairClassifier(character_backbone(), ["a", "b"], rnn_dim=4)
    with pytest.raises(ValueError, match="first: 2, second: 1"):
        model.predict_classes({"first": ["a b", "c"], "second": ["d"]})


def test_a_model_is_given_what_it_reads():
    model = classifier(elmo())
    assert isinstance(encode(model, SENTENCES), TokenIds)
    assert isinstance(encode(on_stored_layers(model), SENTENCES), StoredLayers)


# Each kind of embedding that a task can have: what differs from the defaults.
KINDS = {
    "mix": {},
    "two mixes": {"num_mixes": 2},
    "norm": {"layer_norm": True},
    "mean": {"layers": "mean"},
    "top": {"layers": "top"},
    "token vectors": {"layers": 0},
    "from the top": {"layers": -2},
    "weights": {"initial_mix_weights": [0.2, 0.7, 0.1], "mix_regularizer": 0.01},
    "held mix": {"trainable_mix": False, "initial_mix_weights": [0.0, 0.0, 1.0]},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_on_stored_layers_gives_what_the_model_gives(kind):
    model = classifier(elmo(**KINDS[kind]))
    twin = on_stored_layers(model)
    assert twin.get_stored_backbone() is model.embedding.backbone
    trained = {id(weight) for weight in model.embedding.backbone.weights}
    assert not trained & {id(weight) for weight in twin.weights}
    (one,) = outputs(model, {"tokens": encode(model, SENTENCES)})
    (other,) = outputs(twin, {"tokens": encode(twin, SENTENCES)})
    # float16 in between: 2 ** -11 of each number, of which some add up.
    spread = np.ptp(one[:5])
    assert spread > 1e-3
    np.testing.assert_allclose(other, one, atol=0.005 * spread)
    # What may be learned is the same too, in the same order.
    assert [w.shape for w in twin.trainable_weights] == [
        w.shape for w in model.trainable_weights
    ]


@pytest.mark.parametrize("make", [character_backbone, word_backbone])
def test_what_the_twin_learns_is_what_the_model_then_has(make):
    model = classifier(elmo(make(), num_mixes=2))
    twin = on_stored_layers(model)
    before = model.embedding.backbone.get_weights()
    twin.compile(keras.optimizers.Adam(0.05))
    targets = np.array([0, 1, 1, 0, 1], "int32")
    batches = TaskBatches({"tokens": encode(twin, SENTENCES)}, targets, 5)
    twin.fit(batches, epochs=3, verbose=0, shuffle=False)
    copy_weights(twin, model)
    (one,) = outputs(model, {"tokens": encode(model, SENTENCES)})
    (other,) = outputs(twin, {"tokens": encode(twin, SENTENCES)})
    np.testing.assert_allclose(other, one, atol=4e-3)
    gamma, mixes = twin.embedding.gamma, twin.embedding.mix_weights
    assert model.embedding.gamma == gamma and 1.0 not in gamma
    np.testing.assert_array_equal(model.embedding.mix_weights, mixes)
    for old, new in zip(before, model.embedding.backbone.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


def models():
    yield keras_elmo.ElmoTokenClassifier(
        elmo(num_mixes=2), ["O", "B-x", "I-x"], rnn_dim=4, num_rnn_layers=2, crf=True
    )
    yield classifier(elmo(num_mixes=2), kind="biattentive")
    yield keras_elmo.ElmoPairClassifier(elmo(), ["a", "b"], targets=True, rnn_dim=4)
    yield keras_elmo.ElmoQuestionAnswering(elmo(num_mixes=2), rnn_dim=4)


def without_numbers(path):
    """A weight's path without the numbers that Keras gives to names it has had."""
    parts = path.removeprefix("elmo_embedding/").split("/")
    kept = ("mix_", "rnn_")
    return [
        part
        if part.startswith(kept)
        else part.rstrip("0123456789").rstrip("_").removeprefix("elmo_embedding")
        for part in parts
        if not part.startswith("elmo_embedding")
    ]


@pytest.mark.parametrize("number", range(4))
def test_weights_go_to_those_of_their_name(number):
    model = list(models())[number]
    twin = on_stored_layers(model)
    for source, target in ((model, twin), (twin, model)):
        for i, weight in enumerate(encoding._own_weights(source)):
            weight.assign(np.full(weight.shape, i + 0.5))
        copy_weights(source, target)
        pairs = list(
            zip(
                encoding._own_weights(source),
                encoding._own_weights(target),
                strict=True,
            )
        )
        for i, (one, other) in enumerate(pairs):
            assert without_numbers(one.path) == without_numbers(other.path)
            np.testing.assert_array_equal(ops.convert_to_numpy(other), i + 0.5)
    # A copy: what happens to one later does not happen to the other.
    pairs[-1][0].assign(np.full(pairs[-1][0].shape, -7.0))
    assert (ops.convert_to_numpy(pairs[-1][1]) != -7.0).all()


def test_weights_of_other_shapes_are_refused_and_nothing_is_copied():
    source, target = classifier(elmo()), classifier(elmo(), rnn_dim=5)
    before = target.get_weights()
    with pytest.raises(ValueError, match="is not"):
        copy_weights(source, target)
    for old, new in zip(before, target.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
    with pytest.raises(ValueError):
        copy_weights(source, classifier(elmo(num_mixes=2)))
