"""The language model of a preset: its softmax, beside the backbone's files.

```
task.json         class and arguments of the language model
task.weights.h5   its softmax: "kernel" and "bias"; tied: "bias"
```
"""

import math
from os import PathLike

import numpy as np
from keras import ops

from keras_elmo.checkpoints import hdf5
from keras_elmo.checkpoints.option_rules import shown
from keras_elmo.files import atomic_path, read_json
from keras_elmo.hdf5_output import create_hdf5
from keras_elmo.presets import (
    load_backbone,
    preset_directory,
    store_as,
    write_json,
    write_preset,
)

TASK_FILE = "task.json"
TASK_WEIGHTS_FILE = "task.weights.h5"
REGISTERED_NAME = "keras_elmo>ElmoBiLM"


def save_language_model(
    model,
    preset_dir: str | PathLike,
    overwrite: bool = False,
    weights_dtype: str = "float32",
) -> None:
    """Writes an `ElmoBiLM` as a preset directory, whole or not at all.

    Args:
        model: `ElmoBiLM`, whose backbone knows its vocabulary.
        preset_dir: path of the directory to make.
        overwrite: bool. Replace what is there.
        weights_dtype: "float32" or "float16", which halves the files.

    Raises:
        FileExistsError: when `preset_dir` exists and `overwrite` is False.
        ValueError: when the backbone has no vocabulary, or one of another length than
            the softmax, or a weight is too large for float16.
    """
    vocabulary = model.backbone.vocabulary
    if vocabulary is None or len(vocabulary) != model.vocabulary_size:
        raise ValueError(
            "A language model is saved with its vocabulary: set `backbone.vocabulary` "
            f"to one of {model.vocabulary_size} words. Received: {vocabulary!r}."
        )
    task = {
        "module": "keras_elmo",
        "class_name": "ElmoBiLM",
        "config": {
            "vocabulary_size": model.vocabulary_size,
            "tie_embeddings": model.tie_embeddings,
        },
        "registered_name": REGISTERED_NAME,
    }
    with atomic_path(preset_dir, overwrite=overwrite) as directory:
        write_preset(model.backbone, directory, weights_dtype=weights_dtype)
        write_json(directory / TASK_FILE, task)
        with create_hdf5(directory / TASK_WEIGHTS_FILE) as file:
            for name, variable in _weights(model).items():
                array = store_as(ops.convert_to_numpy(variable), weights_dtype, name)
                file.create_dataset(name, data=array)


def load_language_model(preset: str | PathLike, dtype=None, **options):
    """Reads the `ElmoBiLM` of a preset directory.

    Args:
        preset: what `ElmoBackbone.from_preset` takes.
        dtype: dtype policy, or None for the preset's own.
        **options: further arguments of `ElmoBiLM`.

    Returns:
        `ElmoBiLM`.

    Raises:
        FileNotFoundError: when there is no such preset.
        ValueError: when it has no language model, or a file does not hold what it
            should.
    """
    from keras_elmo.models.elmo_bilm import ElmoBiLM

    directory = preset_directory(preset)
    path = directory / TASK_FILE
    if not path.exists():
        raise ValueError(
            f"`{directory}` has no language model ({TASK_FILE} is missing), only the "
            "layers below its softmax, as published models do: it has vectors, but no "
            "perplexity. `keras-elmo pretrain` makes presets with one."
        )
    vocabulary_size, tied = _read_task(path)
    weights_path = directory / TASK_WEIGHTS_FILE
    if not weights_path.is_file():
        raise FileNotFoundError(
            f"`{weights_path}` is missing: the preset is not complete."
        )
    backbone = load_backbone(directory, dtype=dtype)
    if backbone.vocabulary is None or len(backbone.vocabulary) != vocabulary_size:
        raise ValueError(
            f"`{path}` tells of {vocabulary_size} words, but the preset's vocabulary "
            f"is {backbone.vocabulary!r}."
        )
    arrays = _read_weights(weights_path, vocabulary_size, backbone.projection_dim, tied)
    options["dtype"] = backbone.dtype_policy
    model = ElmoBiLM(backbone, vocabulary_size, tie_embeddings=tied, **options)
    for name, variable in _weights(model).items():
        variable.assign(arrays[name])
    return model


def _weights(model):
    """The softmax's variables by the name they are stored under."""
    if model.tie_embeddings:
        return {"bias": model.softmax.bias}
    return {"kernel": model.softmax.kernel, "bias": model.softmax.bias}


def _read_task(path):
    task = read_json(path)
    task = task if isinstance(task, dict) else {}
    config = task.get("config")
    if not isinstance(config, dict) or task.get("registered_name") != REGISTERED_NAME:
        raise ValueError(
            f"`{path}` must describe a model of class {REGISTERED_NAME!r}."
        )
    size, tied = config.get("vocabulary_size"), config.get("tie_embeddings")
    if type(size) is not int or size < 1 or type(tied) is not bool:
        raise ValueError(
            f"`{path}` must hold `vocabulary_size`, an integer above 0, and "
            f"`tie_embeddings`, true or false. Received: {shown(size)}, {shown(tied)}."
        )
    return size, tied


def _read_weights(path, vocabulary_size, dim, tied):
    wanted: dict[str, tuple] = {"bias": (vocabulary_size,)}
    if not tied:
        wanted["kernel"] = (vocabulary_size, dim)
    with hdf5.open_hdf5(path) as file:
        datasets = hdf5.find_datasets(file, path)
        shapes = {name: dataset.shape for name, dataset in datasets.items()}
        if shapes != wanted:
            raise ValueError(f"`{path}` must hold {wanted}. Received: {shapes}.")
        # No number takes fewer than 2 bytes: nothing is allocated for a lie.
        number = sum(map(math.prod, shapes.values()))
        if 2 * number > path.stat().st_size:
            raise ValueError(f"`{path}` is too small for its {number:,} numbers.")
        return {
            name: np.asarray(hdf5.read_float32(dataset, name, path))
            for name, dataset in datasets.items()
        }
