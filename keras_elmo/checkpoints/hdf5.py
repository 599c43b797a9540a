"""HDF5 files from elsewhere, read without trusting them.

A file can say much that is not so: links into other files, data that lie in other
files, a shape of a petabyte behind a few bytes. What a dataset declares is checked
before any of its data are read.
"""

import contextlib
import os
from collections.abc import Iterator
from math import prod

import h5py
import numpy as np

from keras_elmo.hdf5_output import create_hdf5

# A name in a weights file has at most 6 parts; this bounds the walk, not the files.
LARGEST_DEPTH = 12
LARGEST_NUMBER_OF_NAMES = 10_000
# HDF5 must unpack a whole chunk, however little of it the dataset holds.
LARGEST_PADDED_CHUNK = 2**20
# gzip packs 1 : 1032 at best.
LARGEST_COMPRESSION = 1100


@contextlib.contextmanager
def open_hdf5(path: str | os.PathLike) -> Iterator[h5py.File]:
    """An HDF5 file, open for reading.

    Raises:
        OSError: as `open` does, where the file is not there or may not be read.
        ValueError: when it is no HDF5 file, or a damaged one.
    """
    # h5py's own errors name neither the file nor the reason well.
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
    if not h5py.is_hdf5(path):
        raise ValueError(f"`{path}` is not an HDF5 file ({size} bytes).")
    try:
        file = h5py.File(path, "r")
    except BlockingIOError as error:
        raise BlockingIOError(
            f"`{path}` is being written by another process: {error}"
        ) from None
    except OSError as error:
        raise ValueError(
            f"`{path}` is a damaged or truncated HDF5 file ({size} bytes): {error}"
        ) from None
    with file:
        yield file


def find_datasets(file: h5py.File, path: str | os.PathLike) -> dict[str, h5py.Dataset]:
    """Every dataset of a file by its whole name, `CNN_proj/W_proj`; no data are read.

    Args:
        file: the open file.
        path: what an error calls it.

    Raises:
        ValueError: when the file holds links, data that lie in another file, or is
            damaged.
    """
    found, seen = {}, set()

    def walk(group, prefix, depth):
        identity = h5py.h5o.get_info(group.id).addr
        if identity in seen:
            raise ValueError(f"`{path}` has the group `{prefix}` under two names.")
        seen.add(identity)
        for key in group:
            name = prefix + key
            link = group.get(key, getlink=True)
            if link is None:
                raise KeyError(f"`{name}` is listed and is not there")
            if not isinstance(link, h5py.HardLink):
                raise ValueError(
                    f"`{path}` must hold its data itself, but `{name}` is a link"
                    + _destination(link)
                )
            item = group[key]
            if isinstance(item, h5py.Group):
                if depth == LARGEST_DEPTH:
                    raise ValueError(f"`{path}` has too many levels: `{name}`.")
                walk(item, f"{name}/", depth + 1)
            elif isinstance(item, h5py.Dataset):
                found[name] = _checked_storage(item, name, path)
            if len(found) + len(seen) > LARGEST_NUMBER_OF_NAMES:
                raise ValueError(
                    f"`{path}` holds more than {LARGEST_NUMBER_OF_NAMES} names."
                )

    try:
        walk(file, "", 1)
    except (OSError, RuntimeError, KeyError) as error:
        raise ValueError(
            f"`{path}` is a damaged or truncated HDF5 file: {error}"
        ) from None
    return found


def _destination(link):
    if isinstance(link, h5py.ExternalLink):
        return f" into another file, `{link.filename}`."
    return f" to `{link.path}`."


def _checked_storage(dataset, name, path):
    """The dataset, when its data lie in this file."""
    if dataset.external or dataset.is_virtual:
        raise ValueError(
            f"`{path}` must hold its data itself, but those of `{name}` lie in "
            "another file."
        )
    return dataset


def read_float32(
    dataset: h5py.Dataset, name: str, path: str | os.PathLike
) -> np.ndarray:
    """The numbers of a dataset as float32, all of them finite.

    Its shape must have been checked by the caller, or is trusted as far as the file's
    size can carry it.

    Raises:
        ValueError: when they are no floats, are not finite (in float32), or the file
            does not hold as many as it declares.
    """
    check_stored(dataset, name, path)
    where = f"`{name}` of `{path}`"
    try:
        array = dataset[()]
    except (OSError, RuntimeError) as error:
        raise ValueError(f"{where} cannot be read: {error}") from None
    with np.errstate(over="ignore"):
        narrowed = np.asarray(array, dtype=np.float32)
    if not np.isfinite(narrowed).all():
        bad = int(np.size(narrowed) - np.isfinite(narrowed).sum())
        kind = "NaN or infinite" if not np.isfinite(array).all() else "above float32's"
        raise ValueError(f"{where} has {bad} numbers that are {kind}.")
    return narrowed


def check_stored(dataset: h5py.Dataset, name: str, path: str | os.PathLike) -> None:
    """Refuses a dataset that `read_float32` cannot read or should not try to.

    Raises:
        ValueError: when it holds no floats, or fewer than it declares.
    """
    where = f"`{name}` of `{path}`"
    dtype = _float_dtype(dataset, where)
    declared, stored = (
        prod(dataset.shape) * dtype.itemsize,
        dataset.id.get_storage_size(),
    )
    packed = dataset.id.get_create_plist().get_nfilters() > 0
    if declared > stored * (LARGEST_COMPRESSION if packed else 1):
        raise ValueError(
            f"{where} declares {declared} bytes {dataset.shape} but holds {stored}."
        )
    if dataset.chunks:
        chunk = prod(dataset.chunks)
        if chunk > max(prod(dataset.shape), LARGEST_PADDED_CHUNK):
            raise ValueError(
                f"{where} has shape {dataset.shape} but is stored in pieces of "
                f"{dataset.chunks}."
            )


def _float_dtype(dataset, where):
    try:
        dtype = dataset.dtype
    except TypeError as error:
        raise ValueError(f"{where} must hold floats: {error}") from None
    if dtype.kind != "f" or dtype.itemsize > 8 or dataset.shape is None:
        raise ValueError(f"{where} must hold floats. Received: {dtype}.")
    return dtype


def write_float32(
    arrays: dict[str, np.ndarray],
    path: str | os.PathLike,
    attributes: dict | None = None,
) -> None:
    """Writes arrays as float32 datasets of a new file, and the file's attributes."""
    with create_hdf5(path) as file:
        file.attrs.update(attributes or {})
        for name, array in arrays.items():
            file.create_dataset(name, data=np.asarray(array, dtype=np.float32))
