"""Presets: a model as a directory, in the layout that KerasHub writes.

```
config.json          the backbone's class and arguments
model.weights.h5     its weights
metadata.json        versions, number of parameters, date
tokenizer.json       how text becomes its ids
assets/vocabulary.txt   where the vocabulary is known; ELMoForManyLangs: the files
                     word.dic and char.dic
```
"""

import datetime
import json
import math
from pathlib import Path

import h5py
import keras
import numpy as np

from keras_elmo import checks
from keras_elmo._version import __version__
from keras_elmo.checkpoints import hdf5
from keras_elmo.checkpoints.option_rules import shown
from keras_elmo.files import atomic_path, read_json
from keras_elmo.hdf5_output import create_hdf5, save_weights
from keras_elmo.models.elmo_backbone import ElmoBackbone
from keras_elmo.models.many_langs_backbone import ManyLangsBackbone
from keras_elmo.preset_config import check_config, check_size, check_tokenizer
from keras_elmo.preset_sources import resolve
from keras_elmo.text.elmo_tokenizer import ElmoTokenizer
from keras_elmo.text.vocabulary_files import read_vocabulary, write_vocabulary

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.weights.h5"
METADATA_FILE = "metadata.json"
TOKENIZER_FILE = "tokenizer.json"
ASSETS = "assets"
WEIGHTS_DTYPES = ("float32", "float16")
# The classes of presets, by the name in config.json.
CLASSES = {
    keras.saving.get_registered_name(cls): cls
    for cls in (ElmoBackbone, ManyLangsBackbone)
}


def save_backbone(backbone, preset_dir, overwrite=False, weights_dtype="float32"):
    """Writes an `ElmoBackbone` as a preset directory, whole or not at all.

    Args:
        backbone: `ElmoBackbone`.
        preset_dir: path of the directory to make.
        overwrite: bool. Replace what is there.
        weights_dtype: "float32" or "float16", which halves the file of weights.
    """
    with atomic_path(preset_dir, overwrite=overwrite) as directory:
        write_preset(backbone, directory, weights_dtype)


def write_preset(backbone, directory, weights_dtype="float32"):
    """Makes `directory` and writes a preset's files into it, as it goes."""
    directory = Path(directory)
    (directory / ASSETS).mkdir(parents=True)
    many_langs = isinstance(backbone, ManyLangsBackbone)
    cls = ManyLangsBackbone if many_langs else ElmoBackbone
    config = {
        "module": "keras_elmo",
        "class_name": cls.__name__,
        "config": backbone.get_config(),
        "registered_name": keras.saving.get_registered_name(cls),
    }
    metadata = {
        "keras_version": keras.version(),
        "keras_elmo_version": __version__,
        "parameter_count": int(backbone.count_params()),
        "date_saved": datetime.datetime.now(datetime.UTC).isoformat("T", "seconds"),
    }
    tokenizer = {
        "module": "keras_elmo",
        "class_name": "ElmoTokenizer",
        "config": ElmoTokenizer.of(backbone).get_config(),
    }
    write_json(directory / CONFIG_FILE, config)
    write_json(directory / METADATA_FILE, metadata)
    write_json(directory / TOKENIZER_FILE, tokenizer)
    write_vocabulary(backbone.vocabulary, directory / ASSETS)
    save_weights(backbone, directory / WEIGHTS_FILE)
    if weights_dtype != "float32":
        _store_weights_as(directory / WEIGHTS_FILE, weights_dtype)


def store_as(array, dtype, name):
    """`array` in the dtype it is stored in: "float32" or "float16".

    Raises:
        ValueError: when a number is too large for that dtype, naming the weight.
    """
    if dtype not in WEIGHTS_DTYPES:
        raise ValueError(
            checks.received("weights_dtype", dtype, f"one of {WEIGHTS_DTYPES}")
        )
    with np.errstate(over="ignore"):
        stored = np.asarray(array).astype(dtype)
    if (np.isinf(stored) & np.isfinite(array)).any():
        raise ValueError(f"`{name}` has numbers that are too large for {dtype}.")
    return stored


def _store_weights_as(path, dtype):
    """Writes Keras' file of weights anew, each dataset under its name in `dtype`."""
    wide = path.with_name(f"wide-{path.name}")
    path.rename(wide)
    with h5py.File(wide, "r") as source, create_hdf5(path) as target:

        def copy(name, item):
            if isinstance(item, h5py.Dataset) and item.dtype.kind == "f":
                target[name] = store_as(item[()], dtype, name)
            elif isinstance(item, h5py.Dataset):
                # bfloat16, which HDF5 has no name for: 16 bits already.
                source.copy(item, target, name)
            else:
                group = target.require_group(name)
                for key, value in item.attrs.items():
                    group.attrs[key] = value

        for key, value in source.attrs.items():
            target.attrs[key] = value
        source.visititems(copy)
    wide.unlink()


def write_json(path, content):
    """Writes `content` as indented JSON in UTF-8."""
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    Path(path).write_text(text, encoding="utf-8")


def load_backbone(preset, dtype=None):
    """Reads the `ElmoBackbone` of a preset directory.

    Args:
        preset: what `ElmoBackbone.from_preset` takes.
        dtype: dtype policy, or None for the preset's own.

    Returns:
        `ElmoBackbone`.

    Raises:
        FileNotFoundError: when there is no such directory, or it lacks a file.
        ValueError: when a file does not hold what a preset's should, before memory is
            taken for what it says.
    """
    directory = preset_directory(preset)
    path = directory / CONFIG_FILE
    config = read_json(path)
    config = config if isinstance(config, dict) else {}
    registered = config.get("registered_name")
    cls = CLASSES.get(registered) if isinstance(registered, str) else None
    if cls is None or not isinstance(config.get("config"), dict):
        raise ValueError(
            f"`{path}` must describe a model of class "
            f"{' or '.join(map(repr, CLASSES))}. Received: "
            f"registered_name={shown(registered)}."
        )
    arguments = config["config"]
    check_config(cls, arguments, path)
    weights = directory / WEIGHTS_FILE
    check_size(cls, arguments, weights)
    if dtype is not None:
        arguments = {**arguments, "dtype": keras.dtype_policies.get(dtype)}
    try:
        backbone = cls.from_config(arguments)
    except (TypeError, ValueError) as error:
        raise ValueError(f"`{path}` is not a valid configuration: {error}") from error
    vocabulary = read_vocabulary(directory / ASSETS)
    try:
        backbone.vocabulary = vocabulary
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`{directory / ASSETS}` does not hold the words of the model that "
            f"`{path}` describes: {error}"
        ) from None
    load_weights(backbone, weights)
    return backbone


def load_weights(model, path):
    """`model.load_weights` with errors that name the file and what it is."""
    try:
        # Keras passes over what a file has beyond the model's weights: a model of
        # three layers would load as one of two.
        stored, wanted = count_stored(path), model.count_params()
        if stored != wanted:
            raise ValueError(f"{stored:,} weights are stored, {wanted:,} are needed.")
        model.load_weights(path)
    except (OSError, KeyError, ValueError) as error:
        raise ValueError(
            f"`{path}` does not hold the weights of the model that the "
            f"{CONFIG_FILE} beside it describes: {error}"
        ) from error


def count_stored(path):
    """Number of weights in a `.weights.h5` file."""
    with hdf5.open_hdf5(path) as file:
        datasets = hdf5.find_datasets(file, path)
        for name, dataset in datasets.items():
            if not _is_bfloat16(dataset):
                hdf5.check_stored(dataset, name, path)
        return sum(math.prod(dataset.shape) for dataset in datasets.values())


def _is_bfloat16(dataset):
    """Whether these are two bytes each: HDF5 has no name for what they mean."""
    kind = dataset.id.get_type()
    is_opaque = kind.get_class() == h5py.h5t.OPAQUE and kind.get_size() == 2
    return is_opaque and dataset.chunks is None and dataset.shape is not None


def preset_directory(preset):
    """The directory of a preset, or an error that says what was looked for."""
    return resolve(preset)


def load_tokenizer(preset):
    """Reads the `ElmoTokenizer` of a preset, with its vocabulary where there is one.

    Raises:
        ValueError: when the file does not describe a tokenizer.
    """
    directory = preset_directory(preset)
    path = directory / TOKENIZER_FILE
    if not path.is_file():
        raise FileNotFoundError(f"`{path}` is missing: the preset is not complete.")
    content = read_json(path)
    content = content if isinstance(content, dict) else {}
    config = content.get("config")
    if not isinstance(config, dict) or content.get("class_name") != "ElmoTokenizer":
        raise ValueError(f"`{path}` must describe an ElmoTokenizer.")
    check_tokenizer(config, path)
    tokenizer = ElmoTokenizer(**config)
    tokenizer.vocabulary = read_vocabulary(directory / ASSETS)
    return tokenizer
