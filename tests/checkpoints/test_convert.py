"""`keras-elmo convert`: each form by its files, and back; nothing written in vain."""

import hashlib
import json
import shutil
import tarfile
import zipfile

import numpy as np
import pytest

import keras_elmo
from keras_elmo.checkpoints import bilm_tf1, forms
from keras_elmo.checkpoints.bilm_hdf5 import write_weights
from keras_elmo.checkpoints.bilm_names import weights_of
from keras_elmo.checkpoints.bilm_options import write_options
from keras_elmo.checkpoints.convert import FORMS, convert
from keras_elmo.checkpoints.tensor_bundle import write_bundle
from keras_elmo.checkpoints.training_state import TrainingState
from tests.models_for_tests import character_backbone, word_backbone

pytestmark = pytest.mark.once

SENTENCES = [["The", "river", "bank"], []]


def language_model(backbone=None):
    if backbone is None:
        backbone = character_backbone(max_characters_per_token=50)
        backbone.vocabulary = word_backbone().vocabulary
    return keras_elmo.ElmoBiLM(backbone, len(backbone.vocabulary))


def write_hub(backbone, folder, prefix="", **more):
    """A folder as TF-Hub's modules are, of a backbone's weights."""
    (folder / "variables").mkdir(parents=True)
    (folder / "saved_model.pb").write_bytes(b"\x08\x01")
    arrays = {
        f"{prefix}bilm/{name}": weight.read(backbone)
        for name, weight in weights_of(backbone.get_config()).items()
    }
    arrays.update({f"{prefix}{name}": array for name, array in more.items()})
    write_bundle(folder / "variables" / "variables", arrays)


@pytest.fixture(scope="module")
def model():
    return language_model()


@pytest.fixture(scope="module")
def sources(model, tmp_path_factory):
    """{form: a folder of one model, the same in all of them}."""
    root = tmp_path_factory.mktemp("sources")
    (root / "hdf5").mkdir()
    write_options(model.backbone, root / "hdf5" / "small_options.json")
    write_weights(model.backbone, root / "hdf5" / "small_weights.hdf5")
    bilm_tf1.write_checkpoint(model, root / "tf1")
    mix = {"aggregation/weights": np.float32([0, 1, 2])}
    write_hub(
        model.backbone, root / "hub", **mix, **{"aggregation/scaling": np.float32(2)}
    )
    model.save_to_preset(root / "preset")
    return {
        "bilm_hdf5": root / "hdf5",
        "bilm_tf1": root / "tf1",
        "tf_hub": root / "hub",
        "preset": root / "preset",
    }


def assert_same_vectors(preset, backbone, **options):
    again = keras_elmo.ElmoBackbone.from_preset(preset)
    np.testing.assert_array_equal(
        keras_elmo.embed(SENTENCES, again, **options),
        keras_elmo.embed(SENTENCES, backbone, **options),
    )


@pytest.mark.parametrize("form", ["bilm_hdf5", "bilm_tf1", "tf_hub"])
def test_each_form_is_known_by_its_files(sources, model, form, tmp_path):
    assert forms.recognise(sources[form]) == [form]
    summary = convert(sources[form], tmp_path / "preset")
    assert summary["form"] == form and summary["to"] == "preset"
    assert summary["input"] == "characters" and summary["layers"] == 2
    assert summary["hidden_dim"] == 8 and summary["dimension"] == 8
    assert summary["max_characters"] == 50
    assert summary["language_model"] == (form == "bilm_tf1")
    assert_same_vectors(tmp_path / "preset", model.backbone, layers="all")
    named = convert(
        sources[form], tmp_path / "again", form=form.replace("_", "-"), overwrite=True
    )
    assert named["form"] == form


def test_the_mix_of_a_module_comes_along(sources, tmp_path):
    summary = convert(sources["tf_hub"], tmp_path / "preset")
    odds = np.exp([0, 1, 2])
    np.testing.assert_allclose(summary["mix_weights"], odds / odds.sum(), rtol=1e-6)
    assert summary["gamma"] == 2.0
    backbone = keras_elmo.ElmoBackbone.from_preset(tmp_path / "preset")
    every = keras_elmo.embed(SENTENCES, backbone, layers="all")
    mixed = 2 * np.einsum("bltd,l->btd", every, odds / odds.sum())
    np.testing.assert_allclose(keras_elmo.embed(SENTENCES, backbone), mixed, atol=1e-6)


def test_a_module_that_is_none_or_two_is_refused(model, tmp_path):
    write_hub(model.backbone, tmp_path / "half", **{"aggregation/weights": np.ones(3)})
    with pytest.raises(ValueError, match="aggregation/scaling"):
        convert(tmp_path / "half", tmp_path / "out")
    write_hub(
        model.backbone,
        tmp_path / "mix",
        **{"aggregation/weights": np.ones(2), "aggregation/scaling": np.ones(())},
    )
    with pytest.raises(ValueError, match=r"must have shape \(3,\)"):
        convert(tmp_path / "mix", tmp_path / "out")
    extra = {"module_1/bilm/char_embed": np.ones((262, 3), "float32")}
    (tmp_path / "three" / "variables").mkdir(parents=True)
    write_bundle(tmp_path / "three" / "variables" / "variables", extra)
    with pytest.raises(ValueError, match="does not tell the sizes"):
        convert(tmp_path / "three", tmp_path / "out")
    write_bundle(
        tmp_path / "three" / "variables" / "variables",
        {**extra, "module/bilm/x": np.ones(1, "float32")},
    )
    with pytest.raises(ValueError, match="`module/bilm`, `module_1/bilm`"):
        convert(tmp_path / "three", tmp_path / "out")
    write_bundle(
        tmp_path / "three" / "variables" / "variables", {"dense": np.ones(1, "float32")}
    )
    with pytest.raises(ValueError, match="holds no google/elmo"):
        convert(tmp_path / "three", tmp_path / "out")
    # One behind a prefix, with a task's layers and slots beside it, is read.
    write_hub(
        model.backbone,
        tmp_path / "task",
        "module/",
        **{
            "bilm/char_embed/Adam": np.ones((261, 3), "float32"),
            "dense/kernel": np.ones((2, 2), "float32"),
        },
    )
    summary = convert(tmp_path / "task", tmp_path / "out")
    assert summary["mix_weights"] is None
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".tmp")]


def test_options_beside_a_module_tell_what_its_variables_do_not(tmp_path):
    backbone = character_backbone(use_skip_connections=False, cell_clip=None)
    write_hub(backbone, tmp_path / "hub")
    write_options(backbone, tmp_path / "hub" / "options.json")
    convert(tmp_path / "hub", tmp_path / "preset", form="tf_hub")
    assert_same_vectors(tmp_path / "preset", backbone)


def test_a_checkpoint_keeps_softmax_slots_and_steps(sources, model, tmp_path):
    folder = tmp_path / "source"
    checkpoint = bilm_tf1.read_checkpoint(
        sources["bilm_tf1"], sources["bilm_tf1"] / "vocab.txt"
    )
    checkpoint.state.step = 41
    checkpoint.state.accumulators["softmax/b"] += 2.0
    bilm_tf1.write_checkpoint(model, folder, checkpoint.state)
    summary = convert(folder, tmp_path / "preset")
    assert summary["training_steps"] == 41 and summary["vocabulary"] == 7
    again = keras_elmo.ElmoBiLM.from_preset(tmp_path / "preset")
    for ours, theirs in zip(again.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    state = TrainingState.read(tmp_path / "preset", again)
    assert state.step == 41 and (state.accumulators["softmax/b"] == 3.0).all()
    # And back, to the byte.
    convert(tmp_path / "preset", tmp_path / "back", to="bilm-tf1")
    names = [path.name for path in folder.iterdir()]
    assert len(names) == 5
    for name in names:
        ours, theirs = (folder / name), (tmp_path / "back" / name)
        assert ours.read_bytes() == theirs.read_bytes(), name


def test_without_its_words_a_checkpoint_gives_vectors_alone(sources, tmp_path, model):
    shutil.copytree(sources["bilm_tf1"], tmp_path / "source")
    words = (tmp_path / "source" / "vocab.txt").rename(tmp_path / "words.txt")
    summary = convert(tmp_path / "source", tmp_path / "preset")
    assert not summary["language_model"] and summary["training_steps"] is None
    assert "--vocabulary FILE" in summary["remarks"][0]
    assert_same_vectors(tmp_path / "preset", model.backbone)
    summary = convert(tmp_path / "source", tmp_path / "whole", vocabulary=words)
    assert summary["language_model"] and summary["remarks"] is None


def test_weights_for_the_older_programs(sources, model, tmp_path):
    summary = convert(sources["preset"], tmp_path / "out", to="bilm_hdf5")
    assert summary["form"] == "preset" and summary["remarks"] is None
    # simple_elmo looks for these names.
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *("options.json", "model.hdf5", "vocab.txt", "README.md")
    }
    options = json.loads((tmp_path / "out" / "options.json").read_text())
    assert options["char_cnn"]["n_characters"] == 262
    again = keras_elmo.ElmoBackbone.from_options(
        tmp_path / "out" / "options.json", tmp_path / "out" / "model.hdf5"
    )
    for ours, theirs in zip(
        again.get_weights(), model.backbone.get_weights(), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_counts_do_not_become_words_of_the_older_programs(tmp_path):
    vocabulary = keras_elmo.text.build_vocabulary([["a", "b"], ["a"]])
    assert vocabulary.counts is not None
    backbone = character_backbone()
    backbone.vocabulary = vocabulary
    model = keras_elmo.ElmoBiLM(backbone, len(vocabulary))
    model.save_to_preset(tmp_path / "preset")
    for to in ("bilm_hdf5", "bilm_tf1"):
        convert(tmp_path / "preset", tmp_path / to, to=to)
        lines = (tmp_path / to / "vocab.txt").read_text().splitlines()
        assert lines == list(vocabulary.tokens)
    options = json.loads((tmp_path / "bilm_tf1" / "options.json").read_text())
    assert options["n_train_tokens"] == 3


@pytest.mark.parametrize(
    "changes, told",
    [
        ({"use_skip_connections": False}, "no skip connections"),
        ({"projection_dim": 8}, "no projection of the LSTMs"),
        ({"projection_dim": 12, "hidden_dim": 16}, "no projection of the character"),
        ({}, "max_characters_per_token"),
        ({"max_characters_per_token": 50, "num_layers": 1}, "flair does not read"),
        ({"max_characters_per_token": 50, "num_layers": 3}, "flair leaves out"),
    ],
)
def test_what_older_programs_cannot_read_is_told(tmp_path, changes, told):
    character_backbone(**changes).save_to_preset(tmp_path / "preset")
    summary = convert(tmp_path / "preset", tmp_path / "out", to="bilm_hdf5")
    assert told in summary["remarks"][0]


def test_a_word_that_begins_with_a_byte_order_mark_is_kept(sources, tmp_path):
    shutil.copytree(sources["bilm_hdf5"], tmp_path / "source")
    words = ["<S>", "</S>", "\ufeffx", "<UNK>", "a"]
    (tmp_path / "source" / "vocab.txt").write_text("\n".join(words), "utf-8")
    convert(tmp_path / "source", tmp_path / "preset")
    again = keras_elmo.ElmoBackbone.from_preset(tmp_path / "preset")
    assert again.vocabulary.tokens == tuple(words)


def test_a_model_without_softmax_is_no_checkpoint(tmp_path):
    character_backbone().save_to_preset(tmp_path / "preset")
    with pytest.raises(ValueError, match="`to` must be bilm_hdf5"):
        convert(tmp_path / "preset", tmp_path / "out", to="bilm_tf1")
    with pytest.raises(ValueError, match="a preset already"):
        convert(tmp_path / "preset", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["preset"]


def test_archives_are_sources(sources, model, tmp_path):
    with tarfile.open(tmp_path / "hub.tar.gz", "w:gz") as archive:
        archive.add(sources["tf_hub"], ".")
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        for path in sources["bilm_hdf5"].iterdir():
            archive.write(path, f"folder/{path.name}")
    for name, form in (("hub.tar.gz", "tf_hub"), ("model.zip", "bilm_hdf5")):
        target = tmp_path / f"preset_{form}"
        assert convert(tmp_path / name, target)["form"] == form
        assert_same_vectors(target, model.backbone, layers="all")


def test_the_folder_with_more_in_it_is_told_of(sources, tmp_path):
    both = tmp_path / "both"
    shutil.copytree(sources["bilm_tf1"], both)
    weights = sources["bilm_hdf5"] / "small_weights.hdf5"
    shutil.copy(weights, both / "dumped.hdf5")
    summary = convert(both, tmp_path / "preset")
    assert summary["form"] == "bilm_tf1"
    assert "--from bilm_hdf5" in summary["remarks"][0]
    summary = convert(both, tmp_path / "other", form="bilm_hdf5")
    assert summary["form"] == "bilm_hdf5" and not summary["language_model"]
    for name, form in (
        ("options.json", "bilm_tf1"),
        ("model.ckpt-0", "bilm_tf1"),
        ("model.ckpt-0.index", "bilm_tf1"),
    ):
        summary = convert(both / name, tmp_path / "preset", overwrite=True)
        assert summary["form"] == form
    card = (tmp_path / "preset" / "README.md").read_text("utf-8")
    for file in ("options.json", "vocab.txt", "model.ckpt-0.index"):
        assert f"| {file} |" in card
    assert "dumped.hdf5" not in card


def test_the_card_names_source_and_licence(sources, tmp_path):
    convert(
        sources["bilm_hdf5"],
        tmp_path / "small_en",
        licence='Apache-2.0: "as it is"\n# no heading',
        origin="https://example.org/elmo | mirror",
        languages=("en", "fr"),
    )
    text = (tmp_path / "small_en" / "README.md").read_text("utf-8")
    head, _, body = text.removeprefix("---\n").partition("\n---\n")
    assert 'license: "Apache-2.0: \\"as it is\\"\\n# no heading"' in head.splitlines()
    assert 'language: ["en", "fr"]' in head.splitlines()
    assert body.splitlines()[1] == "# small_en"
    assert "https://example.org/elmo \\| mirror" in body
    assert 'Apache-2.0: "as it is" # no heading, as told' in body
    weights = (sources["bilm_hdf5"] / "small_weights.hdf5").read_bytes()
    digest = hashlib.sha256(weights).hexdigest()
    assert f"| small_weights.hdf5 | {len(weights)} | {digest} |" in body
    # Where nothing was told, nothing is claimed.
    convert(sources["bilm_hdf5"], tmp_path / "other")
    text = (tmp_path / "other" / "README.md").read_text("utf-8")
    assert "license:" not in text and "None was told" in text
    # No path of this machine.
    assert str(tmp_path) not in text and str(sources["bilm_hdf5"]) not in text


def test_nothing_is_written_when_something_is_wrong(sources, tmp_path):
    shutil.copytree(sources["bilm_tf1"], tmp_path / "source")
    data = tmp_path / "source" / "model.ckpt-0.data-00000-of-00001"
    spoilt = bytearray(data.read_bytes())
    spoilt[100] ^= 1
    data.write_bytes(spoilt)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ValueError, match="checksum"):
        convert(tmp_path / "source", tmp_path / "out")
    (tmp_path / "there").mkdir()
    before.append(tmp_path / "there")
    with pytest.raises(FileExistsError):
        convert(sources["bilm_hdf5"], tmp_path / "there")
    assert sorted(tmp_path.rglob("*")) == sorted(before)


def test_what_is_no_model_is_told_what_was_looked_for(tmp_path):
    (tmp_path / "notes.txt").write_text("no model")
    with pytest.raises(FileNotFoundError, match=r"model\.ckpt-\*\.index") as error:
        convert(tmp_path, tmp_path.parent / "out")
    assert all(form in str(error.value) for form in FORMS if form != "auto")
    with pytest.raises(ValueError, match="no file that tells a model's form"):
        convert(tmp_path / "notes.txt", tmp_path / "out")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        convert("no_such_model", tmp_path / "out")
    with pytest.raises(ValueError, match="to='onnx'"):
        convert(tmp_path, tmp_path / "out", to="onnx")


def test_the_command(sources, run, tmp_path):
    code, out, _ = run(
        *("convert", sources["preset"], "--to", "bilm-hdf5"),
        *("--output", tmp_path / "out", "--json"),
    )
    assert code == 0
    summary = json.loads(out)
    assert summary["to"] == "bilm_hdf5" and summary["gamma"] is None
    code, out, _ = run(
        *("convert", sources["tf_hub"], "--output", tmp_path / "preset"),
        *("--licence", "Apache-2.0", "--origin", "tfhub.dev", "--language", "en"),
    )
    assert code == 0 and "tf_hub" in out and "None" not in out
    assert "Apache-2.0" in (tmp_path / "preset" / "README.md").read_text()
    code, _, told = run("convert", tmp_path / "x", "--output", tmp_path / "y")
    assert code == 1 and "does not exist" in told
