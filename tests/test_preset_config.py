"""Absurd and hostile presets: one clear error, soon, and no memory taken."""

import json
import os
import resource
import time

import h5py
import numpy as np
import pytest

import keras_elmo
from keras_elmo.checkpoints.option_rules import LARGEST_TOKEN
from keras_elmo.text import Dictionaries
from tests.models_for_tests import character_backbone, word_backbone

pytestmark = pytest.mark.once

NAN, INFINITE = float("nan"), float("inf")
# Of any integer that sizes something.
SIZES = (0, -1, 10**9, 2**63, 10**300, 1.5, NAN, "NaN", "8", None, True, [8], {"a": 1})
ABSURD = {
    "hidden_dim": SIZES,
    "projection_dim": SIZES,
    "num_layers": SIZES,
    "character_embedding_dim": SIZES,
    "max_characters_per_token": (*SIZES, 2, LARGEST_TOKEN + 1),
    "num_highway_layers": (*SIZES[1:], 1001),
    "char_cnn_filters": (
        *([], {}, "relu", 7, [[1]], [[1, 4], [2, -4]], [[10**9, 4]], [[1, 10**12]]),
        *([["1", "4"]], [[1, 4], None], [[1, NAN]], [[1, 4]] * 10_000),
    ),
    "char_cnn_activation": ("sigmoid", "keras.ops.exp", None, 3, ["relu"], {}),
    "vocabulary_size": (5, 10**9, "5", [], NAN, 0),
    "start_token_id": (0, -1, "1", None, NAN, [1]),
    "cell_clip": (0, -3.0, "3", NAN, [3.0], True, 10**400),
    "proj_clip": (0, -3.0, "3", NAN, {}, False),
    "use_skip_connections": ("true", 1, None, []),
    "keep_boundaries": ("true", 1, None, []),
    "dropout": (-0.1, 1.0, "0.1", NAN, None, INFINITE),
    "mix_weights": ([1.0], [0.5, 0.5, NAN], ["a", "b", "c"], "mix", 3, [[1.0]], {}),
    "gamma": (NAN, INFINITE, "1", None, [1.0], 10**400),
    "dtype": (
        *("int8", "complex64", "NaN", 32, [], {}, "float32\x00"),
        {"module": "os", "class_name": "system", "config": {"command": "true"}},
        {"module": "keras.layers", "class_name": "Dense", "config": {"units": 10**9}},
        {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "int8"}},
        {"module": "os", "class_name": "DTypePolicy", "config": {"name": "float32"}},
        {"module": "keras", "class_name": "DTypePolicy", "config": "float32"},
    ),
    "name": (7, ["a"], {}, True),
    "trainable": ("true", 1, None),
    "call": ("__import__('os').system('true')",),
}


@pytest.fixture
def preset(tmp_path):
    character_backbone().save_to_preset(tmp_path / "preset")
    return tmp_path / "preset"


def change(preset, **values):
    """Sets arguments in config.json."""
    path = preset / "config.json"
    config = json.loads(path.read_text("utf-8"))
    config["config"].update(values)
    path.write_text(json.dumps(config), "utf-8")


def refused(preset, told="", load=keras_elmo.ElmoBackbone.from_preset):
    """The error of loading a preset, which comes soon and takes little memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    with pytest.raises(ValueError) as caught:
        load(preset)
    assert time.process_time() - start < 3
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 200 * 1024  # KiB
    text = str(caught.value)
    assert type(caught.value) is ValueError and str(preset) in text
    assert told in text and len(text) < 2000
    return text


@pytest.mark.parametrize("key", ABSURD)
def test_an_absurd_argument_is_named(preset, key):
    original = (preset / "config.json").read_bytes()
    for value in ABSURD[key]:
        change(preset, **{key: value})
        text = refused(preset)
        # Right by itself, a size is more than the file of weights holds.
        assert key in text or "model.weights.h5" in text, (value, text)
        (preset / "config.json").write_bytes(original)
    assert keras_elmo.ElmoBackbone.from_preset(preset).num_layers == 2


def test_every_argument_is_tried():
    arguments = set(character_backbone().get_config())
    assert arguments - set(ABSURD) == {"end_token_id"}


def test_a_layer_more_than_the_weights_have(preset):
    change(preset, num_layers=3)
    refused(preset, "model.weights.h5")
    change(preset, num_layers=10**9)
    refused(preset, "`num_layers` must be an integer from 1 to")


@pytest.mark.parametrize("depth", [900, 990, 100_000])
def test_deep_nesting_is_refused(preset, depth):
    nested = "[" * depth + "8" + "]" * depth
    text = (preset / "config.json").read_text("utf-8")
    found = text.replace('"hidden_dim": 8', f'"hidden_dim": {nested}')
    assert found != text
    (preset / "config.json").write_text(found, "utf-8")
    refused(preset, "config.json")


def test_what_is_missing_is_listed(preset):
    (preset / "config.json").write_text(
        '{"registered_name": "keras_elmo>ElmoBackbone", "config": {"hidden_dim": 8}}'
    )
    text = refused(preset, "`projection_dim` is missing")
    assert str(preset / "config.json") in text


def test_ids_beyond_the_table_of_words(tmp_path):
    preset = tmp_path / "preset"
    word_backbone().save_to_preset(preset)
    for key in ("start_token_id", "end_token_id"):
        change(preset, **{key: 8})
        refused(preset, f"`{key}` (=8) must be at most `vocabulary_size` (=7)")
        change(preset, **{key: 1})


@pytest.mark.parametrize("number", [6, 8])
def test_assets_of_another_model(tmp_path, number):
    preset = tmp_path / "preset"
    word_backbone().save_to_preset(preset)
    words = ["<S>", "</S>", "<UNK>", *"abcdefgh"][:number]
    (preset / "assets" / "vocabulary.txt").write_text("\n".join(words), "utf-8")
    refused(preset, f"{number} words")


@pytest.mark.parametrize("kind", ["folder", "pipe", "bytes", "empty"])
def test_assets_that_are_no_vocabulary(preset, kind):
    path = preset / "assets" / "vocabulary.txt"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)  # reading it would wait for ever
    else:
        path.write_bytes(b"\xff\xfe\x00" if kind == "bytes" else b"")
    refused(preset, str(path))


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "task.json"])
def test_json_of_absurd_size_is_refused_unread(tmp_path, name):
    preset = tmp_path / "preset"
    keras_elmo.ElmoBiLM(word_backbone()).save_to_preset(preset)
    whole = (preset / name).read_bytes()
    with open(preset / name, "r+b") as file:
        file.truncate(2**33)  # it takes no room on the disk
    load = {
        "config.json": keras_elmo.ElmoBackbone,
        "tokenizer.json": keras_elmo.ElmoTokenizer,
        "task.json": keras_elmo.ElmoBiLM,
    }[name].from_preset
    text = refused(preset, "1,048,576 bytes. Received: 8,589,934,592 bytes", load)
    assert str(preset / name) in text
    (preset / name).write_bytes(whole)
    load(preset)


@pytest.mark.parametrize("name", ["vocabulary.txt", "word.dic", "char.dic"])
def test_assets_of_absurd_size_are_refused_unread(preset, name):
    path = preset / "assets" / name
    path.touch()
    os.truncate(path, 2**33)
    for cls in (keras_elmo.ElmoBackbone, keras_elmo.ElmoTokenizer):
        text = refused(preset, "Received: 8,589,934,592 bytes", cls.from_preset)
        assert str(path) in text


@pytest.mark.parametrize(
    "changes",
    [
        *({"max_characters_per_token": size} for size in (10**9, 2, 2.5, "50", None)),
        *({"input_kind": kind} for kind in ("bytes", None, ["words"], "w" * 10**5)),
        *({"splitter": splitter} for splitter in ("os.system", {}, 1)),
        *({"vocabulary": "/etc/passwd"}, {"v" * 10**5: 1}),
    ],
)
def test_tokenizers_of_absurd_arguments(preset, changes):
    path = preset / "tokenizer.json"
    content = json.loads(path.read_text("utf-8"))
    content["config"].update(changes)
    path.write_text(json.dumps(content), "utf-8")
    text = refused(preset, load=keras_elmo.ElmoTokenizer.from_preset)
    assert str(path) in text and next(iter(changes))[:50] in text


def test_names_in_a_preset_lead_nowhere(preset, tmp_path):
    """No name in it is a path: nothing beside it is read, nothing is imported."""
    (tmp_path / "spy.py").write_text("raise SystemExit('imported')", "utf-8")
    path = preset / "config.json"
    config = json.loads(path.read_text("utf-8"))
    config.update(
        module="tests.spy", class_name="../spy", build_config={"a": 1}, assets="../x"
    )
    path.write_text(json.dumps(config), "utf-8")
    assert keras_elmo.ElmoBackbone.from_preset(preset).hidden_dim == 8
    for name in ("../ElmoBackbone", "os>system", "keras>Dense", ["keras_elmo"], None):
        path.write_text(json.dumps({**config, "registered_name": name}), "utf-8")
        refused(preset, "config.json")


def test_weights_that_lie_elsewhere_are_refused(preset, tmp_path):
    weights = preset / "model.weights.h5"
    weights.rename(tmp_path / "other.h5")
    with h5py.File(weights, "w") as file:
        file["layers"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/layers")
        file["more"] = np.zeros(5_000)
    refused(preset, "model.weights.h5")


@pytest.mark.parametrize(
    "declared, told",
    [
        ({"dtype": "S50000000"}, "must hold floats"),
        ({"dtype": "f4", "chunks": (2**14, 2**14)}, "is stored in pieces of"),
        ({"dtype": h5py.string_dtype()}, "must hold floats"),
    ],
)
def test_weights_that_unpack_to_more_are_refused_unread(preset, declared, told):
    name = "layers/character_cnn/vars/0"
    if "chunks" in declared:
        declared = {**declared, "maxshape": (None, None), "compression": "gzip"}
    with h5py.File(preset / "model.weights.h5", "r+") as file:
        shape = file[name].shape
        del file[name]
        bomb = file.create_dataset(name, shape=shape, **declared)
        if "chunks" in declared:
            # Not what it should unpack to: that is never tried.
            bomb.id.write_direct_chunk((0, 0), bytes(2**14))
    assert name in refused(preset, told)


MANY_LANGS = {
    "hidden_dim": 6,
    "projection_dim": 4,
    "vocabulary_size": 5,
    "word_embedding_dim": 3,
    "num_characters": 8,
    "char_cnn_filters": [[1, 2], [2, 3]],
    "character_embedding_dim": 2,
    "max_characters_per_token": 4,
}


@pytest.mark.parametrize(
    "changes, told",
    [
        ({"begin_ids": 2}, "`begin_ids` must be 5 ids, as a token's, not 1"),
        ({"begin_ids": [2] * 4}, "`begin_ids` must be 5 ids"),
        ({"end_ids": [6, 1, 1, 1, 1]}, "`end_ids` must be ids of the tables' rows"),
        ({"end_ids": [2, 1, 1, 1, 10**30]}, "`end_ids` must be ids"),
        ({"end_ids": [2, 1, 1, 1, 0]}, "`end_ids` must be a positive integer"),
        ({"begin_ids": "abcde"}, "`begin_ids` must be a positive integer"),
        ({"encoder_kind": "transformer"}, "`encoder_kind` must be 'elmo' or 'lstm'"),
        ({"encoder_kind": ["elmo"]}, "`encoder_kind` must be"),
        ({"word_embedding_dim": None}, "`word_embedding_dim` must be given"),
        ({"char_cnn_filters": None}, "`char_cnn_filters` must be given"),
        ({"num_characters": 10**12}, "model.weights.h5"),
        ({"num_characters": -8}, "`num_characters` must be a positive integer"),
        ({"num_layers": 10**9}, "`num_layers` must be"),
        ({"max_characters_per_token": 10**9}, "`max_characters_per_token` must be"),
        ({"use_skip_connections": True}, "unknown: ['use_skip_connections']"),
    ],
)
def test_many_langs(tmp_path, changes, told):
    backbone = keras_elmo.ManyLangsBackbone(
        begin_ids=[2, 5, 6, 7, 8], end_ids=[3, 5, 6, 7, 8], **MANY_LANGS
    )
    backbone.vocabulary = Dictionaries(
        words={"<oov>": 0, "<bos>": 1, "<eos>": 2, "<pad>": 3, "the": 4},
        characters={
            **{"<oov>": 0, "<bos>": 1, "<eos>": 2, "<bow>": 3, "<eow>": 4, "<pad>": 5},
            **{"a": 6, "b": 7},
        },
    )
    preset = tmp_path / "preset"
    backbone.save_to_preset(preset)
    assert keras_elmo.ElmoBackbone.from_preset(preset).end_ids == [3, 5, 6, 7, 8]
    change(preset, **changes)
    refused(preset, told)
