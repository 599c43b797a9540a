"""Tensors of files that `torch.save` wrote, read without torch and without trust.

A pickle is a program. This one is not run: a few of its instructions are read by the
small machine below, which knows tensors, storages, dicts and nothing that could be
called. Both of torch's forms are read, the zip archive (from 1.6 on) and the older
one of pickles followed by the numbers. What a tensor declares is checked against what
the file holds before any of its numbers are read.

Reference: PyTorch `torch/serialization.py`, `torch/_utils.py`; Python `pickletools`.
"""

import io
import os
import re
import struct
import zipfile
from dataclasses import dataclass
from math import prod
from typing import BinaryIO

import numpy as np

from keras_elmo.checkpoints.torch_pickle_machine import (
    Storage,
    Tensor,
    run_pickle,
)

_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001
# What the pickles of a file may take, names and shapes without the numbers.
LARGEST_STRUCTURE = 2**23
LARGEST_NUMBER_OF_MEMBERS = 10_000
# An absolute path, a drive, a step up, or Windows' separators.
_OUTSIDE = re.compile(r"^/|^[A-Za-z]:|(^|/)\.\.(/|$)|\\")
_DTYPES = {
    "FloatStorage": "f4",
    "DoubleStorage": "f8",
    "HalfStorage": "f2",
    # NumPy has no such type: the upper half of a float32.
    "BFloat16Storage": "u2",
}
_DAMAGES = (
    zipfile.BadZipFile,
    EOFError,
    KeyError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    ValueError,
    struct.error,
)


@dataclass(frozen=True)
class StoredTensor:
    """A tensor of a file: its name, its shape, and how to read its numbers."""

    path: str
    name: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    start: int
    dtype: str
    # The member of a zip archive and 0, or None and the position in the file.
    member: str | None
    position: int
    size: int

    def read(self) -> np.ndarray:
        """The numbers as float32, all of them finite.

        Raises:
            ValueError: when they cannot be read, or are not finite in float32.
        """
        where = f"`{self.name}` of `{self.path}`"
        try:
            data = self._read_bytes()
        except (OSError, *_DAMAGES) as error:
            raise ValueError(f"{where} cannot be read: {error}") from None
        if len(data) != self.size:
            raise ValueError(f"{where} is cut short: {len(data)} of {self.size} bytes.")
        flat = np.frombuffer(data, self.dtype)
        if self.dtype.endswith("u2"):
            flat = (flat.astype("uint32") << 16).view("float32")
        # Both were checked against the storage's size.
        strides = [stride * flat.itemsize for stride in self.strides]
        view = np.lib.stride_tricks.as_strided(flat[self.start :], self.shape, strides)
        with np.errstate(over="ignore"):
            array = np.array(view, "float32", order="C")
        bad = int(array.size - np.isfinite(array).sum())
        if bad:
            raise ValueError(f"{where} has {bad} numbers that are NaN or infinite.")
        return array

    def _read_bytes(self):
        if self.member is None:
            with open(self.path, "rb") as file:
                file.seek(self.position)
                return file.read(self.size)
        with (
            zipfile.ZipFile(self.path) as archive,
            archive.open(self.member) as file,
        ):
            return file.read(self.size + 1)


def find_tensors(path: str | os.PathLike) -> dict[str, StoredTensor]:
    """The tensors of a pickled state dict by name; none of their numbers are read.

    Args:
        path: a file that `torch.save(module.state_dict(), path)` wrote.

    Raises:
        OSError: as `open` does, where the file is not there or may not be read.
        ValueError: when the file is no such file, is damaged, holds anything but
            named tensors of floats, or less than its tensors declare.
    """
    path = os.fspath(path)
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        try:
            if file.read(4) == b"PK\x03\x04":
                state, order, places = _read_zip(file)
            else:
                file.seek(0)
                state, order, places = _read_legacy(file, size)
            return {
                name: _stored(path, name, tensor, order, places)
                for name, tensor in _named_tensors(state)
            }
        except RecursionError:
            reason = "nested too deeply"
        # OSError: a seek to a place that no file has.
        except (OSError, *_DAMAGES) as error:
            reason = str(error) or type(error).__name__
    raise ValueError(
        f"`{path}` ({size} bytes) cannot be read as torch's tensors: {reason}"
    )


def _named_tensors(state):
    if not isinstance(state, dict):
        raise ValueError(
            f"it must hold a dict of tensors, and holds a {type(state).__name__}"
        )
    for name, tensor in state.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(
                f"`{name[:100]}` must be a tensor, and is a {type(tensor).__name__}"
            )
        yield name, tensor


def _read_zip(file: BinaryIO):
    """The state, the byte order, and each storage's (member, position, size)."""
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if len(members) > LARGEST_NUMBER_OF_MEMBERS:
            raise ValueError(f"it has more than {LARGEST_NUMBER_OF_MEMBERS} members")
        for member in members:
            _check_member(member)
        by_name = {member.filename: member for member in members}
        if len(by_name) < len(members):
            raise ValueError("it has two members of one name")
        pickles = [name for name in by_name if name.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise ValueError(f"it must have one `data.pkl`, and has {len(pickles)}")
        folder = pickles[0].removesuffix("data.pkl")
        if by_name[pickles[0]].file_size > LARGEST_STRUCTURE:
            raise ValueError(f"its `data.pkl` has more than {LARGEST_STRUCTURE} bytes")
        order = b"little"
        if f"{folder}byteorder" in by_name:
            with archive.open(f"{folder}byteorder") as content:
                order = content.read(10)
        if order not in (b"little", b"big"):
            raise ValueError(f"its byte order is {order!r}")
        stream = io.BytesIO(archive.read(pickles[0]))
    state = run_pickle(stream)
    places = {
        name.removeprefix(f"{folder}data/"): (name, 0, member.file_size)
        for name, member in by_name.items()
        if name.startswith(f"{folder}data/")
    }
    return state, "<" if order == b"little" else ">", places


def _check_member(member):
    name = member.filename
    # Nothing is ever unpacked to a disk; such names are an attack on those who do.
    if _OUTSIDE.search(name):
        raise ValueError(f"the member `{name[:100]}` lies outside of the archive")
    # As torch writes them. What is not packed cannot unpack to more than the file.
    if member.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"the member `{name[:100]}` is packed, as torch's never are")
    if member.file_size != member.compress_size:
        raise ValueError(f"the member `{name[:100]}` has two sizes")


def _read_legacy(file: BinaryIO, size: int):
    """As `_read_zip`, for five pickles and the storages one behind the other."""
    stream = io.BytesIO(file.read(LARGEST_STRUCTURE))
    if run_pickle(stream) != _MAGIC:
        raise ValueError("it does not begin as one of torch's files")
    if run_pickle(stream) != _PROTOCOL:
        raise ValueError("it has a protocol that is not known")
    system = run_pickle(stream)
    if not isinstance(system, dict) or type(system.get("little_endian")) is not bool:
        raise ValueError("it does not say its byte order")
    order = "<" if system["little_endian"] else ">"
    storages: dict[str, Storage] = {}
    state = run_pickle(stream, storages)
    keys = run_pickle(stream)
    if not isinstance(keys, list) or set(map(type, keys)) - {str}:
        raise ValueError("it does not list its storages")
    places, position = {}, stream.tell()
    for key in keys:
        if key not in storages or key in places:
            raise ValueError(f"its storage {key[:100]!r} belongs to no tensor")
        file.seek(position)
        (number,) = struct.unpack(f"{order}q", file.read(8))
        storage = storages[key]
        if number != storage.root_size:
            raise ValueError(
                f"its storage {key[:100]!r} declares {storage.root_size} numbers, and "
                f"then {number}"
            )
        bytes_ = number * np.dtype(_dtype_of(storage)).itemsize
        places[key] = None, position + 8, bytes_
        position += 8 + bytes_
        if position > size:
            raise ValueError(
                f"it is cut short: {size} bytes, and its storages end at {position}"
            )
    return state, order, places


def _dtype_of(storage):
    if storage.kind not in _DTYPES:
        raise ValueError(f"it holds a {storage.kind}: only floats are read")
    return _DTYPES[storage.kind]


def _stored(path, name, tensor, order, places):
    storage, shape, strides = tensor.storage, tensor.shape, tensor.strides
    if storage.key not in places:
        raise ValueError(f"the numbers of `{name[:100]}` are missing")
    member, position, size = places[storage.key]
    dtype = np.dtype(order + _dtype_of(storage))
    if size != storage.root_size * dtype.itemsize:
        raise ValueError(
            f"`{name[:100]}` declares {storage.root_size} numbers of {dtype.itemsize} "
            f"bytes, and the file holds {size} bytes"
        )
    start = storage.start + tensor.start
    number = prod(shape)
    last = sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    # Strides of 0 could declare more numbers than there are.
    end = start + (last + 1 if number else 0)
    if number > storage.size or end > storage.start + storage.size:
        raise ValueError(
            f"`{name[:100]}` of shape {shape} needs more than the {storage.size} "
            "numbers of its storage"
        )
    return StoredTensor(
        path, name, shape, strides, start, dtype.str, member, position, size
    )
