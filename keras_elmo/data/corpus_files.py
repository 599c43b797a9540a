"""The files of a corpus directory: their names, how they are written and checked."""

import os
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np

from keras_elmo import checks
from keras_elmo.files import read_json
from keras_elmo.text.vocabulary import Vocabulary

FORMAT = 1
INFO_FILE = "corpus.json"
VOCABULARY_FILE = "vocabulary.txt"
TYPES_FILE = "types.txt"
CHARACTERS_FILE = "characters.npy"
TOKENS_FILE = "tokens.npy"
OFFSETS_FILE = "offsets.npy"
NUMBERS = (
    "sentences",
    "tokens",
    "types",
    "vocabulary_size",
    "unknown_tokens",
    "truncated_tokens",
    "blank_lines",
    "empty_files",
    "files",
)

TOKEN_DTYPE = np.dtype("<i4")
OFFSET_DTYPE = np.dtype("<i8")
CHARACTER_DTYPE = np.dtype("<u2")

# How many numbers are looked at at once, so that a store of any size is read flat.
_CHUNK = 1 << 20


class ArrayFile:
    """A `.npy` file that grows by rows.

    It is written as a file and not through memory: a full disk is then an error, where
    a memory-mapped array would end the process.

    Args:
        path: file to make.
        dtype: np.dtype of the numbers.
        row_shape: tuple of int, the shape of one row.
    """

    _HEADER = 128

    def __init__(
        self, path: str | os.PathLike, dtype: np.dtype, row_shape: tuple[int, ...] = ()
    ):
        self._dtype, self._row_shape, self._rows = np.dtype(dtype), row_shape, 0
        self._file = open(path, "w+b")  # noqa: SIM115 closed by `__exit__`
        self._file.write(bytes(self._HEADER))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        try:
            if error[0] is None:
                self._write_header()
        finally:
            self._file.close()

    def append(self, rows: np.ndarray) -> None:
        """Writes rows behind those that are there."""
        rows = np.ascontiguousarray(rows, self._dtype)
        self._file.write(rows.data)
        self._rows += len(rows)

    def rewrite(self, change: Callable[[np.ndarray], np.ndarray]) -> None:
        """Replaces the rows by what a function makes of them, part by part."""
        row_bytes = self._dtype.itemsize * int(np.prod(self._row_shape, dtype=int))
        end = self._HEADER + self._rows * row_bytes
        for start in range(self._HEADER, end, _CHUNK * row_bytes):
            self._file.seek(start)
            data = self._file.read(min(_CHUNK * row_bytes, end - start))
            part = np.frombuffer(data, self._dtype).reshape(-1, *self._row_shape)
            self._file.seek(start)
            self._file.write(np.ascontiguousarray(change(part), self._dtype).data)
        self._file.seek(end)

    def _write_header(self):
        """The format's version 1.0, with room for a shape of any length."""
        shape = (self._rows, *self._row_shape)
        header = {"descr": self._dtype.str, "fortran_order": False, "shape": shape}
        start = b"\x93NUMPY\x01\x00" + struct.pack("<H", self._HEADER - 10)
        text = repr(header).encode("ascii").ljust(self._HEADER - 11) + b"\n"
        self._file.seek(0)
        self._file.write(start + text)


def read_info(folder: str | os.PathLike) -> dict:
    """`corpus.json` of a corpus directory: its numbers and what it was made from.

    Raises:
        FileNotFoundError: when there is no such corpus.
        ValueError: when the file is no JSON, or of another format.
    """
    path = Path(folder) / INFO_FILE
    info = read_json(existing_file(path), largest=None)
    if not isinstance(info, dict) or "format" not in info:
        raise ValueError(f"`{path}` does not describe a corpus.")
    if info["format"] != FORMAT:
        raise ValueError(
            f"`{path}` has format {info['format']!r}; this version reads {FORMAT}. "
            "Prepare the corpus again."
        )
    return info


def read_numbers(folder: Path) -> tuple[dict, int]:
    """Numbers and C of a corpus directory, checked."""
    info, path = read_info(folder), folder / INFO_FILE
    numbers, width = info.get("numbers"), info.get("max_characters_per_token")
    if not isinstance(numbers, dict):
        raise ValueError(f"`{path}`: `numbers` must be an object.")
    for name in NUMBERS:
        _check_number(path, name, numbers.get(name), 0)
    for name in ("sentences", "tokens", "types", "vocabulary_size"):
        _check_number(path, name, numbers[name], 1)
    width = _check_number(path, "max_characters_per_token", width, 3)
    if numbers["vocabulary_size"] > numbers["types"]:
        raise ValueError(
            f"`{path}`: {numbers['vocabulary_size']} words of the vocabulary are more "
            f"than {numbers['types']} types."
        )
    return numbers, width


def _check_number(path, name, value, minimum):
    if type(value) is not int or value < minimum:
        rule = f"an integer of at least {minimum}"
        raise ValueError(f"`{path}`: {checks.received(name, value, rule)}")
    return value


def existing_file(path: Path) -> Path:
    """`path`, or FileNotFoundError that says what its folder is not."""
    if not path.is_file():
        raise FileNotFoundError(
            f"`{path}` does not exist: `{path.parent}` is no whole corpus directory "
            "(`keras-elmo prepare` makes one)."
        )
    return path


def open_array(path: Path, dtype: np.dtype, shape: tuple[int, ...]) -> np.memmap:
    """A memory-mapped array, or ValueError when it is not just that."""
    existing_file(path)
    try:
        # Unlike np.load it takes neither archives nor pickles.
        array = np.lib.format.open_memmap(path, mode="r")
    except Exception as error:  # a damaged header raises all kinds
        raise ValueError(f"`{path}` is no array that can be read: {error}.") from None
    wanted = f"{dtype.name} of shape {shape}"
    if array.dtype != dtype or array.shape != shape or not array.flags.c_contiguous:
        raise ValueError(
            f"`{path}` must be {wanted}. Received: {array.dtype} of shape "
            f"{array.shape}."
        )
    if path.stat().st_size != array.offset + array.nbytes:
        raise ValueError(f"`{path}` is longer than {wanted}.")
    return array


def check_offsets(path: Path, offsets: np.ndarray, num_tokens: int) -> None:
    """ValueError when offsets do not rise from 0 to the number of tokens."""
    rule = f"must rise from 0 to {num_tokens}, the number of tokens"
    if offsets[0] != 0 or offsets[-1] != num_tokens:
        raise ValueError(f"`{path}` {rule}. Received: {offsets[0]} to {offsets[-1]}.")
    for start in range(0, len(offsets) - 1, _CHUNK):
        part = np.asarray(offsets[start : start + _CHUNK + 1])
        falls = np.flatnonzero(part[1:] <= part[:-1])
        if len(falls):
            at = start + int(falls[0])
            raise ValueError(
                f"`{path}` {rule}. Received: {offsets[at]}, {offsets[at + 1]} at {at}."
            )


def check_range(
    path: Path, array: np.ndarray, size: int, blocks: int = 64, rows: int = 1024
) -> None:
    """Looks at a sample from start to end; `Corpus` checks again what it uses."""
    last = max(len(array) - rows, 0)
    for start in sorted({last * block // (blocks - 1) for block in range(blocks)}):
        part = array[start : start + rows]
        if part.min() < 0 or part.max() >= size:
            raise ValueError(
                f"`{path}` must hold numbers from 0 to {size - 1}. Received: "
                f"{part.min()} to {part.max()} from row {start}."
            )


def check_types_file(path: Path, vocabulary: Vocabulary, num_types: int) -> None:
    """ValueError when the types do not start with the vocabulary."""
    data = existing_file(path).read_bytes()
    if data.count(b"\n") != num_types or not data.endswith(b"\n"):
        raise ValueError(f"`{path}` must hold {num_types} lines, one a type.")
    words = "".join(f"{word}\n" for word in vocabulary.tokens).encode("utf-8")
    if not data.startswith(words):
        raise ValueError(f"`{path}` must start with the words of the vocabulary.")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"`{path}`: not UTF-8 ({error.reason}).") from None
