"""Option combinations: bilm-tf's results, and the reference's where there are none."""

import copy
import json

import numpy as np
import pytest

import keras_elmo
from keras_elmo.checkpoints import bilm_hdf5, bilm_options
from keras_elmo.text import ElmoTokenizer
from tests import reference
from tests.golden.support import (
    assert_real_tokens_close,
    load,
    outputs_of,
    read_json,
)

OPTIONS = {
    "lstm": {
        "use_skip_connections": True,
        "projection_dim": 6,
        "cell_clip": 3,
        "proj_clip": 3,
        "dim": 10,
        "n_layers": 2,
    },
    "char_cnn": {
        "activation": "relu",
        "filters": [[1, 4], [2, 5], [3, 7]],
        "n_highway": 2,
        "embedding": {"dim": 4},
        "n_characters": 262,
        "max_characters_per_token": 50,
    },
}
# Keys of `lstm`, keys of `char_cnn`; None takes a key out.
COMBINATIONS = {
    "dim equals projection_dim": ({"dim": 6, "proj_clip": 0.05}, {}),
    "short words": ({}, {"max_characters_per_token": 12}),
    "words as short as the widest filter": ({}, {"max_characters_per_token": 3}),
    "three layers, no skip, wide filter": (
        {
            "n_layers": 3,
            "use_skip_connections": False,
            "cell_clip": 0.8,
            "proj_clip": 0.8,
        },
        {"activation": "tanh", "n_highway": 1, "filters": [[1, 4], [7, 5]]},
    ),
    "proj_clip only": ({"cell_clip": None, "proj_clip": 0.3}, {}),
    "projection equals filters, no highway": (
        {"projection_dim": 16, "dim": 20},
        {"n_highway": 0},
    ),
    "no projection at all": (
        {"projection_dim": 16, "dim": 16, "n_layers": 1},
        {"n_highway": None},
    ),
    "words, dim equals projection_dim": ({"dim": 6, "cell_clip": 0.4}, None),
}


@pytest.fixture(scope="module")
def sentences(golden):
    return read_json(golden / "options" / "sentences.json")


def folders(golden, pattern):
    """The folders of golden files that are there; never none."""
    found = sorted(path.parent for path in golden.glob(pattern))
    assert found, pattern
    return found


def backbone_of(folder, vocabulary):
    """The model of a folder of options/."""
    table = folder / "token_embeddings.hdf5"
    words = {"vocabulary": vocabulary, "token_embeddings": table}
    return keras_elmo.ElmoBackbone.from_options(
        folder / "options.json",
        folder / "weights.hdf5",
        **(words if table.exists() else {}),
    )


def without_markers(framed):
    """Public ids of ids with markers: `framed` less each row's first and last."""
    real = framed != 0 if framed.ndim == 2 else framed.any(axis=-1)
    ids = framed.copy()
    for row, last in enumerate(real.sum(axis=1) - 1):
        ids[row, last] = 0
    return ids[:, 1:-1]


def test_every_golden_combination(golden, sentences):
    for folder in folders(golden, "options/*/expected.npz"):
        backbone = backbone_of(folder, golden / "options" / "vocab.txt")
        stored = load(folder / "expected.npz")
        ids = ElmoTokenizer.of(backbone).encode_sentences(sentences)
        np.testing.assert_array_equal(ids, without_markers(stored["ids"]))
        layers = outputs_of(backbone)(ids)
        assert_real_tokens_close(layers, stored["layers"], stored["mask"], folder.name)


def test_word_inputs_of_embed(golden, sentences):
    """The public way: words outside the vocabulary are `<UNK>`."""
    found = folders(golden, "options/*/token_embeddings.hdf5")
    for folder in found:
        backbone = backbone_of(folder, golden / "options" / "vocab.txt")
        assert backbone.input_kind == "words"
        stored = load(folder / "expected.npz")
        vectors = keras_elmo.embed(sentences, backbone, layers="all")
        assert_real_tokens_close(vectors, stored["layers"], stored["mask"], folder.name)


def test_weights_dumped_from_training(golden):
    for folder in folders(golden, "training/*/inference.npz"):
        backbone = keras_elmo.ElmoBackbone.from_options(
            folder / "options_inference.json",
            folder / "weights.hdf5",
            vocabulary=golden / "training" / "vocab.txt",
        )
        stored = load(folder / "inference.npz")
        texts = json.loads(str(stored["sentences"]))
        ids = ElmoTokenizer.of(backbone).encode_sentences(texts)
        np.testing.assert_array_equal(ids, without_markers(stored["ids"]))
        layers = outputs_of(backbone)(ids)
        assert_real_tokens_close(layers, stored["layers"], stored["mask"], folder.name)


def test_one_layer_under_the_names_that_training_dumps(golden):
    """bilm-tf writes such a file and cannot read it: compared with the reference."""
    folder = golden / "training" / "word_one_layer"
    options = read_json(folder / "options_inference.json")
    backbone = keras_elmo.ElmoBackbone.from_options(
        folder / "options_inference.json",
        folder / "weights.hdf5",
        vocabulary=golden / "training" / "vocab.txt",
    )
    weights = reference.read_hdf5(folder / "weights.hdf5")
    ids = np.array([[4, 9, 63, 3], [7, 0, 0, 0]], "int32")
    check_with_reference(backbone, options, weights, ids)


def check_with_reference(backbone, options, weights, ids):
    begin, end = (
        (backbone.start_token_id, backbone.end_token_id)
        if ids.ndim == 2
        else reference.character_ids([["<S>", "</S>"]], ids.shape[-1])[0]
    )
    mask = ids != 0 if ids.ndim == 2 else ids.any(axis=-1)
    framed = np.pad(ids, [(0, 0), (1, 1)] + [(0, 0)] * (ids.ndim - 2))
    framed[:, 0] = begin
    framed[np.arange(len(ids)), mask.sum(axis=1) + 1] = end
    model = reference.PublishedModel(
        options, {name: np.float64(array) for name, array in weights.items()}
    )
    layers = outputs_of(backbone)(ids)
    assert_real_tokens_close(layers, model.layers(framed), mask)


def combined(lstm, char_cnn):
    options = copy.deepcopy(OPTIONS)
    options["lstm"].update(lstm)
    if char_cnn is None:
        del options["char_cnn"]
    else:
        options["char_cnn"].update(char_cnn)
    for part in options.values():
        for key in [key for key, value in part.items() if value is None]:
            del part[key]
    return options


@pytest.mark.parametrize("name", COMBINATIONS)
def test_more_combinations_equal_the_reference(name, tmp_path):
    options = combined(*COMBINATIONS[name])
    rng = np.random.default_rng(len(name))
    words = None if "char_cnn" in options else 9
    weights = reference.random_weights(options, rng, words)
    (tmp_path / "options.json").write_text(json.dumps(options), "utf-8")
    reference.write_hdf5(tmp_path / "weights.hdf5", weights)
    vocabulary = None
    if words is None:
        ids = reference.character_ids(
            [["The", "cat", "sat", ""], ["xxxxxxxxxxxxxxx", "字"], []],
            options["char_cnn"]["max_characters_per_token"],
        )
    else:
        vocabulary = keras_elmo.Vocabulary(["<S>", "</S>", "<UNK>", *"abcdef"])
        ids = np.array([[9, 4, 5, 3], [6, 6, 0, 0], [0, 0, 0, 0]])
    backbone = keras_elmo.ElmoBackbone.from_options(
        tmp_path / "options.json", tmp_path / "weights.hdf5", vocabulary
    )
    check_with_reference(backbone, options, weights, ids)
    check_written_and_read_back(backbone, weights, tmp_path)


def check_written_and_read_back(backbone, weights, folder):
    """The file of a model holds what the model was read from, to the bit."""
    bilm_hdf5.write_weights(backbone, folder / "again.hdf5")
    bilm_options.write_options(backbone, folder / "again.json")
    written = reference.read_hdf5(folder / "again.hdf5")
    assert set(written) == set(weights)
    for name, array in weights.items():
        np.testing.assert_array_equal(written[name], array, err_msg=name)
    again = keras_elmo.ElmoBackbone.from_options(
        folder / "again.json", folder / "again.hdf5", backbone.vocabulary
    )
    ours, theirs = backbone.get_config(), again.get_config()
    for config in (ours, theirs):
        del config["name"]
    assert ours == theirs
    for one, two in zip(backbone.get_weights(), again.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)


def test_published_weights_are_written_and_read_back(golden, tmp_path):
    found = [
        *folders(golden, "options/*/expected.npz"),
        *folders(golden, "*/lm_weights.hdf5"),
    ]
    for folder in found:
        if (folder / "token_embeddings.hdf5").exists():
            continue
        path = folder / "weights.hdf5"
        path = path if path.exists() else folder / "lm_weights.hdf5"
        backbone = keras_elmo.ElmoBackbone.from_options(folder / "options.json", path)
        target = tmp_path / folder.name
        target.mkdir()
        check_written_and_read_back(backbone, reference.read_hdf5(path), target)
