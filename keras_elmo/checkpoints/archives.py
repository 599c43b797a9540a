"""Archives from elsewhere, unpacked without trusting them.

What an archive says it holds is checked before it is written: names that lead out of
the folder, links, devices, and more bytes than its size can carry are refused. All of
an archive or nothing is used; it is unpacked into a folder that goes again.
"""

import contextlib
import errno
import gzip
import io
import os
import re
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

_TAR_OPENERS = {".tar": open, ".tar.gz": gzip.open, ".tgz": gzip.open}
SUFFIXES = (".zip", *_TAR_OPENERS)
# Weights hardly shrink, and text to a fifth. A bomb grows a thousandfold.
LARGEST_GROWTH = 20
ALWAYS_ALLOWED = 2**26  # bytes
LARGEST_NUMBER_OF_FILES = 10_000
_CHUNK = 2**20
_DAMAGES = (
    *(EOFError, OSError, ValueError, NotImplementedError, RuntimeError),
    *(zlib.error, zipfile.BadZipFile, tarfile.TarError),
)
# What this machine lacks, not the archive.
_OURS = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS)


def is_archive(path: str | os.PathLike) -> bool:
    """Whether a file's name is that of an archive that `unpacked` reads."""
    return str(path).lower().endswith(SUFFIXES) and Path(path).is_file()


@contextlib.contextmanager
def unpacked(path: str | os.PathLike) -> Iterator[Path]:
    """A folder with the files of an archive, while the context lasts.

    Args:
        path: a `.zip`, `.tar`, `.tar.gz` or `.tgz`.

    Yields:
        pathlib.Path of the folder.

    Raises:
        ValueError: when the archive is damaged, or holds what is none of a model's.
    """
    path = Path(path)
    limit = max(ALWAYS_ALLOWED, LARGEST_GROWTH * path.stat().st_size)
    with tempfile.TemporaryDirectory(prefix="keras_elmo-") as folder:
        unpack = _unpack_zip if path.name.lower().endswith(".zip") else _unpack_tar
        try:
            unpack(path, Path(folder), limit)
        except _Refused as error:
            raise ValueError(f"`{path}` is refused: {error}.") from None
        except _DAMAGES as error:
            if isinstance(error, OSError) and error.errno in _OURS:
                raise
            raise ValueError(f"`{path}` cannot be unpacked: {error}.") from None
        yield Path(folder)


class _Refused(Exception):
    """What is wrong with an archive that could be unpacked."""


def _target(folder, name):
    """Where a file goes; never outside of the folder."""
    parts = re.split(r"[/\\]", name)
    if (
        name.startswith(("/", "\\"))
        or re.match(r"[A-Za-z]:", name)
        or ".." in parts
        or "\0" in name
    ):
        raise _Refused(f"the name {name[:100]!r} leads out of it")
    return folder.joinpath(*(part for part in parts if part not in ("", ".")))


def _make_room(folder, size, limit):
    if size > limit:
        raise _Refused(f"it declares {size:,} bytes, more than {limit:,}")
    free = shutil.disk_usage(folder).free
    if size > free:
        told = f"Unpacking needs {size:,} bytes, {free:,} are free"
        raise OSError(errno.ENOSPC, told, str(folder))


def _write(source, target, size):
    """Copies a file of a declared size, and no byte more."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise _Refused(f"`{target.name}` lies in what is no folder") from None
    if target.exists():
        raise _Refused(f"it holds `{target.name}` twice")
    with open(target, "xb") as file:
        left = size
        while chunk := source.read(min(_CHUNK, left + 1)):
            left -= len(chunk)
            if left < 0:
                raise _Refused(f"`{target.name}` is larger than it declares")
            file.write(chunk)
    if left:
        raise _Refused(f"`{target.name}` is smaller than it declares")


def _unpack_zip(path, folder, limit):
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        _check_number(len(entries))
        _make_room(folder, sum(entry.file_size for entry in entries), limit)
        for entry in entries:
            # Links and the like are told by the mode that Unix programs put there.
            kind = stat.S_IFMT(entry.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise _Refused(f"{entry.filename[:100]!r} is no file")
            if entry.flag_bits & 1:
                raise _Refused(f"{entry.filename[:100]!r} is encrypted")
            target = _target(folder, entry.filename)
            if entry.is_dir():
                target.mkdir(parents=True, exist_ok=True)
                continue
            with archive.open(entry) as source:
                _write(source, target, entry.file_size)


def _unpack_tar(path, folder, limit):
    name = path.name.lower()
    opener = next(o for suffix, o in _TAR_OPENERS.items() if name.endswith(suffix))
    with opener(path, "rb") as file:
        # Counted as they come: also headers can be made to grow without end.
        stream = _Limited(file, limit)
        size = number = 0
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for entry in archive:
                number += 1
                _check_number(number)
                if not (entry.isreg() or entry.isdir()) or entry.issparse():
                    raise _Refused(f"{entry.name[:100]!r} is no file")
                size += entry.size
                _make_room(folder, size, limit)
                target = _target(folder, entry.name)
                if entry.isdir():
                    target.mkdir(parents=True, exist_ok=True)
                    continue
                source = archive.extractfile(entry)
                assert source is not None  # a regular file has one
                _write(source, target, entry.size)
        if number == 0:
            raise _Refused("it holds nothing")


def _check_number(number):
    if number > LARGEST_NUMBER_OF_FILES:
        raise _Refused(f"it holds over {LARGEST_NUMBER_OF_FILES:,} files")


class _Limited(io.RawIOBase):
    """A stream that ends with an error after some bytes."""

    def __init__(self, file, limit):
        self._file, self._left = file, limit + 2**20  # room for headers

    def readable(self):
        return True

    def read(self, size=-1):
        if size is None or size < 0 or size > self._left:
            size = self._left + 1
        data = self._file.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise _Refused("it grows far beyond its size")
        return data
