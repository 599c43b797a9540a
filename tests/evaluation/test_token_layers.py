"""Vectors of tokens: those of `embed`, computed once."""

import numpy as np
import pytest

import keras_elmo
from keras_elmo.evaluation import token_layers
from keras_elmo.evaluation.token_layers import TokenLayers, choose_layer
from keras_elmo.text.dictionaries import MARKERS
from tests.evaluation.word_files import strong_backbone
from tests.models_for_tests import dictionaries_backbone

SENTENCES = [["the", "bank", "."], [], ["a", "muddy", "river", "bank"]]


@pytest.fixture
def calls(monkeypatch):
    """How many times a model has run."""
    made = []
    embed_iter = token_layers.embed_iter

    def counted(*arguments, **options):
        made.append(1)
        return embed_iter(*arguments, **options)

    monkeypatch.setattr(token_layers, "embed_iter", counted)
    return made


def test_they_are_those_of_embed():
    backbone = strong_backbone()
    layers = TokenLayers(backbone)
    found = layers.tokens(SENTENCES)
    assert layers.number == 3
    assert found.shape == (7, 3, 8) and found.dtype == np.float16
    expected = keras_elmo.embed(SENTENCES, backbone, layers="all")
    wanted = np.concatenate([expected[0, :, :3], expected[2, :, :4]], axis=1)
    np.testing.assert_allclose(found, wanted.swapaxes(0, 1), atol=2e-3, rtol=1e-3)
    uses = layers.uses([SENTENCES[0], SENTENCES[2]], [1, 3])
    np.testing.assert_array_equal(uses.vectors, found[[1, 6]])
    means = [expected[0, :, :3].mean(axis=1), expected[2].mean(axis=1)]
    np.testing.assert_allclose(uses.sentence_means, means, atol=2e-3, rtol=1e-3)


@pytest.mark.once
def test_sentence_markers_are_left_out():
    with_markers = strong_backbone(keep_boundaries=True)
    np.testing.assert_array_equal(
        TokenLayers(with_markers).tokens(SENTENCES),
        TokenLayers(strong_backbone()).tokens(SENTENCES),
    )


@pytest.mark.once
def test_a_cache_serves_what_it_was_made_for_alone(tmp_path, calls):
    backbone, folder = strong_backbone(), tmp_path / "new" / "cache"
    found = TokenLayers(backbone, folder).tokens(SENTENCES)
    assert len(calls) == 1
    # The same weights of another object; more or other sentences; other positions.
    again = TokenLayers(strong_backbone(), folder)
    np.testing.assert_array_equal(again.tokens(SENTENCES), found)
    assert len(calls) == 1
    again.tokens(SENTENCES[:1])
    again.uses(SENTENCES[:1], [0])
    again.uses(SENTENCES[:1], [1])
    again.uses(SENTENCES[:1], [1])
    assert len(calls) == 4
    weights = backbone.get_weights()
    weights[-1] = weights[-1] + 1.0
    backbone.set_weights(weights)
    assert not np.array_equal(TokenLayers(backbone, folder).tokens(SENTENCES), found)
    assert len(calls) == 5
    assert len(list(folder.iterdir())) == 5


@pytest.mark.once
def test_a_cache_of_a_model_with_dictionaries(tmp_path):
    entries = ["<oov>", "<pad>", *MARKERS, "<bow>", "<eow>", *"thebank."]
    rows = {entry: row for row, entry in enumerate(dict.fromkeys(entries))}
    many_langs = dictionaries_backbone(rows)
    plain = TokenLayers(many_langs).tokens(SENTENCES)
    for _ in range(2):
        found = TokenLayers(many_langs, tmp_path / "cache").tokens(SENTENCES)
        np.testing.assert_array_equal(found, plain)


@pytest.mark.once
def test_a_damaged_file_is_named(tmp_path):
    TokenLayers(strong_backbone(), tmp_path).tokens(SENTENCES)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match=f"{path.name}` cannot be read.*Delete it"):
        TokenLayers(strong_backbone(), tmp_path).tokens(SENTENCES)


@pytest.mark.once
def test_vectors_that_are_no_numbers_are_refused():
    backbone = strong_backbone()
    backbone.set_weights([np.full_like(w, np.nan) for w in backbone.get_weights()])
    with pytest.raises(ValueError, match="no numbers"):
        TokenLayers(backbone).tokens(SENTENCES)


@pytest.mark.once
def test_a_layer_or_the_mean_is_chosen():
    vectors = np.arange(12, dtype="float16").reshape(2, 3, 2)
    np.testing.assert_array_equal(choose_layer(vectors, 2), vectors[:, 2])
    np.testing.assert_array_equal(choose_layer(vectors, "mean"), vectors.mean(axis=1))
