"""ELMoForManyLangs' models: a directory to a `ManyLangsBackbone`.

```
config.json          names the file of sizes
cnn_*.json           the sizes
char.dic, word.dic   the rows of the tables
token_embedder.pkl, encoder.pkl   the weights, as torch pickles them
```

Everything is checked before anything is allocated: sizes against what the pickles
declare, what they declare against the bytes they hold, dictionaries against tables.

Reference: HIT-SCIR/ELMoForManyLangs 0.0.4, `elmoformanylangs/elmo.py`.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from keras_elmo.checkpoints.bilm_fit import first_of
from keras_elmo.checkpoints.many_langs_config import (
    CONFIG_FILE,
    config_to_arguments,
    read_config,
)
from keras_elmo.checkpoints.many_langs_names import (
    CHARACTER_TABLE,
    ENCODER,
    TOKEN_EMBEDDER,
    WORD_TABLE,
    shapes_of,
    weights_of,
)
from keras_elmo.checkpoints.torch_pickle import StoredTensor, find_tensors
from keras_elmo.text.dictionaries import (
    CHARACTERS_FILE,
    MARKERS,
    WORDS_FILE,
    Dictionaries,
    read_dictionary,
)

if TYPE_CHECKING:
    from keras_elmo.models.many_langs_backbone import ManyLangsBackbone

WEIGHTS_FILES = (f"{TOKEN_EMBEDDER}.pkl", f"{ENCODER}.pkl")


class ManyLangs(NamedTuple):
    """What a directory holds: arguments of the model, weights, dictionaries.

    `weights` has float32 arrays by `FILE/NAME`, as `encoder/projection.weight`.
    """

    config: dict
    weights: dict[str, np.ndarray]
    dictionaries: Dictionaries


def recognise(path: str | os.PathLike) -> bool:
    """Whether a path is a directory with the files of an ELMoForManyLangs."""
    return all((Path(path) / name).is_file() for name in (CONFIG_FILE, *WEIGHTS_FILES))


def backbone_from_directory(path: str | os.PathLike) -> "ManyLangsBackbone":
    """The model of a directory.

    Args:
        path: the directory.

    Returns:
        `ManyLangsBackbone`, with its dictionaries as its vocabulary.

    Raises:
        FileNotFoundError: when a file is missing.
        ValueError: as `read_many_langs`. No model is built then.
    """
    from keras_elmo.models.many_langs_backbone import ManyLangsBackbone

    config, weights, dictionaries = read_many_langs(path)
    backbone = ManyLangsBackbone(**config)
    for weight in weights_of(config):
        weight.assign(backbone, *(weights[name] for name in weight.shapes))
    backbone.vocabulary = dictionaries
    return backbone


def read_many_langs(directory: str | os.PathLike) -> ManyLangs:
    """The arguments, weights and dictionaries of a model's directory.

    Args:
        directory: as ELMoForManyLangs publishes them, unpacked.

    Returns:
        `ManyLangs`.

    Raises:
        FileNotFoundError: when a file is missing.
        ValueError: when a file is not what it should be, or two of them contradict
            each other: every option, and the first five weights that are missing,
            unexpected or misshapen.
    """
    directory = Path(directory)
    if not directory.is_dir():
        raise FileNotFoundError(f"`{directory}` is not a directory.")
    missing = [
        name
        for name in (CONFIG_FILE, *WEIGHTS_FILES)
        if not (directory / name).exists()
    ]
    if missing:
        raise FileNotFoundError(
            f"`{directory}` is no ELMoForManyLangs model: it lacks "
            f"{', '.join(missing)}."
        )
    config, source = read_config(directory)
    tensors = {
        f"{part}/{name}": tensor
        for part in (TOKEN_EMBEDDER, ENCODER)
        for name, tensor in find_tensors(directory / f"{part}.pkl").items()
    }
    arguments = config_to_arguments(
        config,
        _rows(tensors, WORD_TABLE, config["token_embedder"]["word_dim"]),
        _rows(tensors, CHARACTER_TABLE, config["token_embedder"]["char_dim"]),
    )
    problems = list(_problems(shapes_of(arguments), tensors))
    if problems:
        lines = "".join(f"\n  {problem}" for problem in problems)
        raise ValueError(f"The weights of `{directory}` do not fit `{source}`:{lines}")
    dictionaries = _read_dictionaries(directory, arguments)
    begin, end = dictionaries.encode_tokens(
        MARKERS, arguments["max_characters_per_token"]
    ).tolist()
    arguments.update(begin_ids=begin, end_ids=end)
    weights = {name: tensor.read() for name, tensor in tensors.items()}
    return ManyLangs(arguments, weights, dictionaries)


def _rows(tensors: dict[str, StoredTensor], name, dim):
    """Rows of a table: what the file has, None where the model has no such table."""
    if dim == 0:
        return None
    # One that is missing is reported with the others.
    return tensors[name].shape[0] if name in tensors and tensors[name].shape else 1


def _problems(shapes, tensors):
    """What is wrong with a model's names and shapes, a line each."""
    missing = [
        f"`{name}` {shape}" for name, shape in shapes.items() if name not in tensors
    ]
    unexpected = [
        f"`{name[:100]}` {tensor.shape}"
        for name, tensor in tensors.items()
        if name not in shapes
    ]
    misshapen = [
        f"`{name}` is {tensors[name].shape}, expected {shape}"
        for name, shape in shapes.items()
        if name in tensors and tensors[name].shape != shape
    ]
    for what, found in (
        ("missing", missing),
        ("unexpected", unexpected),
        ("misshapen", misshapen),
    ):
        if found:
            yield f"{what} ({len(found)}): {first_of(found, '; ')}"


def _read_dictionaries(directory, arguments):
    entries = {
        name: _read_entries(directory / file, arguments[rows])
        for name, file, rows in (
            ("words", WORDS_FILE, "vocabulary_size"),
            ("characters", CHARACTERS_FILE, "num_characters"),
        )
        if arguments.get(rows) is not None
    }
    try:
        return Dictionaries(**entries)
    except ValueError as error:
        raise ValueError(f"The dictionaries of `{directory}`: {error}") from None


def _read_entries(path, rows):
    """A dictionary's entries; refuses one that its table was not made with."""
    if not path.is_file():
        raise FileNotFoundError(f"`{path}` is missing: the model is not complete.")
    entries, lines = read_dictionary(path)
    last = max(entries.values(), default=0)
    # The original program counts entries, its training counted lines.
    if rows not in (len(entries), lines) or last >= rows:
        raise ValueError(
            f"`{path}` has {lines} lines, {len(entries)} entries, rows up to {last}, "
            f"but its table in `{WEIGHTS_FILES[0]}` has {rows} rows: it belongs to "
            "another model."
        )
    return entries
