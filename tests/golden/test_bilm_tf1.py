"""bilm-tf's training checkpoints: its vectors, its perplexities, its next steps."""

import json

import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.checkpoints.bilm_fit import read_all
from keras_elmo.checkpoints.bilm_names import language_model_weights
from keras_elmo.checkpoints.bilm_tf1 import read_checkpoint, write_checkpoint
from keras_elmo.checkpoints.tensor_bundle import write_bundle
from keras_elmo.checkpoints.training_state import TrainingState
from tests.golden.support import assert_real_tokens_close, load, read_json
from tests.golden.trained import DIRECTIONS, fed, negatives

# golden/training/README.md
LOSS = {"rtol": 2e-6}
VARIABLES = {"atol": 5e-6}
# Folders that differ from others in their numbers alone: each costs a compilation.
ALIKE = ("char", "word", "word_long", "word_shared_long")


@pytest.fixture(scope="module")
def vocabulary(golden):
    return keras_elmo.Vocabulary.read(golden / "training" / "vocab.txt")


def folders(golden, file):
    """The folders of training/ that have a file, of both directions."""
    found = [
        path.parent
        for path in sorted((golden / "training").glob(f"*/{file}"))
        if read_json(path.parent / "options.json")["bidirectional"]
        and path.parent.name not in ALIKE
    ]
    assert {"char_long", "word_shared"} <= {path.name for path in found}
    return found


def test_vectors_are_those_of_bilm_tfs_inference(golden, vocabulary):
    for folder in folders(golden, "inference.npz"):
        backbone = read_checkpoint(folder, vocabulary).language_model().backbone
        stored = load(folder / "inference.npz")
        sentences = json.loads(str(stored["sentences"]))
        vectors = keras_elmo.embed(sentences, backbone, layers="all")
        mask = stored["mask"]
        assert_real_tokens_close(vectors, stored["layers"], mask, folder.name)


def test_perplexities_are_those_of_bilm_tfs_test(golden, vocabulary):
    """Full softmax, the state carried over all batches from zeros."""
    for folder in folders(golden, "test.npz"):
        stored = load(folder / "test.npz")
        # 90 batches of one step, whose state is carried: the same as one of 90 steps.
        joined = {
            name: np.concatenate(array, axis=1)
            for name, array in stored.items()
            if name.startswith("batch/")
        }
        x, y, _ = fed(joined, "batch/")
        assert y["forward"].shape == (3, len(stored["losses"]))
        model = read_checkpoint(folder, vocabulary).language_model()
        del x["carry"]
        hidden = model(x)
        losses = [
            keras.ops.convert_to_numpy(model.nll(hidden[name], y[name])).mean()
            for name in DIRECTIONS
        ]
        np.testing.assert_allclose(
            np.exp(np.mean(losses)),
            stored["perplexity"],
            rtol=1e-5,
            err_msg=folder.name,
        )


@pytest.mark.parametrize("name", ["char_sampled", "word_shared"])
def test_training_goes_on_from_the_slots(golden, vocabulary, tmp_path, name):
    """From bilm-tf's checkpoint after step 1, its steps 2 to 4 follow."""
    folder = golden / "training" / name
    steps = load(folder / "steps.npz")
    write_bundle(tmp_path / "model.ckpt-1", load(folder / "variables_after_step1.npz"))
    (tmp_path / "options.json").write_bytes((folder / "options.json").read_bytes())
    checkpoint = read_checkpoint(tmp_path, vocabulary)
    assert checkpoint.state.step == 1
    model = checkpoint.language_model(batch_size=4)
    optimizer = checkpoint.state.optimizer(model)
    model.compile(optimizer=optimizer)
    for direction in DIRECTIONS:
        for layer, (h, c) in enumerate(model.training_state.states[direction]):
            prefix = f"step2/state_in/{direction}_{layer}/"
            h.assign(steps[f"{prefix}h"])
            c.assign(steps[f"{prefix}c"])
    for number in range(2, 5):
        x, y, weights = fed(steps, f"step{number}/batch/")
        if name == "char_sampled":
            x["negatives"] = negatives(steps, number, y["forward"].shape)
        logs = model.train_on_batch(x, y, weights, return_dict=True)
        np.testing.assert_allclose(
            logs["loss"], steps[f"step{number}/total_loss"], **LOSS
        )
        model.reset_metrics()
    state = TrainingState.of(model, optimizer, checkpoint.state.options)
    assert state.step == 4
    stored = read_checkpoint(folder, vocabulary)
    for weight, array in stored.state.accumulators.items():
        np.testing.assert_allclose(
            state.accumulators[weight], array, **VARIABLES, err_msg=weight
        )
    weights = language_model_weights(stored.config, stored.vocabulary_size, stored.tied)
    for weight, array in read_all(model, weights).items():
        np.testing.assert_allclose(
            array, stored.arrays[weight], **VARIABLES, err_msg=weight
        )


@pytest.mark.once
def test_checkpoints_are_written_back_byte_for_byte(golden, vocabulary, tmp_path):
    for folder in folders(golden, "checkpoint"):
        checkpoint = read_checkpoint(folder, vocabulary)
        target = tmp_path / folder.name
        write_checkpoint(checkpoint.language_model(), target, checkpoint.state)
        name = checkpoint.prefix.name
        for file in (
            "options.json",
            "checkpoint",
            f"{name}.index",
            f"{name}.data-00000-of-00001",
        ):
            written = (target / file).read_bytes()
            assert written == (folder / file).read_bytes(), f"{folder.name}/{file}"
        words = (golden / "training" / "vocab.txt").read_bytes()
        assert (target / "vocab.txt").read_bytes() == words


@pytest.mark.once
def test_one_direction_is_refused(golden):
    for path in (golden / "training").glob("char_unidirectional/options.json"):
        with pytest.raises(ValueError, match="bidirectional"):
            read_checkpoint(path.parent)
