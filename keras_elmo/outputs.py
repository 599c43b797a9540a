"""Files of vectors, written sentence by sentence in flat memory."""

import json
import zipfile

import h5py
import numpy as np

# The sentences themselves are kept until the end for the index: not for ever.
MAX_INDEXED_SENTENCES = 1_000_000


class HDF5Writer:
    """HDF5 as the original programs write it.

    Datasets "0", "1", ... by line, as bilm-tf's `dump_bilm_embeddings`, and
    AllenNLP's `sentence_to_index`: a JSON object from each sentence to its number, of
    the first `MAX_INDEXED_SENTENCES` lines. Of equal sentences the last one counts.

    Args:
        path: file to make.
    """

    def __init__(self, path):
        self._file = h5py.File(path, "w-")
        self._index: dict[str, str] = {}
        self.number = 0

    def write(self, sentence, vectors):
        """Adds the vectors of the next sentence."""
        name = str(self.number)
        self._file.create_dataset(name, data=vectors)
        if self.number < MAX_INDEXED_SENTENCES:
            self._index[sentence] = name
        self.number += 1

    def finish(self):
        """Writes what stands at the end."""
        # HDF5 strings end at NUL and hold no lone surrogates: JSON in ASCII escapes.
        text = json.dumps(self._index)
        dataset = self._file.create_dataset(
            "sentence_to_index", (1,), dtype=h5py.string_dtype()
        )
        dataset[0] = text

    def close(self):
        """Closes the file, finished or not."""
        self._file.close()


class NpzWriter:
    """NumPy's archive with arrays "0", "1", ... by line.

    Args:
        path: file to make.
    """

    def __init__(self, path):
        self._zip = zipfile.ZipFile(path, "x", zipfile.ZIP_STORED, allowZip64=True)
        self.number = 0

    def write(self, sentence, vectors):
        """Adds the vectors of the next sentence."""
        with self._zip.open(f"{self.number}.npy", "w", force_zip64=True) as entry:
            np.lib.format.write_array(entry, np.ascontiguousarray(vectors))
        self.number += 1

    def finish(self):
        """Nothing: an archive has no end of its own but its directory."""

    def close(self):
        """Closes the file, finished or not."""
        self._zip.close()


WRITERS = {"h5": HDF5Writer, "npz": NpzWriter}
