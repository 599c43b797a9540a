"""Whether a file's names and shapes are those of a model, told before any is read."""

import os
from collections.abc import Mapping

import numpy as np

from keras_elmo.checkpoints.bilm_names import (
    CHARACTER_TABLE,
    WORD_TABLE,
    Weight,
    disagreements,
    published_name,
)

SHOWN_NAMES = 5


def by_published_name(items: Mapping, path: str | os.PathLike) -> dict:
    """The items of a file under their published names.

    Raises:
        ValueError: when two of them have one published name.
    """
    renamed = {}
    for name, item in items.items():
        published = published_name(name)
        if published in renamed or (published != name and published in items):
            raise ValueError(f"`{path}` has `{published}` under two names.")
        renamed[published] = item
    return renamed


def check_fit(
    config: Mapping,
    weights: Mapping[str, Weight],
    shapes: Mapping[str, tuple],
    path: str | os.PathLike,
    source: str,
    has_table: bool = False,
) -> None:
    """Refuses a file that does not hold exactly the weights of a model.

    Args:
        config: the arguments of the `ElmoBackbone` they are for.
        weights: what the file must hold, by published name.
        shapes: what it holds, by published name.
        path: what an error calls the file.
        source: what an error calls the place the options come from.
        has_table: bool. The table of words comes from another file.

    Raises:
        ValueError: naming each option that disagrees, and the first missing,
            unexpected and misshapen names.
    """
    problems = list(_problems(config, weights, shapes, source, has_table))
    if problems:
        lines = "".join(f"\n  {problem}" for problem in problems)
        raise ValueError(f"`{path}` does not fit {source}:{lines}")


def assign(model, weights: Mapping[str, Weight], arrays: Mapping) -> None:
    """Sets the variables of `model` to the arrays of a file."""
    for name, weight in weights.items():
        weight.assign(model, arrays[name])


def read_all(model, weights: Mapping[str, Weight]) -> dict[str, np.ndarray]:
    """The arrays that a file of `model` holds, float32, by published name.

    Raises:
        ValueError: when a weight is NaN or infinite.
    """
    arrays = {name: weight.read(model) for name, weight in weights.items()}
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise ValueError(f"`{name}` has numbers that are NaN or infinite.")
    return arrays


def without_padding_row(table: np.ndarray, path: str | os.PathLike) -> np.ndarray:
    """A table of characters without the row of the padding, which may be in front.

    Raises:
        ValueError: when that row is not zeros.
    """
    rows = table.shape[0]
    if rows % 2 == 1:
        return table
    if table[0].any():
        raise ValueError(
            f"Row 0 of `{CHARACTER_TABLE}` of `{path}` must be zeros: with {rows} rows "
            f"it is the padding. Received: {table[0].tolist()[:SHOWN_NAMES]}."
        )
    return table[1:]


def first_of(names: list, separator: str = ", ") -> str:
    """The first names of a list, and whether there are more."""
    more = f"{separator}..." if len(names) > SHOWN_NAMES else ""
    return separator.join(map(str, names[:SHOWN_NAMES])) + more


def _problems(config, weights, shapes, source, has_table):
    """What is wrong with a file's names and shapes, a line each."""
    if has_table and WORD_TABLE in shapes:
        yield (
            f"`token_embeddings` must be None for weights that have a table of words "
            f"of their own (`{WORD_TABLE}` is {shapes[WORD_TABLE]})"
        )
    missing = [name for name in weights if name not in shapes]
    unexpected = [name for name in shapes if name not in weights]
    misshapen = [
        f"`{name}` is {shapes[name]}, expected {weight.shape}"
        for name, weight in weights.items()
        if name in shapes and not _fits(weight, shapes[name])
    ]
    if not (missing or unexpected or misshapen):
        return
    if not has_table:
        yield from disagreements(config, shapes, source)
    else:
        # The table comes from elsewhere and is right already.
        known = {**shapes, WORD_TABLE: (config["vocabulary_size"], 0)}
        yield from disagreements(config, known, source)
    if missing:
        expected = [f"`{name}` {weights[name].shape}" for name in missing]
        yield f"missing ({len(missing)}): {first_of(expected)}"
    if unexpected:
        found = [f"`{name}` {shapes[name]}" for name in unexpected]
        yield f"unexpected ({len(unexpected)}): {first_of(found)}"
    if misshapen:
        yield f"misshapen ({len(misshapen)}): {first_of(misshapen, '; ')}"


def _fits(weight, shape):
    if shape == weight.shape:
        return True
    # The table of characters may have the row of the padding in front.
    rows, *rest = weight.shape
    return weight.name == CHARACTER_TABLE and shape == (rows + 1, *rest)
