"""The KerasHub adapter: presets and `.keras` files go both ways, with equal numbers."""

import importlib
import json
import sys

import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.presets import load_tokenizer
from tests.models_for_tests import character_backbone, word_backbone

SENTENCES = [["The", "bank", "."], ["river"]]
MADE = {"characters": character_backbone, "words": word_backbone}


@pytest.fixture(scope="module")
def hub():
    """(keras_hub, the adapter), with Keras' register put back afterwards."""
    keras_hub = pytest.importorskip("keras_hub")
    name = keras.saving.get_registered_name(keras_elmo.ElmoBackbone)
    adapter = importlib.import_module("keras_elmo.integrations.keras_hub")
    keras.saving.get_custom_objects()[name] = adapter.ElmoHubBackbone
    yield keras_hub, adapter
    # Other tests ask for an ElmoBackbone and nothing else.
    keras.saving.get_custom_objects()[name] = keras_elmo.ElmoBackbone


def vectors(backbone):
    return keras_elmo.embed(SENTENCES, backbone, layers="all")


@pytest.fixture(params=sorted(MADE))
def backbone(request):
    return MADE[request.param](mix_weights=[0.1, 0.2, 0.7], gamma=0.5)


def test_keras_hub_reads_our_presets(hub, backbone, tmp_path):
    keras_hub, adapter = hub
    backbone.save_to_preset(tmp_path / "preset")
    preset = str(tmp_path / "preset")
    for cls in (keras_hub.models.Backbone, adapter.ElmoHubBackbone):
        again = cls.from_preset(preset)
        assert type(again) is adapter.ElmoHubBackbone
        assert isinstance(again, keras_hub.models.Backbone)
        assert isinstance(again, keras_elmo.ElmoBackbone)
        assert again.vocabulary == backbone.vocabulary
        assert again.get_config() == backbone.get_config()
        # The same numbers in the same order: equal to the bit.
        np.testing.assert_array_equal(vectors(again), vectors(backbone))


def test_we_read_keras_hubs_presets(hub, backbone, tmp_path):
    _, adapter = hub
    theirs = adapter.ElmoHubBackbone(**backbone.get_config())
    theirs.set_weights(backbone.get_weights())
    theirs.vocabulary = backbone.vocabulary
    theirs.save_to_preset(tmp_path / "preset")
    # As KerasHub does: what is there is written over.
    theirs.save_to_preset(tmp_path / "preset")
    again = keras_elmo.ElmoBackbone.from_preset(tmp_path / "preset")
    assert type(again) is keras_elmo.ElmoBackbone
    assert again.vocabulary == backbone.vocabulary
    assert again.get_config() == backbone.get_config()
    np.testing.assert_array_equal(vectors(again), vectors(backbone))
    tokenizer = load_tokenizer(tmp_path / "preset")
    assert tokenizer.input_kind == backbone.input_kind
    assert tokenizer.vocabulary == backbone.vocabulary
    metadata = json.loads((tmp_path / "preset" / "metadata.json").read_text())
    assert metadata["parameter_count"] == backbone.count_params()


def test_what_keras_hub_is_asked_for_is_done(hub, tmp_path):
    keras_hub, _ = hub
    backbone = character_backbone()
    backbone.save_to_preset(tmp_path / "preset")
    load = keras_hub.models.Backbone.from_preset
    preset = str(tmp_path / "preset")
    half = load(preset, dtype="mixed_bfloat16", trainable=False)
    assert half.encoder.compute_dtype == "bfloat16"
    assert half.trainable_weights == []
    random = load(preset, load_weights=False)
    assert (vectors(random) != vectors(backbone)).any()
    with pytest.raises(ValueError, match="not a subclass"):
        keras_hub.models.BertBackbone.from_preset(preset)


def test_a_keras_file_of_one_class_is_read_as_the_other(hub, tmp_path):
    _, adapter = hub
    name = keras.saving.get_registered_name(adapter.ElmoHubBackbone)
    assert name == "keras_elmo>ElmoBackbone"
    ours = character_backbone()
    ours.save(tmp_path / "ours.keras")
    theirs = keras.saving.load_model(tmp_path / "ours.keras")
    assert type(theirs) is adapter.ElmoHubBackbone
    np.testing.assert_array_equal(vectors(theirs), vectors(ours))
    theirs.save(tmp_path / "theirs.keras")
    # As where the adapter is not imported.
    with keras.saving.custom_object_scope({name: keras_elmo.ElmoBackbone}):
        again = keras.saving.load_model(tmp_path / "theirs.keras")
    assert type(again) is keras_elmo.ElmoBackbone
    np.testing.assert_array_equal(vectors(again), vectors(ours))


@pytest.mark.once
def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "keras_hub", None)
    name = "keras_elmo.integrations.keras_hub"
    monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(ImportError, match=r"pip install 'keras-elmo\[keras-hub\]'"):
        importlib.import_module(name)
