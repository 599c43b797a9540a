"""Training checkpoints of options that bilm-tf's own folders lack, and broken ones."""

import importlib
import importlib.util
import json
import shutil

import numpy as np
import pytest

import keras_elmo
from keras_elmo.checkpoints.bilm_tf1 import (
    find_checkpoint,
    read_checkpoint,
    write_checkpoint,
)
from keras_elmo.checkpoints.tensor_bundle import TensorBundle, write_bundle
from keras_elmo.checkpoints.training_state import TrainingState
from tests.models_for_tests import character_backbone, word_backbone

pytestmark = pytest.mark.once


def character_model(**changes):
    backbone = character_backbone(**changes)
    backbone.vocabulary = word_backbone().vocabulary
    return keras_elmo.ElmoBiLM(backbone, len(backbone.vocabulary))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder that we wrote, and its model."""
    folder = tmp_path_factory.mktemp("tf1") / "model"
    model = character_model()
    write_checkpoint(model, folder)
    return folder, model


@pytest.fixture
def folder(written, tmp_path):
    """A copy that a test may spoil."""
    shutil.copytree(written[0], tmp_path / "model")
    return tmp_path / "model"


def read(folder):
    return read_checkpoint(folder, folder / "vocab.txt")


def change_options(folder, change):
    path = folder / "options.json"
    options = json.loads(path.read_text())
    change(options)
    path.write_text(json.dumps(options))


def change_variables(folder, change):
    """Writes the checkpoint anew, with right checksums."""
    bundle = TensorBundle(folder / "model.ckpt-0")
    arrays = {name: bundle.read(name) for name in bundle.entries}
    change(arrays)
    write_bundle(folder / "model.ckpt-0", arrays)


def assert_same_models(ours, theirs):
    for one, two in zip(ours.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)


def test_what_we_write_is_what_bilm_tfs_training_needs(written):
    folder, _ = written
    options = json.loads((folder / "options.json").read_text())
    assert options["char_cnn"]["n_characters"] == 261
    assert options["n_tokens_vocab"] == 7
    # Fewer words than negatives: TensorFlow's sampler would refuse.
    assert options["sample_softmax"] is False
    wanted = {"all_clip_norm_val", "batch_size", "n_epochs", "n_train_tokens"}
    wanted |= {"unroll_steps", "n_negative_samples_batch", "bidirectional", "dropout"}
    assert wanted <= set(options)
    bundle = TensorBundle(folder / "model.ckpt-0")
    assert bundle.shapes["lm/softmax/W"] == (7, 4)
    assert (bundle.read("lm/softmax/W/Adagrad") == 1.0).all()
    assert bundle.read("global_step").dtype == np.float32
    text = (folder / "checkpoint").read_text()
    assert text.startswith('model_checkpoint_path: "model.ckpt-0"\n')
    assert (folder / "vocab.txt").read_text().split() == list(
        word_backbone().vocabulary.tokens
    )


def test_a_language_model_is_read_back_equal(written):
    folder, model = written
    again = read(folder).language_model()
    assert_same_models(again, model)
    assert again.loss_scale == 20
    assert again.backbone.vocabulary == model.backbone.vocabulary


def test_a_tied_model_has_no_matrix_of_its_own(tmp_path):
    backbone = word_backbone(num_layers=1)
    model = keras_elmo.ElmoBiLM(backbone, tie_embeddings=True)
    write_checkpoint(model, tmp_path / "model")
    names = TensorBundle(tmp_path / "model" / "model.ckpt-0").entries
    assert "lm/softmax/W" not in names
    # As TensorFlow names the one layer of a stack that is none.
    assert "lm/RNN_0/rnn/lstm_cell/kernel" in names
    again = read(tmp_path / "model").language_model()
    assert again.tie_embeddings
    assert_same_models(again, model)


def test_tensorflow_reads_what_we_write(written):
    if importlib.util.find_spec("tensorflow") is None:
        pytest.skip("TensorFlow is not installed")
    tensorflow = importlib.import_module("tensorflow")
    folder, _ = written
    prefix = tensorflow.train.latest_checkpoint(str(folder))
    assert prefix == str(folder / "model.ckpt-0")
    reader = tensorflow.train.load_checkpoint(prefix)
    bundle = TensorBundle(prefix)
    shapes = reader.get_variable_to_shape_map()
    assert {name: tuple(shape) for name, shape in shapes.items()} == bundle.shapes
    for name in shapes:
        theirs = np.asarray(reader.get_tensor(name))
        np.testing.assert_array_equal(theirs, bundle.read(name))


def test_both_numbers_of_characters_are_the_same_table(folder, written):
    def with_padding(arrays):
        for name in ("lm/char_embed", "lm/char_embed/Adagrad"):
            arrays[name] = np.concatenate([0 * arrays[name][:1], arrays[name]])

    change_variables(folder, with_padding)
    change_options(folder, lambda options: options["char_cnn"].update(n_characters=262))
    checkpoint = read(folder)
    assert_same_models(checkpoint.language_model(), written[1])
    assert checkpoint.state.accumulators["char_embed"].shape == (261, 3)


def test_the_latest_checkpoint_is_the_one_that_is_named(folder):
    for number in (9, 10):
        for end in ("index", "data-00000-of-00001"):
            shutil.copy(
                folder / f"model.ckpt-0.{end}", folder / f"model.ckpt-{number}.{end}"
            )
    assert find_checkpoint(folder)[0].name == "model.ckpt-0"
    named = 'model_checkpoint_path: "/data/run/model.ckpt-9"\n'
    (folder / "checkpoint").write_text(named)
    assert find_checkpoint(folder)[0].name == "model.ckpt-9"
    # What it names is gone: the highest number, not the last in the alphabet.
    (folder / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-7"\n')
    assert find_checkpoint(folder)[0].name == "model.ckpt-10"
    (folder / "checkpoint").unlink()
    assert find_checkpoint(folder)[0].name == "model.ckpt-10"
    for source in ("model.ckpt-9", "model.ckpt-9.index"):
        assert find_checkpoint(folder / source)[0].name == "model.ckpt-9"


def test_what_is_missing_is_named(folder, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file `\*\.ckpt\*\.index`"):
        read_checkpoint(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"model\.ckpt-5\.index"):
        read_checkpoint(folder / "model.ckpt-5")
    (folder / "model.ckpt-5").write_bytes(b"first format")
    with pytest.raises(ValueError, match="second format"):
        read_checkpoint(folder / "model.ckpt-5")
    (folder / "model.ckpt-0.data-00000-of-00001").unlink()
    with pytest.raises(FileNotFoundError, match="data-00000-of-00001"):
        read(folder)
    (folder / "options.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"options\.json"):
        read(folder)


@pytest.mark.parametrize(
    "change, told",
    [
        (lambda o: o["lstm"].update(n_layers=1), r"lstm\.n_layers.* is 1 "),
        (lambda o: o["lstm"].update(projection_dim=3), r"lstm\.projection_dim"),
        (lambda o: o["char_cnn"].update(n_highway=2), r"char_cnn\.n_highway"),
        (lambda o: o.pop("char_cnn"), "char_cnn"),
        (lambda o: o.update(n_tokens_vocab=8), "7 words but .* with 8"),
        (lambda o: o.update(share_embedding_softmax=True), "share_embedding_softmax"),
        (lambda o: o.update(bidirectional=False), "bidirectional"),
        (lambda o: o.update(learning_rate="fast"), "learning_rate"),
        (lambda o: o.update(unroll_steps=-1), "unroll_steps"),
        (lambda o: o["lstm"].update(n_layers=10**12), "num_layers"),
    ],
)
def test_an_option_that_disagrees_is_named(folder, change, told):
    change_options(folder, change)
    with pytest.raises(ValueError, match=told):
        read(folder)


def lose_slot(arrays):
    del arrays["lm/softmax/b/Adagrad"]


def lose_variable(arrays):
    del arrays["lm/CNN_proj/b_proj"], arrays["lm/CNN_proj/b_proj/Adagrad"]


def add_variable(arrays):
    arrays["lm/more"] = arrays["lm/softmax/b"]


def twice(arrays):
    arrays["lm/RNN_0/RNN/MultiRNNCell/Cell0/LSTMCell/B"] = arrays["lm/softmax/b"]


def not_finite(arrays):
    arrays["lm/softmax/b"] = np.full(7, np.nan, "float32")


def integers(arrays):
    arrays["lm/softmax/b"] = np.zeros(7, "int64")


def no_step(arrays):
    arrays["global_step"] = np.float32(-1)


@pytest.mark.parametrize(
    "change, told",
    [
        (lose_slot, "softmax/b"),
        (lose_variable, "missing.*CNN_proj/b_proj"),
        (add_variable, "unexpected.*more"),
        (twice, "under two names"),
        (not_finite, "softmax/b.*NaN"),
        (integers, "must hold floats"),
        (no_step, "global_step"),
    ],
)
def test_a_variable_that_is_wrong_is_named(folder, change, told):
    change_variables(folder, change)
    with pytest.raises(ValueError, match=f"(?s){told}"):
        read(folder)


def test_slots_of_other_optimizers_and_no_slots_leave_the_weights(folder, written):
    def adam(arrays):
        for name in [name for name in arrays if name.endswith("/Adagrad")]:
            array = arrays.pop(name)
            arrays[name.replace("/Adagrad", "/Adam")] = array
            arrays[name.replace("/Adagrad", "/Adam_1")] = array

    change_variables(folder, adam)
    checkpoint = read(folder)
    assert checkpoint.state.accumulators == {}
    model = checkpoint.language_model()
    assert_same_models(model, written[1])
    state = TrainingState.of(model, checkpoint.state.optimizer(model), {})
    assert all((array == 1.0).all() for array in state.accumulators.values())


def test_word_input_needs_its_vocabulary(tmp_path):
    model = keras_elmo.ElmoBiLM(word_backbone())
    write_checkpoint(model, tmp_path / "model")
    with pytest.raises(ValueError, match="`vocabulary` must be given"):
        read_checkpoint(tmp_path / "model")
    other = keras_elmo.Vocabulary(["<S>", "</S>", "<UNK>", "x"])
    with pytest.raises(ValueError, match="another vocabulary"):
        read_checkpoint(tmp_path / "model", other)


def test_a_model_without_a_vocabulary_is_not_written(tmp_path):
    model = keras_elmo.ElmoBiLM(character_backbone(), 7)
    with pytest.raises(ValueError, match=r"backbone\.vocabulary"):
        write_checkpoint(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
