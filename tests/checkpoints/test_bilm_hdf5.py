"""bilm-tf's published form: read, written back, and refused when it contradicts."""

import json
import shutil

import h5py
import numpy as np
import pytest

import keras_elmo
from keras_elmo.checkpoints.bilm_hdf5 import load_weights, write_weights
from keras_elmo.checkpoints.bilm_options import read_options, write_options
from keras_elmo.checkpoints.convert import convert
from keras_elmo.checkpoints.hdf5 import find_datasets
from tests.models_for_tests import character_backbone, word_backbone

PUBLISHED = {
    "lstm": {
        "dim": 8,
        "projection_dim": 4,
        "n_layers": 2,
        "cell_clip": 3,
        "proj_clip": 3,
        "use_skip_connections": True,
    },
    "char_cnn": {
        "activation": "relu",
        "filters": [[1, 4], [2, 4], [3, 4]],
        "n_highway": 1,
        "embedding": {"dim": 3},
        "n_characters": 262,
        "max_characters_per_token": 16,
    },
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with options.json and weights.hdf5 that we wrote, and their model."""
    folder = tmp_path_factory.mktemp("written")
    backbone = character_backbone()
    write_options(backbone, folder / "options.json")
    write_weights(backbone, folder / "weights.hdf5")
    return folder, backbone


@pytest.fixture
def files(written, tmp_path):
    """A copy of the two files that a test may spoil."""
    folder, _ = written
    for name in ("options.json", "weights.hdf5"):
        shutil.copy(folder / name, tmp_path / name)
    return tmp_path / "options.json", tmp_path / "weights.hdf5"


def test_what_we_write_is_the_published_form(written):
    folder, _ = written
    options = read_options(folder / "options.json")
    assert {key: options[key] for key in PUBLISHED} == PUBLISHED
    with h5py.File(folder / "weights.hdf5") as file:
        assert file["char_embed"].shape == (261, 3)
        assert file["CNN/W_cnn_1"].shape == (1, 2, 3, 4)
        cell = file["RNN_1/RNN/MultiRNNCell/Cell0/LSTMCell"]
        assert cell["W_0"].shape == (8, 32)
        assert cell["B"].shape == (32,)
        assert cell["W_P_0"].shape == (8, 4)


def test_what_we_write_is_read_back_equal(written):
    folder, backbone = written
    again = keras_elmo.ElmoBackbone.from_options(
        folder / "options.json", str(folder / "weights.hdf5")
    )
    for mine, theirs in zip(again.get_weights(), backbone.get_weights(), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_golden_files_are_written_back_to_the_bit(golden, tmp_path):
    sources = [
        (golden / "bilm" / "options.json", golden / "bilm" / "lm_weights.hdf5"),
        *(
            (folder / "options.json", folder / "weights.hdf5")
            for folder in sorted((golden / "options").glob("[0-9]*"))
        ),
    ]
    for number, (options, weights) in enumerate(sources):
        backbone = keras_elmo.ElmoBackbone.from_options(options, weights)
        path = tmp_path / f"{number}.hdf5"
        write_weights(backbone, path)
        with h5py.File(weights) as theirs, h5py.File(path) as mine:
            assert datasets(mine) == datasets(theirs)


def test_word_models_of_training_are_read_and_written(golden, tmp_path):
    folder = golden / "training" / "word"
    backbone = keras_elmo.ElmoBackbone.from_options(
        folder / "options_inference.json",
        folder / "weights.hdf5",
        vocabulary=golden / "training" / "vocab.txt",
    )
    assert backbone.input_kind == "words" and len(backbone.vocabulary) == 63
    stored = np.load(folder / "inference.npz")
    got = keras_elmo.embed(json.loads(str(stored["sentences"])), backbone, layers="all")
    mask = stored["mask"][:, None, :, None]
    np.testing.assert_allclose(
        got * mask, stored["layers"] * mask, atol=5e-6, rtol=1e-5
    )
    write_weights(backbone, tmp_path / "out.hdf5")
    with (
        h5py.File(folder / "weights.hdf5") as theirs,
        h5py.File(tmp_path / "out.hdf5") as mine,
    ):
        assert datasets(mine) == datasets(theirs)


def datasets(file):
    found = {}
    file.visititems(
        lambda name, item: (
            found.update({name: (item.shape, item.dtype, item[...].tobytes())})
            if isinstance(item, h5py.Dataset)
            else None
        )
    )
    return found


@pytest.mark.parametrize("rows", [261, 262])
def test_both_numbers_of_characters_are_the_same_table(files, written, rows):
    options, weights = files
    content = json.loads(options.read_text())
    content["char_cnn"]["n_characters"] = rows
    options.write_text(json.dumps(content))
    again = keras_elmo.ElmoBackbone.from_options(options, weights)
    sentence = [["The", "bank"]]
    np.testing.assert_array_equal(
        keras_elmo.embed(sentence, again), keras_elmo.embed(sentence, written[1])
    )


@pytest.mark.parametrize(
    "section, key, value",
    [
        ("lstm", "dim", 16),
        ("lstm", "projection_dim", 2),
        ("lstm", "n_layers", 1),
        ("lstm", "n_layers", 3),
        ("char_cnn", "filters", [[1, 4], [2, 4]]),
        ("char_cnn", "filters", [[1, 4], [2, 4], [3, 5]]),
        ("char_cnn", "n_highway", 0),
        ("char_cnn", "n_highway", 2),
        ("char_cnn", "embedding", {"dim": 5}),
        ("char_cnn", "n_characters", 260),
        ("char_cnn", "activation", "gelu"),
        ("lstm", "cell_clip", -1),
        ("lstm", "dim", "8"),
    ],
)
def test_an_option_that_disagrees_is_named(files, section, key, value):
    options, weights = files
    content = json.loads(options.read_text())
    content[section][key] = value
    options.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=rf"{section}\.{key}"):
        keras_elmo.ElmoBackbone.from_options(options, weights)


@pytest.mark.parametrize("key", ["dim", "projection_dim", "n_layers"])
def test_a_missing_option_is_named(files, key):
    options, weights = files
    content = json.loads(options.read_text())
    del content["lstm"][key]
    options.write_text(json.dumps(content))
    with pytest.raises(
        ValueError, match=rf"(?s)options\.json.*`lstm\.{key}` is missing"
    ):
        keras_elmo.ElmoBackbone.from_options(options, weights)


def spoil_shape(file):
    del file["CNN_proj/b_proj"]
    file["CNN_proj/b_proj"] = np.zeros(5, "float32")


def spoil_missing(file):
    del file["RNN_0/RNN/MultiRNNCell/Cell1/LSTMCell/B"]


def spoil_unexpected(file):
    file["CNN/extra"] = np.zeros(2, "float32")


def spoil_nan(file):
    file["char_embed"][3, 1] = np.nan


def spoil_kind(file):
    del file["char_embed"]
    file["char_embed"] = np.zeros((261, 3), "int32")


def spoil_link(file):
    del file["char_embed"]
    file["char_embed"] = h5py.ExternalLink("/etc/passwd", "/x")


def spoil_size(file):
    del file["char_embed"]
    file.create_dataset("char_embed", (1 << 40, 3), "float32", chunks=(1, 3))


@pytest.mark.parametrize(
    "spoil, told",
    [
        (spoil_shape, "CNN_proj/b_proj"),
        (spoil_missing, "Cell1/LSTMCell/B"),
        (spoil_unexpected, "CNN/extra"),
        (spoil_nan, "char_embed"),
        (spoil_kind, "char_embed"),
        (spoil_link, "char_embed"),
        (spoil_size, "char_embed"),
    ],
)
def test_a_spoilt_file_is_refused_and_changes_nothing(files, spoil, told):
    _, weights = files
    with h5py.File(weights, "r+") as file:
        spoil(file)
    backbone = character_backbone()
    before = backbone.get_weights()
    with pytest.raises(ValueError, match=told) as error:
        load_weights(backbone, weights)
    assert "weights.hdf5" in str(error.value)
    for mine, theirs in zip(backbone.get_weights(), before, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("size", [0, 100, 3000])
def test_a_truncated_file_is_named(files, size):
    options, weights = files
    weights.write_bytes(weights.read_bytes()[:size])
    with pytest.raises((ValueError, OSError), match=r"weights\.hdf5"):
        keras_elmo.ElmoBackbone.from_options(options, weights)


def test_existing_files_are_kept(files):
    options, weights = files
    for write, path in ((write_options, options), (write_weights, weights)):
        before = path.read_bytes()
        with pytest.raises(FileExistsError, match="overwrite"):
            write(character_backbone(), path)
        assert path.read_bytes() == before


def test_word_input_needs_a_vocabulary_of_the_tables_size(tmp_path):
    backbone = word_backbone()
    options, weights = tmp_path / "options.json", tmp_path / "weights.hdf5"
    write_options(backbone, options)
    write_weights(backbone, weights)
    with pytest.raises(ValueError, match="`vocabulary` must be given"):
        keras_elmo.ElmoBackbone.from_options(options, weights)
    small = keras_elmo.Vocabulary(["<S>", "</S>", "<UNK>"])
    with pytest.raises(ValueError, match="3"):
        keras_elmo.ElmoBackbone.from_options(options, weights, vocabulary=small)
    again = keras_elmo.ElmoBackbone.from_options(
        options, weights, vocabulary=backbone.vocabulary
    )
    sentence = [["the", "river"]]
    np.testing.assert_array_equal(
        keras_elmo.embed(sentence, again), keras_elmo.embed(sentence, backbone)
    )


def test_convert_makes_a_preset(written, tmp_path):
    folder, backbone = written
    summary = convert(folder, tmp_path / "preset")
    assert summary["form"] == "bilm_hdf5" and summary["layers"] == 2
    assert summary["dimension"] == 8 and summary["vocabulary"] is None
    again = keras_elmo.ElmoBackbone.from_preset(tmp_path / "preset")
    sentence = [["The", "bank"]]
    np.testing.assert_array_equal(
        keras_elmo.embed(sentence, again), keras_elmo.embed(sentence, backbone)
    )
    with pytest.raises(FileExistsError):
        convert(folder / "options.json", tmp_path / "preset")


def test_convert_says_what_it_looked_for(files, tmp_path):
    options, weights = files
    with pytest.raises(FileNotFoundError, match="does not exist"):
        convert(tmp_path / "nowhere", tmp_path / "preset")
    shutil.copy(weights, tmp_path / "more.hdf5")
    with pytest.raises(ValueError, match=r"more\.hdf5, weights\.hdf5"):
        convert(options, tmp_path / "preset")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"\*options\.json"):
        convert(tmp_path / "empty", tmp_path / "preset")
    with pytest.raises(ValueError, match="form='zip'"):
        convert(options, tmp_path / "preset", form="zip")
    assert not (tmp_path / "preset").exists()


@pytest.mark.once
def test_a_name_without_an_entry_is_a_damaged_file(tmp_path, monkeypatch):
    path = tmp_path / "weights.hdf5"
    with h5py.File(path, "w") as file:
        file["name"] = 1.0
    # As in a file whose table of names was damaged: h5py lists it and finds no link.
    monkeypatch.setattr(h5py.Group, "get", lambda *_, **__: None)
    with h5py.File(path) as file, pytest.raises(ValueError, match="is not there"):
        find_datasets(file, path)
