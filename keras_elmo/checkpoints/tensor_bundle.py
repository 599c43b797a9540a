"""TensorFlow's checkpoint files, `NAME.index` and `NAME.data-00000-of-00001`.

Read and written here, without TensorFlow: its own reader (2.21) ends the process on
an index whose checksums are right and whose shapes are not, and a checkpoint from
elsewhere may be such a one. Whoever runs JAX or PyTorch needs no TensorFlow then.

The index maps each variable's name to dtype, shape, shard, place, size and checksum;
the shards hold the bytes. All of it is checked before an array is made.

Reference: TensorFlow, `core/util/tensor_bundle/`, `core/protobuf/tensor_bundle.proto`.
"""

import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from keras_elmo.checkpoints.crc32c import masked_crc32c
from keras_elmo.checkpoints.sorted_table import (
    read_table,
    read_varint,
    write_table,
    write_varint,
)

# TensorFlow's numbers of the types that a model's variables have.
DTYPES = {1: "float32", 2: "float64", 3: "int32", 9: "int64", 19: "float16"}
LARGEST_INDEX = 2**24
LARGEST_RANK = 8
# One shard, little-endian, version 1.
_HEADER = b"\x08\x01\x1a\x02\x08\x01"
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5


@dataclass(frozen=True)
class Entry:
    """What the index says of one variable."""

    dtype: str | None  # None: one that no model's variable has
    shape: tuple[int, ...] | None
    shard: int
    offset: int
    size: int
    checksum: int
    is_sliced: bool


class TensorBundle:
    """A checkpoint's variables: their shapes first, then each array when asked for.

    Args:
        prefix: path of the files without `.index`.

    Raises:
        FileNotFoundError: when there is no such index.
        ValueError: when the index is damaged or not TensorFlow's.
    """

    def __init__(self, prefix: str | os.PathLike):
        self.prefix = Path(prefix)
        self.path = self.prefix.with_name(f"{self.prefix.name}.index")
        _require_file(self.path)
        with open(self.path, "rb") as file:
            data = file.read(LARGEST_INDEX + 1)
        try:
            if len(data) > LARGEST_INDEX:
                raise ValueError(f"it has over {LARGEST_INDEX} bytes")
            entries = read_table(data)
            self.num_shards = _read_header(entries.pop(b"", b""))
            self.entries = {
                name.decode("utf-8"): _read_entry(value)
                for name, value in entries.items()
            }
        except ValueError as error:  # also of the names' decoding
            raise ValueError(
                f"`{self.path}` is no index of a TensorFlow checkpoint, or a damaged "
                f"one: {error}."
            ) from None

    @property
    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        """The shape of each variable; None where the file gives none that is one."""
        return {name: entry.shape for name, entry in self.entries.items()}

    def read(self, name: str) -> np.ndarray:
        """The numbers of one variable, in the dtype of the file.

        Raises:
            FileNotFoundError: when the file of its bytes is missing.
            ValueError: when the files do not hold it, whole and as it was written.
        """
        entry = self.entries[name]
        where = f"`{name}` of `{self.prefix}`"
        if entry.is_sliced:
            raise ValueError(f"{where} is stored in slices, which is not supported.")
        if entry.dtype is None or entry.shape is None:
            raise ValueError(f"{where} must be an array of numbers.")
        dtype = np.dtype(entry.dtype).newbyteorder("<")
        if prod(entry.shape) * dtype.itemsize != entry.size:
            raise ValueError(
                f"{where} declares the shape {entry.shape} but holds {entry.size} "
                "bytes."
            )
        if not 0 <= entry.shard < self.num_shards:
            raise ValueError(f"{where} lies in a file that does not belong to it.")
        path = self.prefix.with_name(
            f"{self.prefix.name}.data-{entry.shard:05d}-of-{self.num_shards:05d}"
        )
        _require_file(path)
        with open(path, "rb") as file:
            there = os.fstat(file.fileno()).st_size
            # Before anything of the declared size is allocated.
            if entry.offset + entry.size > there:
                raise ValueError(
                    f"`{path}` is truncated: it has {there} bytes, `{name}` ends at "
                    f"{entry.offset + entry.size}."
                )
            file.seek(entry.offset)
            data = file.read(entry.size)
        if len(data) != entry.size or masked_crc32c(data) != entry.checksum:
            raise ValueError(f"{where} is damaged: its checksum is wrong.")
        return np.frombuffer(data, dtype).reshape(entry.shape)

    def read_float32(self, name: str) -> np.ndarray:
        """As `read`, for floats: float32, all of them finite."""
        array = self.read(name)
        where = f"`{name}` of `{self.prefix}`"
        if array.dtype.kind != "f":
            raise ValueError(f"{where} must hold floats. Received: {array.dtype}.")
        with np.errstate(over="ignore"):
            array = array.astype(np.float32)
        if not np.isfinite(array).all():
            bad = int(array.size - np.isfinite(array).sum())
            raise ValueError(f"{where} has {bad} numbers that are NaN or infinite.")
        return array


def _require_file(path):
    if not path.is_file():
        raise FileNotFoundError(f"`{path}` does not exist, or is no file.")


def write_bundle(prefix: str | os.PathLike, arrays: Mapping[str, np.ndarray]) -> None:
    """Writes arrays as a checkpoint of one shard, byte for byte as TensorFlow does.

    Args:
        prefix: path of the files to make, without `.index`.
        arrays: by name, of one of `DTYPES`.
    """
    prefix = Path(prefix)
    numbers = {name: number for number, name in DTYPES.items()}
    entries, offset = [(b"", _HEADER)], 0
    with open(prefix.with_name(f"{prefix.name}.data-00000-of-00001"), "wb") as file:
        for name in sorted(arrays, key=lambda name: name.encode()):
            array = np.asarray(arrays[name], order="C")
            data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
            file.write(data)
            shape = b"".join(_field(2, _field(1, size)) for size in array.shape)
            entry = _field(1, numbers[array.dtype.name]) + _field(2, shape)
            # As in any such message, a number that is 0 is left out.
            entry += _field(4, offset) if offset else b""
            entry += _field(5, len(data)) if data else b""
            entry += struct.pack("<BI", 6 << 3 | _FOUR_BYTES, masked_crc32c(data))
            entries.append((name.encode(), entry))
            offset += len(data)
    index = prefix.with_name(f"{prefix.name}.index")
    index.write_bytes(write_table(entries))


def _field(number, value):
    """A field of a protocol buffer: a number, or bytes."""
    if isinstance(value, bytes):
        return write_varint(number << 3 | _BYTES) + write_varint(len(value)) + value
    return write_varint(number << 3 | _VARINT) + write_varint(value)


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(number, value) of each field of a protocol buffer."""
    at = 0
    while at < len(message):
        tag, at = read_varint(message, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = read_varint(message, at)
        else:
            if kind == _BYTES:
                size, at = read_varint(message, at)
            elif kind in (_FOUR_BYTES, _EIGHT_BYTES):
                size = 4 if kind == _FOUR_BYTES else 8
            else:
                raise ValueError("an entry is damaged")
            if at + size > len(message):
                raise ValueError("an entry is damaged")
            value = message[at : at + size]
            at += size
        yield tag >> 3, value


def _signed(value):
    """A protocol buffer's int64, which may be below 0."""
    return value - 2**64 if value >= 2**63 else value


def _number(value):
    if not isinstance(value, int):
        raise ValueError("an entry is damaged")
    return _signed(value)


def _read_header(message):
    """The number of shards."""
    header = dict(_fields(message))
    shards = _number(header.get(1, 0))
    if not 0 < shards < 100_000:
        raise ValueError("its header is damaged or missing")
    if header.get(2, 0) != 0:
        raise ValueError("it is of a big-endian machine")
    return shards


def _read_entry(message):
    dtype, shape, checksum, is_sliced = 0, (), 0, False
    places = {3: 0, 4: 0, 5: 0}
    for number, value in _fields(message):
        if number == 1:
            dtype = _number(value)
        elif number == 2:
            shape = _read_shape(value)
        elif number in places:
            places[number] = _number(value)
        elif number == 6:
            if not isinstance(value, bytes) or len(value) != 4:
                raise ValueError("an entry is damaged")
            checksum = struct.unpack("<I", value)[0]
        elif number == 7:
            is_sliced = True
    shard, offset, size = places.values()
    if offset < 0 or size < 0:
        raise ValueError("an entry lies outside of its file")
    return Entry(DTYPES.get(dtype), shape, shard, offset, size, checksum, is_sliced)


def _read_shape(message):
    """The sizes, or None for a shape that no array has."""
    if not isinstance(message, bytes):
        raise ValueError("an entry is damaged")
    sizes = []
    for number, value in _fields(message):
        if number != 2:
            return None  # of no known rank
        if not isinstance(value, bytes):
            raise ValueError("an entry is damaged")
        fields = dict(_fields(value))
        sizes.append(_number(fields.get(1, 0)))
    return (
        tuple(sizes)
        if len(sizes) <= LARGEST_RANK and min(sizes, default=0) >= 0
        else None
    )
