"""Files of sentences in pieces that are read one without the other."""

import contextlib
import gzip
import io
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import NamedTuple

import pyarrow
from pyarrow import parquet

from keras_elmo.integrations.corpus_storage import filesystem_of, join
from keras_elmo.lines import decode_lines

PARQUET_SUFFIXES = (".parquet", ".pq")
READ_BYTES = 1 << 20


class Piece(NamedTuple):
    """Some sentences of a file that follow each other.

    Attributes:
        path: str, the file as the user named it.
        part: str, path of the Parquet file of its vectors.
        start: int, number of the first sentence, from 0.
        stop: int, number of the first one behind it.
        offset: int, bytes of a text before the first sentence.
    """

    path: str
    part: str
    start: int
    stop: int
    offset: int


def plan_pieces(row, column, rows):
    """The pieces of a file."""
    path, folder = row["path"], row["folder"]
    try:
        starts = _starts(path, column, rows)
    except (OSError, ValueError) as error:
        return [{"error": str(error)}]
    return [
        {
            **Piece(
                path, join(folder, f"part-{start:012}.parquet"), start, stop, offset
            )._asdict(),
            "error": None,
        }
        for (start, offset), (stop, _) in pairwise(starts)
    ]


def _starts(path, column, rows):
    """(number, offset) of each piece's first sentence, and of what is behind all."""
    filesystem, name = filesystem_of(path)
    if name.endswith(PARQUET_SUFFIXES):
        with _parquet_file(path) as file:
            if column not in file.schema_arrow.names:
                raise ValueError(f"`{path}` has no column {column!r}.")
            total = file.metadata.num_rows
        return [(start, 0) for start in [*range(0, total, rows), total]]
    with filesystem.open_input_stream(name, compression=None) as file:
        if name.endswith(".gz"):
            # It cannot be entered in the middle. Whoever reads it finds its end.
            return [(0, 0), (sum(1 for _ in _text_lines(file, path)), 0)]
        return _line_starts(file, rows)


def _line_starts(file, rows):
    starts, number, offset, last = [(0, 0)], 0, 0, b"\n"
    while block := file.read(READ_BYTES):
        position = 0
        # Blocks of lines are counted at once; only a block with a start is walked.
        count = block.count(b"\n")
        if number // rows != (number + count) // rows:
            while (end := block.find(b"\n", position)) >= 0:
                number, position = number + 1, end + 1
                if number % rows == 0:
                    starts.append((number, offset + position))
        else:
            number += count
        offset, last = offset + len(block), block[-1:]
    if last != b"\n":
        number += 1
    if starts[-1][0] != number:
        starts.append((number, offset))
    return starts


def read_piece(piece, column) -> Iterator:
    """The sentences of a piece: strings, or lists of tokens."""
    filesystem, name = filesystem_of(piece.path)
    number = piece.stop - piece.start
    if name.endswith(PARQUET_SUFFIXES):
        yield from _read_parquet(piece, column)
        return
    if name.endswith(".gz"):
        with filesystem.open_input_stream(name, compression=None) as file:
            yield from _text_lines(file, piece.path)
        return
    with filesystem.open_input_file(name) as file:
        file.seek(piece.offset)
        lines = decode_lines(io.BufferedReader(file), piece.path, first=piece.start + 1)
        yield from islice(lines, number)


def _text_lines(file, path):
    with gzip.open(file, "rb") as unpacked:
        yield from decode_lines(unpacked, path)


def _read_parquet(piece, column):
    with _parquet_file(piece.path) as file:
        groups, first, skip = [], 0, None
        for group in range(file.metadata.num_row_groups):
            behind = first + file.metadata.row_group(group).num_rows
            if behind > piece.start and first < piece.stop:
                groups.append(group)
                skip = piece.start - first if skip is None else skip
            first = behind
        batches = file.iter_batches(1024, row_groups=groups, columns=[column])
        values = (value for batch in batches for value in batch.column(0))
        skip = skip or 0
        rows = islice(values, skip, skip + piece.stop - piece.start)
        for row, value in enumerate(rows, piece.start):
            yield _sentence(value.as_py(), f"`{piece.path}` row {row}")


def _sentence(value, where):
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(token, str) for token in value):
        return value
    raise ValueError(
        f"{where}: a sentence must be a string or a list of strings. Received: "
        f"{type(value).__name__}."
    )


@contextlib.contextmanager
def _parquet_file(path):
    filesystem, name = filesystem_of(path)
    try:
        file = parquet.ParquetFile(name, filesystem=filesystem)
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"`{path}` is no Parquet file: {error}") from None
    with file:
        yield file
