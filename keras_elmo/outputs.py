"""Files of vectors, written sentence by sentence in flat memory."""

import array
import copy
import io
import json
import math
import zipfile
from pathlib import Path

import numpy as np

from keras_elmo import checks
from keras_elmo.hdf5_output import HDF5Output

# The sentences themselves are kept until the end for the index: not for ever.
MAX_INDEXED_SENTENCES = 1_000_000
# Floats of rows that are written together: Parquet reads by groups of rows.
ROW_GROUP = 1 << 22
# Characters of an archive's index that are written at once.
INDEX_PART = 1 << 16


class _Index:
    """`sentence_to_index`, AllenNLP's JSON object from each sentence to its number.

    Of the first `MAX_INDEXED_SENTENCES`; of equal ones the last one counts, as the last
    of equal names does wherever JSON is read.
    """

    def __init__(self):
        # The text itself: a third of a dict's memory, and no copy at the end.
        self._json = io.BytesIO()
        self._json.write(b"{")
        self.number = 0

    def add(self, sentence):
        """The name of the next sentence: its number."""
        name = str(self.number)
        if self.number < MAX_INDEXED_SENTENCES:
            # With escapes for what HDF5's strings do not hold: NUL, surrogates.
            entry = f'{", " * (self.number > 0)}{json.dumps(sentence)}: "{name}"'
            self._json.write(entry.encode("ascii"))
        self.number += 1
        return name

    def finish(self):
        """The whole as JSON: ASCII bytes. Nothing can be added then."""
        self._json.write(b"}")
        return self._json.getvalue()


class HDF5Writer:
    """HDF5 as the original programs write it.

    Datasets "0", "1", ... by line, as bilm-tf's `dump_bilm_embeddings`, and
    AllenNLP's `sentence_to_index`.

    Args:
        path: file to make.
        label: str, what a sentence's text is: not used here.
    """

    def __init__(self, path, label="text"):
        self._output = HDF5Output(path)
        self._file = self._output.file
        # What HDF5 keeps of datasets that are written already, 32 MiB else.
        cache = self._file.id.get_mdc_config()
        cache.max_size = cache.initial_size = cache.min_size = 1 << 20
        self._file.id.set_mdc_config(cache)
        self._index = _Index()

    def write(self, sentence, vectors):
        """Adds the vectors of the next sentence."""
        self._file.create_dataset(self._index.add(sentence), data=vectors)
        self._output.check()

    def finish(self):
        """Writes what stands at the end."""
        text = self._index.finish()
        # Of a fixed length: HDF5 would copy one of variable length twice.
        self._file["sentence_to_index"] = np.frombuffer(text, f"S{len(text)}")

    def close(self):
        """Closes the file, finished or not."""
        self._output.close()


class _Entries(list):
    """`ZipFile.filelist` in a tenth of the memory: what differs between entries.

    An archive's directory stands at its end, so that all of it is held until then.
    """

    # Of `zipfile.ZipInfo`; names are kept beside them.
    NUMBERS = ("header_offset", "file_size", "compress_size", "CRC")

    def __init__(self):
        super().__init__()
        self._numbers = array.array("Q")
        self._names = io.BytesIO()
        self._form = zipfile.ZipInfo()

    def append(self, entry):
        self._form = entry
        self._numbers.extend(getattr(entry, name) for name in self.NUMBERS)
        self._names.write(entry.filename.encode("ascii") + b"\n")

    def __len__(self):
        return len(self._numbers) // len(self.NUMBERS)

    def __iter__(self):
        step = len(self.NUMBERS)
        self._names.seek(0)
        for row, line in enumerate(self._names):
            entry = copy.copy(self._form)
            entry.filename = line[:-1].decode("ascii")
            for key, number in zip(
                self.NUMBERS, self._numbers[row * step : (row + 1) * step], strict=True
            ):
                setattr(entry, key, number)
            yield entry


class NpzWriter:
    """NumPy's archive with arrays "0", "1", ... by line, and `sentence_to_index`.

    Args:
        path: file to make.
        label: str, what a sentence's text is: not used here.
    """

    def __init__(self, path, label="text"):
        self._zip = zipfile.ZipFile(path, "x", zipfile.ZIP_STORED, allowZip64=True)
        self._zip.filelist = _Entries()
        self._index = _Index()

    def write(self, sentence, vectors):
        """Adds the vectors of the next sentence."""
        self._write_array(self._index.add(sentence), vectors)

    def finish(self):
        """Writes what stands at the end."""
        text = self._index.finish()
        # NumPy's strings take four bytes a character: never all of them at once.
        header = {"descr": f"<U{len(text)}", "fortran_order": False, "shape": ()}
        with self._open("sentence_to_index") as entry:
            np.lib.format.write_array_header_2_0(entry, header)
            for start in range(0, len(text), INDEX_PART):
                part = text[start : start + INDEX_PART].decode("ascii")
                entry.write(part.encode("utf-32-le"))

    def _open(self, name):
        return self._zip.open(f"{name}.npy", "w", force_zip64=True)

    def _write_array(self, name, array):
        with self._open(name) as entry:
            np.lib.format.write_array(entry, np.asarray(array, order="C"))
        # Names are told apart by their numbers.
        self._zip.NameToInfo.clear()

    def close(self):
        """Closes the file, finished or not."""
        self._zip.close()


class ParquetWriter:
    """Parquet with one row a sentence.

    Columns: "number" (int64), the sentence under `label`, and "vectors": lists
    of float32, nested as (tokens, dim), (L + 1, tokens, dim), (dim,) or (L + 1, dim),
    the innermost of a fixed size.

    Args:
        path: file to make, or an open one.
        label: str, the column of what was embedded: "text", or a protein's
            "identifier".
        first: int, number of the first sentence.

    Raises:
        ImportError: when pyarrow is not installed, naming the extra.
    """

    def __init__(self, path, label="text", first=0):
        self._pyarrow, self._parquet = require_pyarrow()
        self._path, self._label = path, label
        self._file = None
        self._rows: list = []
        self._number, self._floats = first, 0

    def write(self, sentence, vectors):
        """Adds the vectors of the next sentence."""
        self._rows.append((sentence, vectors))
        self._floats += vectors.size
        if self._floats >= ROW_GROUP:
            self._write_group()

    def finish(self):
        """Writes what stands at the end."""
        if self._rows or self._file is None:
            self._write_group()

    def _write_group(self):
        """Writes the rows that are held."""
        pyarrow, rows = self._pyarrow, self._rows
        numbers = range(self._number, self._number + len(rows))
        columns = {
            "number": pyarrow.array(numbers, pyarrow.int64()),
            self._label: pyarrow.array([row[0] for row in rows], pyarrow.string()),
            "vectors": self._lists([row[1] for row in rows]),
        }
        table = pyarrow.table(columns)
        if self._file is None:
            self._file = self._parquet.ParquetWriter(self._path, table.schema)
        self._file.write_table(table)
        self._number += len(rows)
        self._rows, self._floats = [], 0

    def _lists(self, arrays):
        """Arrays of one rank and one last size as a column of nested lists."""
        pyarrow = self._pyarrow
        if not arrays:
            return pyarrow.array([], pyarrow.list_(pyarrow.list_(pyarrow.float32())))
        flat = np.concatenate([array.ravel() for array in arrays])
        column = pyarrow.FixedSizeListArray.from_arrays(flat, arrays[0].shape[-1])
        # From the inside out: how many entries each list of an axis has.
        for axis in reversed(range(arrays[0].ndim - 1)):
            sizes = [
                size
                for array in arrays
                for size in [array.shape[axis]] * math.prod(array.shape[:axis])
            ]
            offsets = np.concatenate([[0], np.cumsum(sizes)]).astype("int32")
            column = pyarrow.ListArray.from_arrays(offsets, column)
        return column

    def close(self):
        """Closes the file, finished or not."""
        if self._file is not None:
            self._file.close()


def require_pyarrow():
    """`pyarrow` and `pyarrow.parquet`, or an error that says how to get them."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(
            f"Parquet needs pyarrow: pip install 'keras-elmo[parquet]'. ({error})"
        ) from error
    return pyarrow, parquet


WRITERS = {"h5": HDF5Writer, "npz": NpzWriter, "parquet": ParquetWriter}
# How a name ends -> the format.
SUFFIXES = {".h5": "h5", ".hdf5": "h5", ".npz": "npz", ".parquet": "parquet"}


def choose_writer(output, output_format=None):
    """The class that writes a file.

    Args:
        output: path of the file.
        output_format: a key of `WRITERS`, or None for what `output` ends in.

    Raises:
        ImportError: when a package that it needs is not installed.
        ValueError: when there is no such format.
    """
    if output_format is None:
        output_format = SUFFIXES.get(Path(output).suffix.lower())
        if output_format is None:
            rule = f"a file ending in {', '.join(SUFFIXES)}"
            raise ValueError(checks.received("output", str(output), rule))
    checks.one_of("output_format", output_format, WRITERS)
    if output_format == "parquet":
        require_pyarrow()
    return WRITERS[output_format]
