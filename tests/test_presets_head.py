"""The language model of a preset: read back equal, refused where it is not one."""

import json

import h5py
import numpy as np
import pytest
from keras import ops

import keras_elmo
from keras_elmo.checkpoints import hdf5
from keras_elmo.presets import load_backbone, save_backbone
from keras_elmo.presets_head import load_language_model, save_language_model
from keras_elmo.training import perplexity
from tests.helpers import next_backend, run_python
from tests.models_for_tests import character_backbone, word_backbone

WORDS = ("the", "bank", "river", ".")
SENTENCES = [["the", "bank", "."], ["river"], ["the", "unseen", "river", "."]]
FLOAT16_STEP = 2.0**-11


def language_model(kind="characters", **changes):
    """A language model with random weights, its bias among them."""
    if kind == "characters":
        backbone = character_backbone(**changes)
        backbone.vocabulary = word_backbone(WORDS).vocabulary
    else:
        backbone = word_backbone(WORDS, **changes)
    model = keras_elmo.ElmoBiLM(
        backbone, len(backbone.vocabulary), tie_embeddings=kind == "tied"
    )
    bias = np.random.normal(size=model.vocabulary_size)
    model.softmax.bias.assign(bias.astype("float32"))
    return model


def weights(model):
    return [ops.convert_to_numpy(weight) for weight in model.weights]


@pytest.fixture
def preset(tmp_path):
    model = language_model()
    save_language_model(model, tmp_path / "preset")
    return model, tmp_path / "preset"


def change_task(path, **changes):
    task = json.loads((path / "task.json").read_text(encoding="utf-8"))
    task["config"].update(changes)
    (path / "task.json").write_text(json.dumps(task), encoding="utf-8")


def write_head(path, **arrays):
    with h5py.File(path / "task.weights.h5", "w") as file:
        for name, array in arrays.items():
            file[name] = array


@pytest.mark.parametrize("kind", ["characters", "words", "tied"])
def test_a_language_model_is_read_back_equal(kind, tmp_path):
    model = language_model(kind)
    save_language_model(model, tmp_path / "preset")
    again = load_language_model(tmp_path / "preset", batch_size=2)
    assert again.batch_size == 2
    assert again.tie_embeddings == (kind == "tied")
    assert again.backbone.get_config() == model.backbone.get_config()
    assert again.backbone.vocabulary == model.backbone.vocabulary
    for mine, theirs in zip(
        [*again.backbone.weights, *again.softmax.weights], weights(model), strict=True
    ):
        np.testing.assert_array_equal(ops.convert_to_numpy(mine), theirs)
    vocabulary = model.backbone.vocabulary
    expected = perplexity(model, SENTENCES, vocabulary)
    assert perplexity(again, SENTENCES, vocabulary) == expected


@pytest.mark.parametrize("kind, names", [("words", 2), ("tied", 1)])
def test_files_and_names_of_the_head_are_frozen(kind, names, tmp_path):
    path = tmp_path / "preset"
    save_language_model(language_model(kind), path)
    assert {str(f.relative_to(path)) for f in path.rglob("*") if f.is_file()} == {
        "config.json",
        "metadata.json",
        "tokenizer.json",
        "model.weights.h5",
        "assets/vocabulary.txt",
        "task.json",
        "task.weights.h5",
    }
    assert json.loads((path / "task.json").read_text(encoding="utf-8")) == {
        "module": "keras_elmo",
        "class_name": "ElmoBiLM",
        "config": {"vocabulary_size": 7, "tie_embeddings": kind == "tied"},
        "registered_name": "keras_elmo>ElmoBiLM",
    }
    with h5py.File(path / "task.weights.h5") as file:
        assert sorted(file) == ["bias", "kernel"][:names]
        assert file["bias"].dtype == "float32"


@pytest.mark.once
def test_the_backbone_is_read_without_the_head(preset):
    model, path = preset
    (path / "task.json").write_text("no JSON")
    (path / "task.weights.h5").write_bytes(b"no HDF5")
    again = keras_elmo.ElmoBackbone.from_preset(path)
    for mine, theirs in zip(weights(again), weights(model.backbone), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.once
def test_a_preset_without_a_head_is_refused(tmp_path):
    save_backbone(word_backbone(), tmp_path / "preset")
    with pytest.raises(ValueError, match=r"no language model.*perplexity.*pretrain"):
        load_language_model(tmp_path / "preset")


@pytest.mark.once
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "bfloat16", "float16"])
def test_the_head_has_the_dtype_policy_of_its_backbone(policy, tmp_path):
    backbone = word_backbone(WORDS, dtype=policy)
    model = keras_elmo.ElmoBiLM(backbone, dtype=policy)
    save_language_model(model, tmp_path / "preset")
    again = load_language_model(tmp_path / "preset")
    assert again.dtype_policy.name == again.softmax.dtype_policy.name == policy
    for mine, theirs in zip(weights(again), weights(model), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    asked = load_language_model(tmp_path / "preset", dtype="float32")
    assert {w.dtype for w in asked.weights} == {"float32"}
    for mine, theirs in zip(weights(asked), weights(model), strict=True):
        np.testing.assert_array_equal(mine, theirs.astype("float32"))


def test_float16_files_are_read_into_float32_models(tmp_path):
    model = language_model(hidden_dim=256)
    save_language_model(model, tmp_path / "wide")
    save_language_model(model, tmp_path / "narrow", weights_dtype="float16")
    for name in ("model.weights.h5", "task.weights.h5"):
        with h5py.File(tmp_path / "narrow" / name) as file:
            datasets = hdf5.find_datasets(file, name)
            assert {item.dtype.name for item in datasets.values()} == {"float16"}
    sizes = [
        (tmp_path / folder / "model.weights.h5").stat().st_size
        for folder in ("narrow", "wide")
    ]
    assert sizes[0] < 0.7 * sizes[1]  # what is no number does not halve
    again = load_language_model(tmp_path / "narrow")
    assert {w.dtype for w in again.weights} == {"float32"}
    for mine, theirs in zip(weights(again), weights(model), strict=True):
        np.testing.assert_array_equal(mine, theirs.astype("float16"))
        np.testing.assert_allclose(mine, theirs, rtol=FLOAT16_STEP, atol=1e-7)


@pytest.mark.once
def test_bfloat16_weights_stay_so_in_a_float16_file(tmp_path):
    model = language_model("words", dtype="bfloat16")
    save_language_model(model, tmp_path / "preset", weights_dtype="float16")
    again = load_backbone(tmp_path / "preset")
    for mine, theirs in zip(weights(again), weights(model.backbone), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.once
def test_weights_too_large_for_float16_are_named(tmp_path):
    model = language_model()
    # A number that is none must not hide the one that is too large.
    model.softmax.bias.assign(np.array([1e6, np.nan, *[0] * 5], "float32"))
    with pytest.raises(ValueError, match="`bias` has numbers that are too large"):
        save_language_model(model, tmp_path / "preset", weights_dtype="float16")
    kernel = model.backbone.encoder.weights[0]
    kernel.assign(np.full(kernel.shape, 1e5, "float32"))
    for save, what in ((save_language_model, model), (save_backbone, model.backbone)):
        with pytest.raises(ValueError, match=r"`layers/bi_lm.*` has numbers that are"):
            save(what, tmp_path / "preset", weights_dtype="float16")
    with pytest.raises(ValueError, match="weights_dtype='int8'"):
        save_language_model(model, tmp_path / "preset", weights_dtype="int8")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.once
def test_a_head_needs_its_vocabulary(tmp_path):
    model = language_model()
    model.backbone.vocabulary = None
    with pytest.raises(ValueError, match=r"one of 7 words. Received: None"):
        save_language_model(model, tmp_path / "preset")
    model.backbone.vocabulary = word_backbone(("one",)).vocabulary
    with pytest.raises(ValueError, match="4 words"):
        save_language_model(model, tmp_path / "preset")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.once
def test_what_exists_is_kept_and_a_fault_leaves_nothing(preset, tmp_path, monkeypatch):
    model, path = preset
    before = {f: f.read_bytes() for f in path.rglob("*") if f.is_file()}
    with pytest.raises(FileExistsError, match="overwrite"):
        save_language_model(model, path)

    def full_disk(*_, **__):
        raise OSError(28, "No space left on device")

    # The head's file is the last one written.
    with monkeypatch.context() as patch:
        patch.setattr(h5py.Group, "create_dataset", full_disk)
        with pytest.raises(OSError, match="No space left"):
            save_language_model(model, path, overwrite=True)
    assert {f: f.read_bytes() for f in path.rglob("*") if f.is_file()} == before
    assert list(tmp_path.iterdir()) == [path]
    # A backbone in its place leaves no head of another model behind.
    save_backbone(word_backbone(), path, overwrite=True)
    with pytest.raises(ValueError, match="no language model"):
        load_language_model(path)


@pytest.mark.once
@pytest.mark.parametrize(
    "text, told",
    [
        ("{", r"task\.json` line 1"),
        ("[]", "must describe a model"),
        ('{"registered_name": "os>system", "config": {}}', "keras_elmo>ElmoBiLM"),
        ('{"registered_name": "keras_elmo>ElmoBiLM", "config": {}}', "None, None"),
    ],
)
def test_a_task_of_something_else_is_refused(preset, text, told):
    _, path = preset
    (path / "task.json").write_text(text)
    with pytest.raises(ValueError, match=told):
        load_language_model(path)


@pytest.mark.once
@pytest.mark.parametrize(
    "changes, told",
    [
        ({"vocabulary_size": 0}, "Received: 0, False"),
        ({"vocabulary_size": 7.0}, r"Received: 7\.0"),
        ({"vocabulary_size": True}, "Received: True"),
        ({"vocabulary_size": 10**12}, "vocabulary"),
        ({"tie_embeddings": "yes"}, "'yes'"),
    ],
)
def test_a_task_that_contradicts_the_preset_is_refused(preset, changes, told):
    _, path = preset
    change_task(path, **changes)
    with pytest.raises(ValueError, match=told):
        load_language_model(path)


@pytest.mark.once
def test_tying_to_a_backbone_without_words_is_refused(preset):
    _, path = preset
    change_task(path, tie_embeddings=True)
    write_head(path, bias=np.zeros(7, "float32"))
    with pytest.raises(ValueError, match="tie_embeddings"):
        load_language_model(path)


KERNEL, BIAS = np.zeros((7, 4), "float32"), np.zeros(7, "float32")


@pytest.mark.once
@pytest.mark.parametrize(
    "arrays, told",
    [
        ({"kernel": KERNEL.T, "bias": BIAS}, r"\(7, 4\).*Received.*\(4, 7\)"),
        ({"kernel": KERNEL, "bias": BIAS[:6]}, r"\(7,\).*Received.*\(6,\)"),
        ({"kernel": KERNEL}, "'bias'"),
        ({"kernel": KERNEL, "bias": BIAS, "more": BIAS}, "'more'"),
        ({"kernel": h5py.Empty("f4"), "bias": BIAS}, "Received.*None"),
        ({"kernel": KERNEL.astype("i4"), "bias": BIAS}, "`kernel` .* must hold floats"),
        ({"kernel": KERNEL + np.nan, "bias": BIAS}, "`kernel` .* NaN or infinite"),
        ({"kernel": h5py.ExternalLink("other.h5", "/x"), "bias": BIAS}, "a link into"),
        ({"kernel": h5py.SoftLink("/bias"), "bias": BIAS}, "is a link to"),
    ],
)
def test_a_head_of_other_weights_is_refused(preset, arrays, told):
    _, path = preset
    write_head(path, **arrays)
    with pytest.raises(ValueError, match=told) as error:
        load_language_model(path)
    assert "task.weights.h5" in str(error.value)


@pytest.mark.once
def test_a_damaged_or_missing_file_of_weights_is_named(preset):
    _, path = preset
    weights_file = path / "task.weights.h5"
    whole = weights_file.read_bytes()
    for content in (b"", b"no hdf5" * 1000, whole[: len(whole) // 2]):
        weights_file.write_bytes(content)
        with pytest.raises(ValueError, match=r"task\.weights\.h5"):
            load_language_model(path)
    weights_file.unlink()
    with pytest.raises(FileNotFoundError, match=r"task\.weights\.h5.* is missing"):
        load_language_model(path)


@pytest.mark.once
def test_nothing_is_allocated_for_a_head_that_the_file_does_not_hold(preset):
    """The vocabulary agrees, the shapes agree, and there are no numbers."""
    _, path = preset
    with h5py.File(path / "task.weights.h5", "w") as file:
        file.create_dataset("kernel", shape=(7, 4), dtype="f4", chunks=(7, 4))
        file["bias"] = BIAS
    with pytest.raises(ValueError, match=r"declares 112 bytes .* holds 0"):
        load_language_model(path)
    words = [f"w{i}" for i in range(9997)]
    vocabulary = keras_elmo.Vocabulary(["<S>", "</S>", "<UNK>", *words])
    vocabulary.write(path / "assets" / "vocabulary.txt", overwrite=True)
    change_task(path, vocabulary_size=10_000)
    with h5py.File(path / "task.weights.h5", "w") as file:
        file.create_dataset("kernel", shape=(10_000, 4), dtype="f4", chunks=(100, 4))
        file.create_dataset("bias", shape=(10_000,), dtype="f4", chunks=(100,))
    with pytest.raises(ValueError, match=r"too small for its 50,000 numbers"):
        load_language_model(path)


@pytest.mark.once
def test_backbone_weights_without_a_shape_are_refused(preset):
    _, path = preset
    with h5py.File(path / "model.weights.h5", "a") as file:
        name = "layers/character_cnn/vars/0"
        del file[name]
        file[name] = h5py.Empty("f4")
    with pytest.raises(ValueError, match=r"model\.weights\.h5"):
        load_language_model(path)


PROGRAM = """
import json, sys
from keras_elmo.presets_head import load_language_model
from keras_elmo.training import perplexity
model = load_language_model(sys.argv[1])
found = perplexity(model, json.loads(sys.argv[2]), model.backbone.vocabulary)
open(sys.argv[3], "w").write(json.dumps(found))
"""


@pytest.mark.once
def test_another_backend_reads_a_float16_head(tmp_path):
    model = language_model()
    save_language_model(model, tmp_path / "preset", weights_dtype="float16")
    out = tmp_path / "out.json"
    text = json.dumps(SENTENCES)
    run_python(PROGRAM, tmp_path / "preset", text, out, backend=next_backend())
    here = load_language_model(tmp_path / "preset")
    expected = perplexity(here, SENTENCES, model.backbone.vocabulary)
    found = json.loads(out.read_text())
    assert found == pytest.approx(expected, rel=1e-6)
