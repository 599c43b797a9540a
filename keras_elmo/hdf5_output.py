"""HDF5 files that are made: what the disk refuses is an error, and leaves no damage.

HDF5 writes much of a file when its objects are let go, where Python can only print an
error and goes on, and a file that it cannot close ends the process with a fault. Here
Python writes for HDF5. The first error is kept, HDF5 hears of none, and whoever writes
is told.
"""

import contextlib
import io
import os
from collections.abc import Iterator

import h5py
import keras


class HDF5Output:
    """A new HDF5 file.

    Args:
        path: of the file; it must not exist.

    Attributes:
        file: `h5py.File`, to be written to.

    Raises:
        FileExistsError: when `path` exists.
    """

    def __init__(self, path: str | os.PathLike):
        self._sink = _Sink(path)
        self.file = h5py.File(self._sink, "w")

    def check(self) -> None:
        """Raises the `OSError` of a write that failed, as on a full disk."""
        if self._sink.error is not None:
            raise self._sink.error

    def close(self) -> None:
        """Closes the file; raises the `OSError` of a write that failed."""
        try:
            self.file.close()
        finally:
            self._sink.close()
            self.check()


@contextlib.contextmanager
def create_hdf5(path: str | os.PathLike) -> Iterator[h5py.File]:
    """A new HDF5 file, open for writing and closed at the end.

    Raises:
        FileExistsError: when `path` exists.
        OSError: at the end, when a write failed, as on a full disk.
    """
    with contextlib.closing(HDF5Output(path)) as output:
        yield output.file


def save_weights(model: keras.Model, path: str | os.PathLike) -> None:
    """Writes a new `.weights.h5` file, as `model.save_weights` does.

    Raises:
        FileExistsError: when `path` exists.
        OSError: when a write failed, as on a full disk.
    """
    sink = _Sink(path)
    try:
        model.save_weights(sink)
    finally:
        sink.close()
    if sink.error is not None:
        raise sink.error


class _Sink(io.BytesIO):
    """A new file that takes all that is written to it, and keeps the first error.

    A `BytesIO` by name alone, and called as its path is: so Keras takes it.
    """

    def __init__(self, path):
        super().__init__()
        self._path = os.fspath(path)
        self._file = open(path, "x+b", buffering=0)  # noqa: SIM115
        self.error: OSError | None = None

    def __str__(self):
        return self._path

    def write(self, data):
        rest = memoryview(data).cast("B")
        size = len(rest)
        # A disk that is all but full takes a part of it, and the next time refuses.
        while rest and (written := self._try(self._file.write, rest)):
            rest = rest[written:]
        return size

    def readinto(self, buffer):
        return self._try(self._file.readinto, buffer) or 0

    def seek(self, offset, whence=io.SEEK_SET):
        return self._try(self._file.seek, offset, whence) or 0

    def tell(self):
        return self._try(self._file.tell) or 0

    def truncate(self, size=None):
        return self._try(self._file.truncate, size) or 0

    def flush(self):
        self._try(self._file.flush)

    def close(self):
        try:
            self._file.close()  # on a network's disk this is what may fail
        except OSError as error:
            self.error = self.error or error

    def _try(self, function, *arguments):
        # HDF5 lets go of a file that Keras did not close when that is closed here.
        if self.error is None and not self._file.closed:
            try:
                return function(*arguments)
            except OSError as error:
                self.error = error
        return None
