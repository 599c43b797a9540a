"""Presets: written whole, read back equal, refused when they are not what they say."""

import json
import shutil

import h5py
import numpy as np
import pytest

import keras_elmo
from tests.helpers import next_backend, run_python
from tests.models_for_tests import character_backbone, word_backbone

SENTENCES = [["The", "bank", "."], ["river"]]


@pytest.fixture
def preset(tmp_path):
    backbone = word_backbone(mix_weights=[0.1, 0.2, 0.7], gamma=0.5)
    backbone.save_to_preset(tmp_path / "preset")
    return backbone, tmp_path / "preset"


def test_a_preset_is_read_back_equal(preset):
    backbone, path = preset
    again = keras_elmo.ElmoBackbone.from_preset(path)
    assert again.get_config() == backbone.get_config()
    assert again.vocabulary == backbone.vocabulary
    for mine, theirs in zip(again.get_weights(), backbone.get_weights(), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_preset_has_the_files_of_the_layout(preset):
    _, path = preset
    files = {str(f.relative_to(path)) for f in path.rglob("*") if f.is_file()}
    assert files == {
        "config.json",
        "metadata.json",
        "tokenizer.json",
        "model.weights.h5",
        "assets/vocabulary.txt",
    }
    config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    assert config["registered_name"] == "keras_elmo>ElmoBackbone"


def test_names_in_the_weights_file_are_frozen(tmp_path):
    character_backbone().save_to_preset(tmp_path / "preset")
    names = []
    with h5py.File(tmp_path / "preset" / "model.weights.h5") as file:
        file.visititems(
            lambda name, item: (
                names.append(name) if isinstance(item, h5py.Dataset) else None
            )
        )
    encoder = [
        f"layers/bi_lm_encoder/{direction}_stack/lstms/{lstm}/vars/{i}"
        for direction in ("backward", "forward")
        for lstm in ("projected_lstm", "projected_lstm_1")
        for i in range(4)
    ]
    embedder = [f"layers/character_cnn/highways/highway/vars/{i}" for i in range(4)]
    embedder += [f"layers/character_cnn/vars/{i}" for i in range(9)]
    assert sorted(names) == sorted(encoder + embedder)


def test_what_exists_is_not_written_over(preset):
    _, path = preset
    before = {f: f.read_bytes() for f in path.rglob("*") if f.is_file()}
    with pytest.raises(FileExistsError, match="overwrite"):
        character_backbone().save_to_preset(path)
    assert {f: f.read_bytes() for f in path.rglob("*") if f.is_file()} == before
    character_backbone().save_to_preset(path, overwrite=True)
    assert keras_elmo.ElmoBackbone.from_preset(path).input_kind == "characters"
    assert not (path / "assets" / "vocabulary.txt").exists()


def test_a_fault_while_writing_leaves_nothing(tmp_path, monkeypatch):
    backbone = character_backbone()

    def full_disk(file):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backbone, "save_weights", full_disk)
    with pytest.raises(OSError, match="No space left"):
        backbone.save_to_preset(tmp_path / "preset")
    assert list(tmp_path.iterdir()) == []


def test_another_dtype_can_be_asked_for(preset):
    _, path = preset
    again = keras_elmo.ElmoBackbone.from_preset(path, dtype="mixed_bfloat16")
    assert again.encoder.compute_dtype == "bfloat16"
    assert again.get_config()["dtype"]["config"]["name"] == "mixed_bfloat16"


def test_missing_directories_and_files_are_named(preset, tmp_path):
    _, path = preset
    with pytest.raises(FileNotFoundError, match=r"Received: .*nowhere"):
        keras_elmo.ElmoBackbone.from_preset(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"no config\.json"):
        keras_elmo.ElmoBackbone.from_preset(tmp_path / "empty")
    (path / "model.weights.h5").unlink()
    with pytest.raises(FileNotFoundError, match=r"model\.weights\.h5"):
        keras_elmo.ElmoBackbone.from_preset(path)


@pytest.mark.parametrize(
    "text, told",
    [
        ("{", r"config\.json` line 1"),
        ("[]", "registered_name=None"),
        ('{"registered_name": "os>system", "config": {}}', "os>system"),
        (
            '{"registered_name": "keras_elmo>ElmoBackbone", "config": {"x": 1}}',
            "not a valid configuration",
        ),
    ],
)
def test_a_config_of_something_else_is_refused(preset, text, told):
    _, path = preset
    (path / "config.json").write_text(text)
    with pytest.raises(ValueError, match=told):
        keras_elmo.ElmoBackbone.from_preset(path)


def test_weights_of_another_model_are_refused(preset, tmp_path):
    _, path = preset
    word_backbone(num_layers=3).save_to_preset(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "model.weights.h5", path / "model.weights.h5")
    with pytest.raises(ValueError, match=r"model\.weights\.h5"):
        keras_elmo.ElmoBackbone.from_preset(path)
    (path / "model.weights.h5").write_bytes(b"no hdf5" * 1000)
    with pytest.raises(ValueError, match=r"model\.weights\.h5"):
        keras_elmo.ElmoBackbone.from_preset(path)


def test_a_config_that_asks_for_more_memory_than_its_weights_is_refused(preset):
    _, path = preset
    config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    config["config"]["hidden_dim"] = 10**9
    (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ValueError, match=r"model\.weights\.h5` is too small"):
        keras_elmo.ElmoBackbone.from_preset(path)


PROGRAM = """
import sys
import numpy as np
import keras_elmo
backbone = keras_elmo.ElmoBackbone.from_preset(sys.argv[1])
vectors = keras_elmo.embed([["The", "bank", "."], ["river"]], backbone, layers="all")
np.save(sys.argv[2], vectors)
"""


def test_another_backend_reads_a_preset(preset, tmp_path):
    backbone, path = preset
    run_python(PROGRAM, path, tmp_path / "out.npy", backend=next_backend())
    expected = keras_elmo.embed(SENTENCES, backbone, layers="all")
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), expected, atol=1e-5)
