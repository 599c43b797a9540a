"""The language model's loss equals that of bilm-tf's training graph."""

import numpy as np
import pytest
from keras import ops

import keras_elmo
from keras_elmo.checkpoints.bilm_hdf5 import load_weights
from keras_elmo.checkpoints.bilm_options import options_to_config, read_options
from tests.golden.support import load, read_json
from tests.reference.published import from_training_names, write_hdf5


def trained_models(golden):
    """Folders whose steps have the full softmax in both directions."""
    for path in sorted((golden / "training").glob("*/steps.npz")):
        options = read_json(path.parent / "options.json")
        if options["bidirectional"] and not options["sample_softmax"]:
            yield path.parent


def model_of(folder, tmp_path):
    """`ElmoBiLM` with the weights before the first step."""
    options = read_options(folder / "options.json")
    words = options["n_tokens_vocab"]
    is_word = "char_cnn" not in options
    config = options_to_config(options, vocabulary_size=words if is_word else None)
    backbone = keras_elmo.ElmoBackbone(**config)
    variables = load(folder / "variables_after_step0.npz")
    weights = from_training_names(variables)
    softmax = {name: weights.pop(name) for name in list(weights) if "softmax" in name}
    path = tmp_path / f"{folder.name}.hdf5"
    write_hdf5(path, weights)
    load_weights(backbone, path)
    tied = bool(options.get("share_embedding_softmax"))
    model = keras_elmo.ElmoBiLM(backbone, words, tie_embeddings=tied)
    model.softmax.bias.assign(softmax["softmax/b"])
    if not tied:
        model.softmax.kernel.assign(softmax["softmax/W"])
    return model


def fed(step, name):
    """A stored batch as the model takes it."""
    ids = {
        "forward": step[f"step1/batch/{name}"] + 1,
        "backward": step[f"step1/batch/{name}_reverse"] + 1,
    }
    rows, time = ids["forward"].shape[:2]
    tail = ids["forward"].shape[2:]
    flat = np.concatenate([x.reshape(-1, *tail) for x in ids.values()])
    # Row 0 of the table is padding.
    tokens = np.concatenate([np.zeros_like(flat[:1]), flat]).astype("int32")
    numbers = np.arange(1, len(flat) + 1, dtype="int32").reshape(2, rows, time)
    return {"tokens": tokens, "forward": numbers[0], "backward": numbers[1]}


def test_losses_of_the_first_step(golden, tmp_path):
    compared = []
    for folder in trained_models(golden):
        model = model_of(folder, tmp_path)
        step = load(folder / "steps.npz")
        is_word = model.backbone.input_kind == "words"
        x = fed(step, "token_ids" if is_word else "tokens_characters")
        y = {
            "forward": step["step1/batch/next_token_id"].astype("int32"),
            "backward": step["step1/batch/next_token_id_reverse"].astype("int32"),
        }
        hidden = model.predict_on_batch(x)
        losses = [
            ops.convert_to_numpy(model.nll(hidden[direction], y[direction])).mean()
            for direction in ("forward", "backward")
        ]
        # golden/training/README.md: losses, rtol 2e-6.
        np.testing.assert_allclose(
            losses, step["step1/individual_losses"], rtol=2e-6, err_msg=folder.name
        )
        weight = {name: np.ones(rows.shape, "float32") for name, rows in y.items()}
        total = model.compute_loss(x, y, hidden, weight)
        assert float(ops.convert_to_numpy(total)) == pytest.approx(
            float(step["step1/total_loss"]), rel=2e-6
        )
        compared.append(folder.name)
    assert {"char", "word", "word_shared"} <= set(compared)
