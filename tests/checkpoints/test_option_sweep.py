"""Options in all their values: each form written, read back, and run.

Every value of every option comes together with several of the others'. The numbers
are those of the NumPy reference; files hold what was in the model, to the bit.
"""

import itertools
import json

import numpy as np
import pytest

import keras_elmo
from keras_elmo.checkpoints import tf_hub
from keras_elmo.checkpoints.bilm_hdf5 import write_weights
from keras_elmo.checkpoints.bilm_names import weights_of
from keras_elmo.checkpoints.bilm_options import write_options
from keras_elmo.checkpoints.bilm_tf1 import read_checkpoint, write_checkpoint
from keras_elmo.checkpoints.tensor_bundle import write_bundle
from tests import reference
from tests.golden.support import assert_real_tokens_close, outputs_of

FILTERS = [[1, 3], [2, 4], [4, 5]]
BOTH = {"cell_clip": 0.6, "proj_clip": 0.4}
WORDS = ["<S>", "</S>", "<UNK>", "the", "bank", "of"]
# layers, clips, skip connections, cells, size; highways, activation, characters.
LAYERS = {
    "1 clipped": (1, BOTH, True, 10, 6),
    "2 no clips": (2, {}, False, 16, 12),
    "3 null": (3, {"cell_clip": None, "proj_clip": None}, True, 9, 5),
    "3 cell_clip": (3, {"cell_clip": 0.6, "proj_clip": None}, False, 12, 12),
    "2 proj_clip": (2, {"proj_clip": 0.4}, True, 14, 12),
    "1 no skip": (1, BOTH, False, 7, 4),
}
CHARACTERS = {
    "1 clipped": (0, "relu", 12),
    "2 no clips": (1, "tanh", 12),
    "3 null": (2, "relu", 8),
    "3 cell_clip": (0, "tanh", 50),
    "2 proj_clip": (2, "tanh", 12),
    "1 no skip": (1, "relu", 4),
}


def options_of(name, kind):
    layers, clips, skip, dim, size = LAYERS[name]
    options = {
        "lstm": {
            "n_layers": layers,
            **clips,
            "use_skip_connections": skip,
            "dim": dim,
            "projection_dim": size,
        }
    }
    if kind == "characters":
        highways, activation, characters = CHARACTERS[name]
        options["char_cnn"] = {
            "activation": activation,
            "embedding": {"dim": 3},
            "filters": FILTERS,
            "max_characters_per_token": characters,
            "n_characters": 261 if skip else 262,
            "n_highway": highways,
        }
    return options


def test_the_combinations_hold_every_value():
    layers, clips, skips, dims, sizes = zip(*LAYERS.values(), strict=True)
    assert set(layers) == {1, 2, 3} and set(skips) == {True, False}
    filters = sum(number for _, number in FILTERS)
    assert {size == filters for size in sizes} == {True, False}
    assert {d == s for d, s in zip(dims, sizes, strict=True)} == {True, False}
    found = {tuple(clip.get(key, "absent") for key in BOTH) for clip in clips}
    assert len(found) == 5
    highways, activations, _ = zip(*CHARACTERS.values(), strict=True)
    assert set(highways) == {0, 1, 2} and set(activations) == {"relu", "tanh"}
    pairs = set(zip(highways, activations, strict=True))
    assert pairs == set(itertools.product((0, 1, 2), ("relu", "tanh")))


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("kind", ["characters", "words"])
def test_written_read_back_and_run(name, kind, tmp_path):
    options = options_of(name, kind)
    vocabulary = keras_elmo.Vocabulary(WORDS)
    rng = np.random.default_rng(sum(map(ord, name)))
    words = len(WORDS) if kind == "words" else None
    weights = reference.random_weights(options, rng, words)
    (tmp_path / "options.json").write_text(json.dumps(options), "utf-8")
    reference.write_hdf5(tmp_path / "weights.hdf5", weights)
    backbone = keras_elmo.ElmoBackbone.from_options(
        tmp_path / "options.json", tmp_path / "weights.hdf5", vocabulary
    )
    check_numbers(backbone, options, weights)
    check_hdf5(backbone, weights, tmp_path)
    check_training_checkpoint(backbone, tied=kind == "words", folder=tmp_path / "tf1")
    if kind == "characters":
        check_hub(backbone, tmp_path / "hub")


def check_numbers(backbone, options, weights):
    """Words of several lengths, one cut, and a sentence of none."""
    if backbone.input_kind == "words":
        ids = np.array([[4, 6, 5], [3, 0, 0], [0, 0, 0]])
        begin, end = backbone.start_token_id, backbone.end_token_id
    else:
        size = backbone.max_characters_per_token
        sentences = [["The", "", "字" * 20], ["bank"], []]
        ids = reference.character_ids(sentences, size)
        begin, end = reference.character_ids([["<S>", "</S>"]], size)[0]
    mask = ids != 0 if ids.ndim == 2 else ids.any(axis=-1)
    framed = np.pad(ids, [(0, 0), (1, 1)] + [(0, 0)] * (ids.ndim - 2))
    framed[:, 0] = begin
    framed[np.arange(len(ids)), mask.sum(axis=1) + 1] = end
    exact = {key: np.float64(array) for key, array in weights.items()}
    expected = reference.PublishedModel(options, exact).layers(framed)
    assert_real_tokens_close(outputs_of(backbone)(ids), expected, mask)


def assert_same_models(ours, theirs):
    mine, others = ours.get_config(), theirs.get_config()
    for config in (mine, others):
        del config["name"]
    assert mine == others
    for one, two in zip(ours.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)


def check_hdf5(backbone, weights, folder):
    write_options(backbone, folder / "again.json")
    write_weights(backbone, folder / "again.hdf5")
    written = reference.read_hdf5(folder / "again.hdf5")
    assert set(written) == set(weights)
    for key, array in weights.items():
        np.testing.assert_array_equal(written[key], array, err_msg=key)
    again = keras_elmo.ElmoBackbone.from_options(
        folder / "again.json", folder / "again.hdf5", backbone.vocabulary
    )
    assert_same_models(again, backbone)


def check_training_checkpoint(backbone, tied, folder):
    model = keras_elmo.ElmoBiLM(backbone, len(WORDS), tie_embeddings=tied)
    write_checkpoint(model, folder)
    checkpoint = read_checkpoint(folder, folder / "vocab.txt")
    again = checkpoint.language_model()
    assert again.tie_embeddings == tied
    assert_same_models(again.backbone, backbone)
    for one, two in zip(again.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)
    # And the files of what was read are the files that were read.
    second = folder.with_name("tf1_again")
    write_checkpoint(again, second, checkpoint.state)
    for path in folder.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes(), path.name


def check_hub(backbone, folder):
    (folder / "variables").mkdir(parents=True)
    arrays = {
        f"bilm/{key}": weight.read(backbone)
        for key, weight in weights_of(backbone.get_config()).items()
    }
    write_bundle(folder / "variables" / "variables", arrays)
    write_options(backbone, folder / "options.json")
    again = tf_hub.build_backbone(folder)
    again.vocabulary = backbone.vocabulary
    assert_same_models(again, backbone)
