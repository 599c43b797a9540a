"""`ElmoEmbedding` in models that are fitted, saved, cloned and shared."""

import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo import ElmoEmbedding
from tests.helpers import (
    assert_all_close,
    next_backend,
    reload_elsewhere,
    to_arrays,
)
from tests.models_for_tests import CHARACTERS, character_backbone, word_backbone

SENTENCES = [["The", "bank", "of", "the", "river"], ["Hi"], []]
IDS = keras_elmo.text.encode_sentences(SENTENCES, CHARACTERS)
MASK = IDS.any(axis=-1)


def tagger(elmo, ids=IDS):
    """A model of one layer behind ELMo, compiled."""
    inputs = keras.Input(ids.shape[1:], dtype="int32")
    vectors = elmo(inputs)
    if isinstance(vectors, list):
        vectors = keras.layers.Concatenate()(vectors)
    model = keras.Model(inputs, keras.layers.Dense(3)(vectors))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(1.0), loss)
    return model


def fit(model, ids=IDS):
    model.fit(ids, np.ones(ids.shape[:2], "int32"), batch_size=len(ids), verbose=0)


@pytest.mark.once
def test_vectors_are_those_of_embed():
    backbone = character_backbone(mix_weights=[0.2, 0.3, 0.5], gamma=1.5)
    for layers in ("mix", "mean", "top", "all", 0):
        expected = keras_elmo.embed(SENTENCES, backbone, layers=layers)
        (actual,) = to_arrays(ElmoEmbedding(backbone, layers=layers)(IDS))
        np.testing.assert_allclose(actual, expected, atol=5e-6, rtol=1e-5)


def test_a_step_of_fit_moves_the_mix_and_leaves_the_bilm():
    backbone = character_backbone(dropout=0.5)
    elmo = ElmoEmbedding(backbone, num_mixes=2)
    model = tagger(elmo)
    before = [np.array(weight) for weight in backbone.get_weights()]
    fit(model)
    for weights, gamma in zip(elmo.mix_weights, elmo.gamma, strict=True):
        assert (np.abs(weights - 1 / 3) > 1e-5).all()
        assert weights.sum() == pytest.approx(1.0, abs=1e-6)
        assert abs(gamma - 1.0) > 1e-5
    assert_all_equal(backbone.get_weights(), before)


def test_the_gradient_of_the_mix_is_that_of_its_formula():
    """Every backend against finite differences in float64: equal to each other."""
    rng = np.random.default_rng(5)
    backbone = character_backbone()
    for weight in backbone.weights:
        weight.assign(rng.normal(0, 0.5, weight.shape).astype("float32"))
    elmo = ElmoEmbedding(backbone, initial_mix_weights=[0.2, 0.3, 0.5])
    inputs = keras.Input(IDS.shape[1:], dtype="int32")
    model = keras.Model(inputs, elmo(inputs))
    model.compile(keras.optimizers.SGD(1.0), "mse")
    layers = np.stack(to_arrays(backbone(IDS)), axis=1).astype("float64")
    target = rng.normal(size=layers[:, 0].shape).astype("float32")
    start = np.array([*np.log([0.2, 0.3, 0.5]), 1.0])

    def loss(parameters):
        weights = np.exp(parameters[:3])
        mixed = np.einsum("j,bjtd->btd", weights / weights.sum(), layers)
        return ((parameters[3] * mixed - target)[MASK] ** 2).mean()

    steps = 1e-5 * np.eye(4)
    gradient = [(loss(start + h) - loss(start - h)) / 2e-5 for h in steps]
    model.fit(IDS, target, batch_size=len(IDS), verbose=0)
    (mix,) = elmo.mixes.mixes
    after = np.append(keras.ops.convert_to_numpy(mix.scalars), mix.gamma)
    np.testing.assert_allclose(start - after, gradient, atol=1e-5, rtol=1e-4)


def test_a_frozen_bilm_is_the_same_in_fit_as_in_predict():
    """Its dropout is off: freezing alone would not end it."""
    elmo = ElmoEmbedding(character_backbone(dropout=0.5))

    class Recorder(keras.Model):
        def __init__(self):
            super().__init__()
            self.elmo = elmo
            self.scale = self.add_weight(shape=(), initializer="ones", trainable=True)

        def call(self, inputs, training=None):
            # The loss is the vectors' distance from those of `predict`.
            return self.scale * self.elmo(inputs, training=training)

    model = Recorder()
    vectors = model.predict(IDS, batch_size=len(IDS), verbose=0)
    model.compile(keras.optimizers.SGD(0.0), "mse")
    options = {"batch_size": len(IDS), "verbose": 0}
    history = model.fit(IDS, vectors, **options)
    assert history.history["loss"][0] < 1e-10
    elmo.trainable_backbone = True
    model.compile(keras.optimizers.SGD(0.0), "mse")
    assert model.fit(IDS, vectors, **options).history["loss"][0] > 1e-6


@pytest.mark.once
def test_fine_tuning_trains_the_bilm():
    backbone = character_backbone()
    elmo = ElmoEmbedding(backbone, trainable_backbone=True)
    before = [np.array(weight) for weight in backbone.get_weights()]
    fit(tagger(elmo))
    changed = [
        (old != new).any()
        for old, new in zip(before, backbone.get_weights(), strict=True)
    ]
    # But for what reads a character that no word of the batch has, all learn.
    assert np.mean(changed) > 0.8


@pytest.mark.once
def test_what_is_frozen_stays_so_when_the_model_is_not():
    elmo = ElmoEmbedding(character_backbone())
    model = tagger(elmo)
    model.trainable = False
    model.trainable = True
    assert len(model.trainable_weights) == 4  # the mix's two and the dense layer's
    elmo.trainable_backbone = True
    assert len(model.trainable_weights) == 4 + len(elmo.backbone.weights)
    elmo.trainable = False
    assert len(model.trainable_weights) == 2


@pytest.mark.once
def test_a_mix_that_is_held_still_does_not_move():
    weights = [0.0, 1.0, 0.0]
    elmo = ElmoEmbedding(
        character_backbone(), initial_mix_weights=weights, trainable_mix=False
    )
    fit(tagger(elmo))
    assert elmo.gamma == 1.0
    np.testing.assert_allclose(elmo.mix_weights, weights, atol=1e-7)


@pytest.mark.once
def test_masks_are_carried():
    inputs = keras.Input((None, CHARACTERS), dtype="int32")
    one, two = ElmoEmbedding(character_backbone(), num_mixes=2)(inputs)
    # A layer that sums real tokens only shows the mask it was handed.
    pooled = [keras.layers.GlobalAveragePooling1D()(x) for x in (one, two)]
    longer = np.pad(IDS, [(0, 0), (0, 3), (0, 0)])
    model = keras.Model(inputs, pooled)
    assert_all_close(model(longer[:2]), model(IDS[:2]), 1e-6, 1e-6)


@pytest.mark.once
def test_sentence_markers_are_kept_where_the_bilm_keeps_them():
    backbone = character_backbone(keep_boundaries=True)
    inputs = keras.Input((None, CHARACTERS), dtype="int32")
    outputs = ElmoEmbedding(backbone)(inputs)
    vectors = keras.Model(inputs, outputs).predict(IDS, verbose=0)
    expected = keras_elmo.embed(SENTENCES, backbone)
    np.testing.assert_allclose(vectors, expected, atol=5e-6, rtol=1e-5)
    assert vectors.shape[1] == IDS.shape[1] + 2


def test_a_saved_model_loads_on_another_backend(tmp_path):
    elmo = ElmoEmbedding(character_backbone(), num_mixes=2, dropout=0.3)
    model = tagger(elmo)
    fit(model)
    path = tmp_path / "model.keras"
    model.save(path)
    expected = to_arrays(model(IDS))
    assert_all_equal(to_arrays(keras.saving.load_model(path)(IDS)), expected)
    (elsewhere,) = reload_elsewhere(path, IDS, next_backend())
    np.testing.assert_allclose(elsewhere, expected[0], atol=1e-5, rtol=1e-5)


def test_two_layers_of_one_bilm_share_it_after_a_reload(tmp_path):
    backbone = character_backbone()
    inputs = keras.Input((None, CHARACTERS), dtype="int32")
    top = ElmoEmbedding(backbone, layers="top")(inputs)
    bottom = ElmoEmbedding(backbone, layers=0)(inputs)
    model = keras.Model(inputs, [top, bottom])
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert len(loaded.weights) == len(model.weights) == len(backbone.weights) + 4
    assert_all_equal(to_arrays(loaded(IDS)), to_arrays(model(IDS)))


@pytest.mark.once
def test_two_layers_of_two_bilms_keep_theirs(tmp_path):
    inputs = keras.Input((None, CHARACTERS), dtype="int32")
    layers = [ElmoEmbedding(character_backbone()) for _ in range(2)]
    model = keras.Model(inputs, [layer(inputs) for layer in layers])
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert_all_equal(to_arrays(loaded(IDS)), to_arrays(model(IDS)))


@pytest.mark.once
def test_word_input_and_its_vocabulary_are_saved(tmp_path):
    backbone = word_backbone()
    ids = np.array([[4, 5, 0], [3, 6, 7]], "int32")
    inputs = keras.Input((None,), dtype="int32")
    elmo = ElmoEmbedding(backbone)
    model = keras.Model(inputs, elmo(inputs))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.layers[1].backbone.vocabulary == backbone.vocabulary
    assert_all_equal(to_arrays(loaded(ids)), to_arrays(model(ids)))


@pytest.mark.once
def test_a_clone_has_the_same_parts():
    model = tagger(ElmoEmbedding(character_backbone(), layer_norm=True))
    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    assert_all_equal(to_arrays(clone(IDS)), to_arrays(model(IDS)))
    assert clone.layers[1].backbone is not model.layers[1].backbone
    assert len(clone.trainable_weights) == len(model.trainable_weights)


@pytest.mark.once
def test_the_config_holds_every_argument():
    arguments = {
        "num_mixes": 2,
        "layers": "mix",
        "layer_norm": True,
        "dropout": 0.2,
        "initial_mix_weights": [0.2, 0.3, 0.5],
        "trainable_mix": False,
        "trainable_backbone": True,
        "tokenizer": "unicode",
        "mix_regularizer": 0.01,
    }
    config = ElmoEmbedding(character_backbone(), **arguments).get_config()
    again = ElmoEmbedding.from_config(config).get_config()
    for name in arguments:
        assert again[name] == config[name], name
        if name != "mix_regularizer":
            assert config[name] == arguments[name], name
    assert again["mix_regularizer"]["config"]["l2"] == pytest.approx(0.01)


@pytest.mark.parametrize("dtype", ["mixed_float16", "mixed_bfloat16"])
def test_mixed_precision_is_near_float32(dtype):
    wide = character_backbone()
    narrow = character_backbone(dtype=dtype)
    narrow.set_weights(wide.get_weights())
    elmo = ElmoEmbedding(narrow, dtype=dtype)
    outputs = elmo(IDS)
    assert keras.backend.standardize_dtype(outputs.dtype) == dtype[6:]
    (actual,) = to_arrays(keras.ops.cast(outputs, "float32"))
    (expected,) = to_arrays(ElmoEmbedding(wide)(IDS))
    assert all(weight.dtype == "float32" for weight in elmo.weights)
    cosine = (actual * expected).sum() / np.sqrt(
        (actual**2).sum() * (expected**2).sum()
    )
    assert cosine > 0.99
    fit(tagger(elmo))
    assert np.isfinite(elmo.mix_weights).all()


@pytest.mark.once
def test_a_preset_is_loaded(tmp_path):
    backbone = character_backbone(mix_weights=[0.2, 0.3, 0.5], gamma=2.0)
    backbone.save_to_preset(tmp_path / "preset")
    elmo = ElmoEmbedding(str(tmp_path / "preset"))
    np.testing.assert_allclose(elmo.mix_weights, [0.2, 0.3, 0.5], atol=1e-6)
    assert elmo.gamma == 2.0
    (expected,) = to_arrays(ElmoEmbedding(backbone)(IDS))
    np.testing.assert_allclose(to_arrays(elmo(IDS))[0], expected, atol=1e-6)


@pytest.mark.once
def test_what_is_no_bilm_is_refused():
    with pytest.raises(TypeError, match="`backbone` must be"):
        ElmoEmbedding(keras.layers.Dense(3))


def assert_all_equal(actual, expected):
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one, other)
