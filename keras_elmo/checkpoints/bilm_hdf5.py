"""Published biLM weights, `lm_weights.hdf5`: read into an `ElmoBackbone` and written.

The layout is the one that allenai/bilm-tf's `bilm/training.py`, `dump_weights`, writes
and that bilm-tf and AllenNLP read. Both check shapes in part only: a model of two
layers loads as one of one layer there without a word. Here everything is checked
before anything is assigned, and an error names the option that is wrong.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from keras_elmo.checkpoints import hdf5
from keras_elmo.checkpoints.bilm_fit import (
    assign,
    by_published_name,
    check_fit,
    first_of,
    read_all,
    without_padding_row,
)
from keras_elmo.checkpoints.bilm_names import (
    CHARACTER_TABLE,
    WORD_TABLE,
    is_character_name,
    weights_of,
)
from keras_elmo.checkpoints.bilm_options import (
    options_to_config,
    read_options,
)
from keras_elmo.files import atomic_path
from keras_elmo.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from keras_elmo.models.elmo_backbone import ElmoBackbone


def build_backbone(
    options_json: str | os.PathLike,
    weights_hdf5: str | os.PathLike,
    vocabulary: "Vocabulary | str | os.PathLike | None" = None,
    token_embeddings: str | os.PathLike | None = None,
) -> "ElmoBackbone":
    """The model of an options file and a weights file.

    It reads words where the options have no `char_cnn`, or where `token_embeddings`
    is given; characters otherwise.

    Args:
        options_json: path of the options.
        weights_hdf5: path of the weights.
        vocabulary: `Vocabulary` or the path of one, needed for word input.
        token_embeddings: path of a file of bilm-tf's `dump_token_embeddings`, made
            with `vocabulary`.

    Raises:
        ValueError: when a file is not what it should be, or two of them contradict
            each other. No model is built then.
    """
    from keras_elmo.models.elmo_backbone import ElmoBackbone

    options = read_options(options_json)
    vocabulary_name = "the vocabulary"
    if vocabulary is not None and not isinstance(vocabulary, Vocabulary):
        vocabulary_name = f"`{vocabulary}`"
        vocabulary = Vocabulary.read(vocabulary)
    if "char_cnn" in options and token_embeddings is None:
        config = options_to_config(options)
    else:
        if vocabulary is None:
            reason = (
                "`token_embeddings` is given"
                if token_embeddings is not None
                else f"`{options_json}` has no `char_cnn`"
            )
            raise ValueError(
                f"`vocabulary` must be given: the model reads words, as {reason}."
            )
        table_path = weights_hdf5 if token_embeddings is None else token_embeddings
        _check_rows(table_path, vocabulary_name, len(vocabulary))
        config = options_to_config(
            options,
            vocabulary_size=len(vocabulary),
            start_token_id=vocabulary.begin_sentence_id,
            end_token_id=vocabulary.end_sentence_id,
        )
    weights = weights_of(config)
    # The file is checked before a model of the options' size is allocated; its numbers
    # are read one array at a time, so that they are not in memory twice.
    with open_weights(config, weights_hdf5, token_embeddings, options_json) as arrays:
        backbone = ElmoBackbone(**config)
        assign(backbone, weights, arrays)
    backbone.vocabulary = vocabulary
    return backbone


def load_weights(
    backbone: "ElmoBackbone",
    path: str | os.PathLike,
    token_embeddings: str | os.PathLike | None = None,
    options_path: str | os.PathLike | None = None,
) -> None:
    """Sets all of `backbone`'s weights to those of a weights file, or none.

    Args:
        backbone: `ElmoBackbone` of the same options.
        path: the weights file.
        token_embeddings: for word input, the file that has the table of words when
            the weights file has a character CNN instead.
        options_path: where the options come from, for the error's text.

    Raises:
        ValueError: as `read_weights`.
    """
    config = backbone.get_config()
    arrays = read_weights(config, path, token_embeddings, options_path)
    assign(backbone, weights_of(config), arrays)


def read_weights(
    config: Mapping,
    path: str | os.PathLike,
    token_embeddings: str | os.PathLike | None = None,
    options_path: str | os.PathLike | None = None,
) -> dict[str, np.ndarray]:
    """The arrays of a weights file, float32, by their published names.

    Args:
        config: the arguments of the `ElmoBackbone` they are for.
        path: the weights file.
        token_embeddings: as for `load_weights`.
        options_path: where the options come from, for the error's text.

    Raises:
        ValueError: when the file is no HDF5, does not hold exactly the weights of
            `config`, refers to other files, or has numbers that are not finite.
    """
    with open_weights(config, path, token_embeddings, options_path) as arrays:
        return dict(arrays)


@contextlib.contextmanager
def open_weights(
    config: Mapping,
    path: str | os.PathLike,
    token_embeddings: str | os.PathLike | None = None,
    options_path: str | os.PathLike | None = None,
) -> Iterator[Mapping[str, np.ndarray]]:
    """The same arrays, each read when it is asked for.

    Names, shapes, dtypes and stored sizes are checked before the first is.

    Args:
        config: the arguments of the `ElmoBackbone` they are for.
        path: the weights file.
        token_embeddings: as for `load_weights`.
        options_path: where the options come from, for the error's text.

    Raises:
        ValueError: as `read_weights`; for numbers that are not finite when they are
            read.
    """
    weights = weights_of(config)
    table = None
    if token_embeddings is not None:
        if WORD_TABLE not in weights:
            raise ValueError(
                "`token_embeddings` must be None for a model that reads characters. "
                f"Received: token_embeddings={str(token_embeddings)!r}."
            )
        shape = weights.pop(WORD_TABLE).shape
        table = read_token_embeddings(token_embeddings, shape)
    with hdf5.open_hdf5(path) as file:
        datasets = by_published_name(hdf5.find_datasets(file, path), path)
        if table is not None:
            datasets = {
                name: dataset
                for name, dataset in datasets.items()
                if not is_character_name(name)
            }
        # One that holds nothing has no shape.
        shapes = {name: dataset.shape or () for name, dataset in datasets.items()}
        source = "the model" if options_path is None else f"`{options_path}`"
        check_fit(config, weights, shapes, path, source, table is not None)
        datasets = {name: datasets[name] for name in weights}
        for name, dataset in datasets.items():
            hdf5.check_stored(dataset, name, path)
        yield _Arrays(path, datasets, table)


class _Arrays(Mapping):
    """The arrays of an open weights file by published name, read at each access."""

    def __init__(self, path, datasets, table):
        self._path, self._datasets, self._table = path, datasets, table

    def __getitem__(self, name):
        if self._table is not None and name == WORD_TABLE:
            return self._table
        array = hdf5.read_float32(self._datasets[name], name, self._path)
        if name == CHARACTER_TABLE:
            return without_padding_row(array, self._path)
        return array

    def __iter__(self):
        yield from self._datasets
        if self._table is not None:
            yield WORD_TABLE

    def __len__(self):
        return len(self._datasets) + (self._table is not None)


def read_token_embeddings(
    path: str | os.PathLike, shape: tuple[int, ...] | None = None
) -> np.ndarray:
    """The table of a file of bilm-tf's `dump_token_embeddings`.

    Args:
        path: the file, with the one dataset `embedding`.
        shape: (words, projection_dim) that it must have, or None for any.

    Returns:
        float32, (words, projection_dim): one row a word of the vocabulary file that
        it was made with, in its order.

    Raises:
        ValueError: when the file is no HDF5, holds something else, refers to other
            files, or has numbers that are not finite.
    """
    with hdf5.open_hdf5(path) as file:
        datasets = hdf5.find_datasets(file, path)
        if set(datasets) != {WORD_TABLE}:
            raise ValueError(
                f"`{path}` must hold the one dataset `{WORD_TABLE}`. Received: "
                f"{first_of(sorted(datasets)) or 'none'}."
            )
        found = datasets[WORD_TABLE].shape
        if found is None or len(found) != 2 or (shape and found != shape):
            wanted = shape or "(words, projection_dim)"
            raise ValueError(
                f"`{WORD_TABLE}` of `{path}` must have shape {wanted}. "
                f"Received: {found}."
            )
        return hdf5.read_float32(datasets[WORD_TABLE], WORD_TABLE, path)


def write_weights(
    backbone: "ElmoBackbone", path: str | os.PathLike, overwrite: bool = False
) -> None:
    """Writes `backbone`'s weights as bilm-tf and AllenNLP read them, float32.

    Args:
        backbone: `ElmoBackbone`.
        path: the file to write.
        overwrite: bool. Replace what is there.

    Raises:
        FileExistsError: when `path` exists and `overwrite` is False.
        ValueError: when a weight is NaN or infinite.
    """
    arrays = read_all(backbone, weights_of(backbone.get_config()))
    with atomic_path(path, overwrite=overwrite) as temporary:
        hdf5.write_float32(arrays, temporary)


def _check_rows(table_path, vocabulary_name, words):
    with hdf5.open_hdf5(table_path) as file:
        datasets = hdf5.find_datasets(file, table_path)
        shape = datasets[WORD_TABLE].shape if WORD_TABLE in datasets else None
    if shape and shape[0] != words:
        raise ValueError(
            f"{vocabulary_name} has {words} words but `{WORD_TABLE}` of "
            f"`{Path(table_path)}` has {shape[0]} rows: it was made with another "
            "vocabulary."
        )
