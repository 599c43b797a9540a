"""A biLM's graph from ids to vectors as a file of another runtime."""

import importlib
import warnings
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np

from keras_elmo import checks
from keras_elmo._version import __version__
from keras_elmo.export.graph_outputs import named_outputs
from keras_elmo.export.models import call_on, exportable, next_version, versions
from keras_elmo.export.sample import sample_ids
from keras_elmo.export.stored_weights import WEIGHTS_DTYPES
from keras_elmo.files import atomic_directory, read_json
from keras_elmo.models.elmo_task import ElmoTask
from keras_elmo.presets import METADATA_FILE, write_json
from keras_elmo.text.vocabulary_files import write_vocabulary

# How far a graph in float32 may be from Keras: another order of additions.
TOLERANCE = 1e-4


class GraphFormat(NamedTuple):
    """How a format is written: its module here, and the backend that is traced."""

    module: str
    backend: str


FORMATS = {
    "litert": GraphFormat("litert", "tensorflow"),
    "onnx": GraphFormat("onnx", "tensorflow"),
    "openvino": GraphFormat("openvino", "tensorflow"),
    "torch": GraphFormat("torch_program", "torch"),
}


def export_graph(
    model,
    output: str | PathLike,
    output_format: str,
    weights_dtype: str = "float32",
    batch: int | None = None,
    time: int | None = None,
) -> dict:
    """Writes the next version of a biLM for another runtime, whole or not at all.

    The graph takes `character_ids` int32 (batch, time, C), for word input `token_ids`
    (batch, time), 0 where padded, and gives `word_emb`, `lstm_outputs1` to
    `lstm_outputsL`, `elmo`, `default` and `sequence_len`, as the SavedModel does; all
    float32 but the last. Weights are constants in it. It is run by its own runtime
    before it is moved into place, and compared with the Keras model.

    - "litert": `model.tflite`, of built-in operations only.
    - "onnx": `model.onnx`, of standard operations only; 1 row at least.
    - "openvino": `model.xml` and `model.bin`.
    - "torch": `model.pt2`, for `torch.export.load`; 1 token a row at least.

    Args:
        model: `ElmoBackbone`, or a preset.
        output: the directory that holds the versions `1`, `2`, ...; made where there is
            none.
        output_format: one of these.
        weights_dtype: "float32", or how matrices are stored: "float16", or "int8" with
            a scale a column (of a table: a row). They are multiplied in float32; by
            LiteRT in int8.
        batch: int, rows of a batch, or None for any number.
        time: int, tokens of a row, or None for any number.

    Returns:
        dict: "directory", "version", "format", "weights_dtype", "bytes",
        "max_difference" from Keras' float32 and "cosine_similarity", the lowest of any
        token of a few sentences; both None, with a warning, where the runtime is not
        installed.

    Raises:
        ImportError: when what writes the format is not installed.
        RuntimeError: when the float32 graph is further than 1e-4 from Keras.
        ValueError: when `model` is a task model or another thing, or `output` holds
            versions of another format.
    """
    checks.one_of("output_format", output_format, tuple(FORMATS))
    checks.one_of("weights_dtype", weights_dtype, WEIGHTS_DTYPES)
    sizes = [
        None if size is None else checks.positive_int(name, size)
        for name, size in (("batch", batch), ("time", time))
    ]
    model = exportable(model)
    if isinstance(model, ElmoTask):
        raise ValueError(
            "`model` must be a biLM: a task model is exported as a SavedModel only."
        )
    output = Path(output)
    output.mkdir(parents=True, exist_ok=True)
    _check_versions(output, output_format)
    version = next_version(output)
    with atomic_directory(output / str(version)) as temporary:
        told = call_on(
            FORMATS[output_format].backend,
            f"{__name__}:write_graph",
            model,
            str(temporary),
            output_format,
            weights_dtype,
            *sizes,
        )
    if told["max_difference"] is None:
        warnings.warn(
            f"The file was not compared with Keras. {told['reason']}",
            UserWarning,
            stacklevel=2,
        )
    return {
        "directory": str(output / str(version)),
        "version": version,
        "format": output_format,
        "weights_dtype": weights_dtype,
        "bytes": told["bytes"],
        "max_difference": told["max_difference"],
        "cosine_similarity": told["cosine_similarity"],
    }


def load_graph(directory: str | PathLike, threads: int | None = None) -> Callable:
    """An exported graph in its own runtime, on the CPU.

    Args:
        directory: a version that `export_graph` wrote.
        threads: int, or None for what the runtime chooses.

    Returns:
        function from int32 ids in NumPy to a dict of NumPy outputs.

    Raises:
        ImportError: when the runtime is not installed.
        ValueError: when `directory` holds no such graph.
    """
    directory = Path(directory)
    metadata = read_json(directory / METADATA_FILE)
    if not isinstance(metadata, dict) or metadata.get("format") not in FORMATS:
        raise ValueError(f"`{directory}` holds no graph that `export_graph` wrote.")
    return _module(metadata["format"]).load(directory, threads)


def write_graph(model, folder, output_format, weights_dtype, batch, time):
    """Writes one version's files, on the format's backend, and runs them."""
    folder = Path(folder)
    model = _in_float32(model)
    shape = (batch, time, *model.inputs[0].shape[2:])
    _module(output_format).write(model, folder, shape, weights_dtype)
    size = sum(path.stat().st_size for path in folder.iterdir())
    metadata = {
        "format": output_format,
        "keras_elmo_version": __version__,
        "weights_dtype": weights_dtype,
        "input": {"name": model.inputs[0].name, "dtype": "int32", "shape": shape},
    }
    write_json(folder / METADATA_FILE, metadata)
    write_vocabulary(model.vocabulary, folder)
    ids = sample_ids(model, batch, time)
    expected = {
        name: keras.ops.convert_to_numpy(value)
        for name, value in named_outputs(model, keras.ops.array(ids)).items()
    }
    told = {"bytes": size, "max_difference": None, "cosine_similarity": None}
    try:
        found = load_graph(folder)(ids)
    except ImportError as error:
        return {**told, "reason": str(error)}
    difference = max(np.abs(found[name] - expected[name]).max() for name in expected)
    if weights_dtype == "float32" and not difference < TOLERANCE:
        raise RuntimeError(
            f"The {output_format} graph is {difference:.1e} from the Keras model."
        )
    told["max_difference"] = float(difference)
    told["cosine_similarity"] = _lowest_cosine(found["elmo"], expected["elmo"])
    return told


def _module(output_format):
    return importlib.import_module(f"keras_elmo.export.{FORMATS[output_format].module}")


def _check_versions(output, output_format):
    """A server of one format would take the newest version for one of its own."""
    for version in versions(output):
        path = output / str(version) / METADATA_FILE
        found = "saved_model"
        if path.exists() and isinstance(metadata := read_json(path), dict):
            found = metadata.get("format")
        if found != output_format:
            raise ValueError(
                f"`output` must hold versions of one format. Received: `{output}`, "
                f"whose version {version} is of {found}, and "
                f"output_format={output_format!r}."
            )


def _in_float32(model):
    """The model, or one of the same weights that computes in float32."""
    if model.dtype_policy.name == "float32":
        return model
    config = model.get_config()
    copy = type(model).from_config({**config, "dtype": "float32"})
    copy.set_weights(model.get_weights())
    copy.vocabulary = model.vocabulary
    return copy


def _lowest_cosine(found, expected):
    """The lowest cosine similarity of any token's two vectors, padding left out."""
    norms = np.linalg.norm(expected, axis=-1)
    found, expected = found[norms > 0], expected[norms > 0]
    products = (found * expected).sum(axis=-1)
    cosines = products / (np.linalg.norm(found, axis=-1) * norms[norms > 0])
    return float(cosines.min())
