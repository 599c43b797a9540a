"""The models and batches of bilm-tf's training graph, as this package takes them."""

import importlib
import warnings

import keras
import numpy as np

import keras_elmo
from keras_elmo.checkpoints.bilm_hdf5 import load_weights
from keras_elmo.checkpoints.bilm_names import weights_of
from keras_elmo.checkpoints.bilm_options import options_to_config, read_options
from tests.golden.support import load, read_json
from tests.reference.published import from_training_names, write_hdf5

DIRECTIONS = ("forward", "backward")


def trained_folders(golden, sampled):
    """Folders with stored steps in both directions, of one kind of softmax."""
    for path in sorted((golden / "training").glob("*/steps.npz")):
        options = read_json(path.parent / "options.json")
        if options["bidirectional"] and options["sample_softmax"] == sampled:
            yield path.parent


def stored_variables(folder, step):
    """bilm-tf's variables after a step: from the npz file, or TensorFlow's own."""
    path = folder / f"variables_after_step{step}.npz"
    if path.exists():
        return load(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensorflow = importlib.import_module("tensorflow")
    reader = tensorflow.train.load_checkpoint(str(folder / f"model.ckpt-{step}"))
    return {
        name: reader.get_tensor(name)
        for name in reader.get_variable_to_shape_map()
        if name.startswith("lm/")
    }


def model_of(folder, tmp_path, step, batch_size=None):
    """`ElmoBiLM` with the weights that bilm-tf's had after a step."""
    options = read_options(folder / "options.json")
    words = options["n_tokens_vocab"]
    is_word = "char_cnn" not in options
    config = options_to_config(options, vocabulary_size=words if is_word else None)
    config["dropout"] = options["dropout"]
    backbone = keras_elmo.ElmoBackbone(**config)
    weights = from_training_names(stored_variables(folder, step))
    softmax = {name: weights.pop(name) for name in list(weights) if "softmax" in name}
    path = tmp_path / f"{folder.name}.hdf5"
    write_hdf5(path, weights)
    load_weights(backbone, path)
    tied = bool(options.get("share_embedding_softmax"))
    model = keras_elmo.ElmoBiLM(
        backbone,
        words,
        tie_embeddings=tied,
        batch_size=batch_size,
        loss_scale=options["unroll_steps"],
    )
    model.softmax.bias.assign(softmax["softmax/b"])
    if not tied:
        model.softmax.kernel.assign(softmax["softmax/W"])
    return model


def fed(arrays, prefix="", at=()):
    """A stored batch of four arrays as the model takes it: (x, y, weights)."""
    characters = f"{prefix}tokens_characters"
    name = characters if characters in arrays else f"{prefix}token_ids"
    ids = {
        # bilm-tf's training ids are one less; its word ids have no padding.
        "forward": arrays[name][at] + 1,
        "backward": arrays[f"{name}_reverse"][at] + 1,
    }
    shape = (rows, time) = ids["forward"].shape[:2]
    tail = ids["forward"].shape[2:]
    flat = np.concatenate([x.reshape(-1, *tail) for x in ids.values()])
    distinct, numbers = np.unique(flat, axis=0, return_inverse=True)
    numbers = (numbers.reshape(2, *shape) + 1).astype("int32")
    # Row 0 of the table is padding; one size, so that one function is compiled.
    tokens = np.zeros((2 * rows * time + 1, *tail), "int32")
    tokens[1 : len(distinct) + 1] = distinct
    x = {
        "tokens": tokens,
        "forward": numbers[0],
        "backward": numbers[1],
        "carry": np.ones(rows, "float32"),
    }
    y = {
        "forward": arrays[f"{prefix}next_token_id"][at].astype("int32"),
        "backward": arrays[f"{prefix}next_token_id_reverse"][at].astype("int32"),
    }
    weights = {direction: np.ones(shape, "float32") for direction in DIRECTIONS}
    return x, y, weights


def negatives(step, number, shape):
    """The candidates that bilm-tf drew in a step."""
    found = {}
    for direction in DIRECTIONS:
        prefix = f"step{number}/sampler_{direction}/"
        found[direction] = {
            "sampled_ids": step[prefix + "sampled_ids"].astype("int32"),
            "true_expected_count": step[prefix + "true_expected_count"].reshape(shape),
            "sampled_expected_count": step[prefix + "sampled_expected_count"],
        }
    return found


def named_variables(model):
    """The model's variables under bilm-tf's names: name to (variables, shape)."""
    named = {
        name: (list(weight.variables(model.backbone)), weight.shape)
        for name, weight in weights_of(model.backbone.get_config()).items()
    }
    softmax = model.softmax
    named["softmax/b"] = ([softmax.bias], tuple(softmax.bias.shape))
    if not model.tie_embeddings:
        named["softmax/W"] = ([softmax.kernel], tuple(softmax.kernel.shape))
    return named


def read_named(model, value_of):
    """{name: array} of what `value_of` gives for each variable."""
    return {
        name: np.concatenate(
            [keras.ops.convert_to_numpy(value_of(variable)) for variable in variables]
        ).reshape(shape)
        for name, (variables, shape) in named_variables(model).items()
    }
