"""ELMoForManyLangs directories: found, loaded, kept as presets, refused."""

import json
import shutil

import numpy as np
import pytest

import keras_elmo
from keras_elmo.checkpoints import many_langs, many_langs_config
from keras_elmo.checkpoints.bilm_hdf5 import write_weights
from keras_elmo.checkpoints.bilm_options import write_options
from keras_elmo.checkpoints.many_langs_names import count_weights, shapes_of
from tests import many_langs_files
from tests.many_langs_files import CONFIG, changed_config, write_directory

pytestmark = pytest.mark.once

SENTENCES = [["the", "cat", "sat"], ["thecatsatonthedog", "字"], []]


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "model"
    write_directory(folder)
    return folder


def rename_config(folder, config_path):
    text = json.dumps({"config_path": config_path})
    (folder / "config.json").write_text(text, "utf-8")


def test_a_directory_is_told_from_others(folder, tmp_path):
    assert many_langs.recognise(folder) and many_langs.recognise(str(folder))
    assert not many_langs.recognise(tmp_path)
    assert not many_langs.recognise(tmp_path / "nothing")
    (folder / "encoder.pkl").unlink()
    assert not many_langs.recognise(folder)
    with pytest.raises(FileNotFoundError, match=r"lacks encoder\.pkl"):
        many_langs.read_many_langs(folder)
    with pytest.raises(FileNotFoundError, match="not a directory"):
        many_langs.read_many_langs(tmp_path / "nothing")


def test_what_is_read_is_what_the_files_hold(folder):
    arrays = many_langs_files.random_arrays(CONFIG)
    read = many_langs.read_many_langs(folder)
    assert set(read.weights) == set(arrays) == set(shapes_of(read.config))
    for name, array in arrays.items():
        np.testing.assert_array_equal(read.weights[name], array)
    assert read.config["hidden_dim"] == 6 and read.config["proj_clip"] == 3
    assert list(read.dictionaries.words) == list(many_langs_files.WORDS)
    # <bos>: its word, begin, one character, end, and padding.
    rows = many_langs_files.rows(many_langs_files.CHARACTERS)
    spelled = [rows[name] + 1 for name in ("<eow>", "<bos>", "<bow>")]
    padding = [rows["<pad>"] + 1] * 6
    assert read.config["begin_ids"] == [2, *spelled, *padding]


@pytest.mark.parametrize("name", ["elmo", "lstm"])
def test_a_model_is_saved_and_loaded_as_any_other(name, tmp_path):
    folder = tmp_path / "model"
    write_directory(folder, changed_config({"name": name}))
    backbone = many_langs.backbone_from_directory(folder)
    assert count_weights(backbone.get_config()) == backbone.count_params()
    backbone.save_to_preset(tmp_path / "preset")
    again = keras_elmo.ElmoBackbone.from_preset(tmp_path / "preset")
    assert type(again) is keras_elmo.ManyLangsBackbone
    assert again.vocabulary == backbone.vocabulary
    for layers in ("mix", "mean", "top", "all", 0, -1):
        vectors = keras_elmo.embed(SENTENCES, backbone, layers)
        np.testing.assert_array_equal(
            keras_elmo.embed(SENTENCES, again, layers), vectors
        )
    tokenizer = keras_elmo.ElmoTokenizer.from_preset(tmp_path / "preset")
    ids = tokenizer.encode_sentences(SENTENCES)
    assert ids.shape == (3, 3, 10)
    np.testing.assert_allclose(
        backbone.predict(ids, verbose=0)[-1],
        keras_elmo.embed(SENTENCES, backbone, "top"),
        atol=1e-6,
    )


def test_a_preset_of_sizes_that_are_not_stored_is_refused(folder, tmp_path):
    many_langs.backbone_from_directory(folder).save_to_preset(tmp_path / "preset")
    path = tmp_path / "preset" / "config.json"
    config = json.loads(path.read_text("utf-8"))
    config["config"]["num_characters"] = 10**12
    path.write_text(json.dumps(config), "utf-8")
    with pytest.raises(ValueError, match="too small"):
        keras_elmo.ElmoBackbone.from_preset(tmp_path / "preset")


def test_no_bilm_is_made_of_it(folder, tmp_path):
    backbone = many_langs.backbone_from_directory(folder)
    for write in (write_weights, write_options):
        with pytest.raises(ValueError, match="as a preset only"):
            write(backbone, tmp_path / "out")
    with pytest.raises(ValueError, match="ELMoForManyLangs"):
        keras_elmo.ElmoBiLM(backbone, 7)
    assert not (tmp_path / "out").exists()


def test_dictionaries_of_another_model_are_refused(folder):
    backbone = many_langs.backbone_from_directory(folder)
    rows = {"<oov>": 0, "<bos>": 1, "<eos>": 2}
    with pytest.raises(ValueError, match=r"vocabulary.characters. must be given"):
        backbone.vocabulary = keras_elmo.text.Dictionaries(words=rows)
    words = {**rows, "the": 7}
    characters = backbone.vocabulary.characters
    with pytest.raises(ValueError, match="rows below 7"):
        backbone.vocabulary = keras_elmo.text.Dictionaries(words, characters)
    with pytest.raises(TypeError, match="Dictionaries"):
        backbone.vocabulary = keras_elmo.Vocabulary(["<S>", "</S>", "<UNK>"])
    with pytest.raises(ValueError, match="must be from 0 to 7"):
        backbone(np.full((1, 1, 10), 8, "int32"))
    with pytest.raises(ValueError, match="must be from 0 to 18"):
        backbone(np.array([[[7] + [19] * 9]], "int32"))


@pytest.mark.parametrize(
    "named",
    ["sizes.json", "./sizes.json", "/users4/authors/sizes.json", "..\\..\\sizes.json"],
)
def test_only_files_of_the_directory_are_read(named, folder, tmp_path):
    (tmp_path / "sizes.json").write_text("{}", "utf-8")
    rename_config(folder, named)
    assert many_langs_config.read_config(folder)[0] == CONFIG
    (folder / "sizes.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"lacks the file of sizes"):
        many_langs_config.read_config(folder)
    (folder / "sizes.json").symlink_to(tmp_path / "sizes.json")
    with pytest.raises(FileNotFoundError, match=r"lacks the file of sizes"):
        many_langs_config.read_config(folder)


def test_a_file_in_a_folder_of_the_directory(folder):
    (folder / "configs").mkdir()
    shutil.move(folder / "sizes.json", folder / "configs" / "sizes.json")
    rename_config(folder, "configs/sizes.json")
    assert many_langs_config.read_config(folder)[0] == CONFIG


def test_published_models_do_not_hold_the_file_they_name(folder):
    for name in ("cnn_50_100_512_4096_sample.json", "cnn_0_100_512_4096_sample.json"):
        rename_config(folder, f"/users4/someone/configs/{name}")
        config, source = many_langs_config.read_config(folder)
        assert source == name
        arguments = many_langs_config.config_to_arguments(config, 71222, 6169)
        assert shapes_of(arguments)["token_embedder/projection.weight"] == (512, 2148)
        assert count_weights(arguments) > 80_000_000


@pytest.mark.parametrize(
    ("encoder", "embedder", "match"),
    [
        ({"name": "gru"}, {}, r"`encoder.name` must be 'elmo' or 'lstm'"),
        ({"dim": 0}, {}, "`encoder.dim` must be a positive integer"),
        ({"n_layers": 10**9}, {}, "`encoder.n_layers` must be"),
        ({"cell_clip": -1}, {}, "`encoder.cell_clip`"),
        ({"proj_clip": "3"}, {}, "`encoder.proj_clip`"),
        ({}, {"name": "lstm"}, "the original program fails with any other"),
        ({}, {"activation": "gelu"}, "`token_embedder.activation`"),
        ({}, {"filters": []}, "`token_embedder.filters`"),
        ({}, {"filters": [[10, 1]]}, r"width \(=10\) above"),
        ({}, {"n_highway": 65}, "`token_embedder.n_highway`"),
        ({}, {"word_dim": 0, "char_dim": 0}, "are both 0"),
        ({}, {"max_characters_per_token": 10**9}, "max_characters_per_token"),
        # Right in themselves, and not what the weights are.
        ({"dim": 7}, {}, r"misshapen \(16\): .*expected \(28, 4\).*; \.\.\."),
        ({"n_layers": 3}, {}, r"missing \(8\): `encoder/forward_layer_2"),
        ({"n_layers": 1}, {}, r"unexpected \(8\): `encoder/forward_layer_1"),
        ({}, {"word_dim": 0}, r"unexpected \(1\): `token_embedder/word_emb_layer"),
        ({"name": "lstm"}, {}, r"missing \(18\)[^\n]*\n  unexpected \(16\)"),
    ],
)
def test_wrong_options_are_named(encoder, embedder, match, folder):
    config = changed_config(encoder, embedder)
    (folder / "sizes.json").write_text(json.dumps(config), "utf-8")
    with pytest.raises(ValueError, match=match):
        many_langs.read_many_langs(folder)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("the\t0\n", "1 lines, 1 entries, rows up to 0"),
        ("".join(f"{n}\t{n}\n" for n in range(7)), "Missing: <oov>, <bos>, <eos>"),
        ("".join(f"{n}\t{n + 1}\n" for n in range(7)), "rows up to 7"),
        ("the\tcat\n", "line 1: expected `entry<TAB>row`"),
        ("\n\nthe\t-1\n", "line 3: expected"),
        ("a\tb\t1\n", "line 1: expected"),
        ("", "0 lines"),
    ],
)
def test_wrong_dictionaries_are_refused(text, match, folder):
    (folder / "word.dic").write_text(text, "utf-8")
    with pytest.raises(ValueError, match=match):
        many_langs.read_many_langs(folder)
    (folder / "word.dic").unlink()
    with pytest.raises(FileNotFoundError, match=r"word\.dic"):
        many_langs.read_many_langs(folder)


def test_a_dictionary_that_has_no_table_is_not_read(tmp_path):
    folder = tmp_path / "model"
    write_directory(folder, changed_config(None, {"word_dim": 0}))
    (folder / "word.dic").write_bytes(b"\xff")
    assert many_langs.read_many_langs(folder).dictionaries.words is None
