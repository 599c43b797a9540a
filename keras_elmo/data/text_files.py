"""Where a corpus comes from: text files, globs and data sets, as lines and known again.

A source has `name`, `fingerprint()` (what tells the same input from another, as JSON)
and `lines()`.
"""

import glob
import hashlib
import importlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from keras_elmo.lines import read_lines

DATASET_PREFIX = "tfds:"


class TextFile:
    """A text file, one sentence a line; one that ends in `.gz` is unpacked.

    Args:
        path: of a regular file.
    """

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)
        self.name = str(path)
        self._state = self._stat()

    @property
    def size(self) -> int:
        """Bytes of the file as it lies on the disk."""
        return self._state[0]

    def fingerprint(self) -> dict:
        """Name, bytes and SHA-256 of the file."""
        with open(self.path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"name": self.name, "bytes": self.size, "sha256": digest}

    def lines(self) -> Iterator[str]:
        """The lines; ValueError where the file is not what it was at the start."""
        yield from read_lines(self.path)
        if self._stat() != self._state:
            raise ValueError(f"`{self.path}` was changed while it was read.")

    def _stat(self):
        state = self.path.stat()
        return state.st_size, state.st_mtime_ns


class DatasetText:
    """The `text` feature of a data set of tensorflow-datasets.

    Args:
        name: `tfds:NAME` or `tfds:NAME:SPLIT`; the split is "train" by default.

    Raises:
        ImportError: when the package is not installed.
        ValueError: when the data set has no such feature.
    """

    size = None

    def __init__(self, name: str):
        dataset, _, split = name.removeprefix(DATASET_PREFIX).partition(":")
        if not dataset:
            raise ValueError(f"Expected tfds:NAME or tfds:NAME:SPLIT. Received: {name}")
        self._split = split or "train"
        self.name = f"{DATASET_PREFIX}{dataset}:{self._split}"
        try:
            self._package = importlib.import_module("tensorflow_datasets")
        except ImportError as error:
            raise ImportError(
                f"`{name}` needs the package tensorflow-datasets, which cannot be "
                f"imported ({error}). Install it: pip install tensorflow-datasets "
                "tensorflow."
            ) from None
        self._builder = self._package.builder(dataset)
        features = list(self._builder.info.features)
        if "text" not in features:
            raise ValueError(
                f"`{name}` must have a feature `text`. Received: {', '.join(features)}."
            )

    def fingerprint(self) -> dict:
        """Name, and the data set with its version."""
        return {"name": self.name, "dataset": str(self._builder.info.full_name)}

    def lines(self) -> Iterator[str]:
        """The lines of each example, in the order in which the data set is stored."""
        self._builder.download_and_prepare()
        examples = self._builder.as_dataset(split=self._split, shuffle_files=False)
        for number, example in enumerate(self._package.as_numpy(examples), 1):
            text = example["text"]
            try:
                text = text.decode("utf-8") if isinstance(text, bytes) else str(text)
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"`{self.name}` example {number}: not UTF-8 ({error.reason})."
                ) from None
            yield from text.split("\n")


def find_sources(
    patterns: Iterable[str | os.PathLike] | str | os.PathLike,
    outside: str | os.PathLike | None = None,
) -> list[TextFile | DatasetText]:
    """The files that patterns name, sorted, each once; behind them the data sets.

    Args:
        patterns: paths, globs (`**` stands for folders of any depth) and
            `tfds:NAME[:SPLIT]`. What exists under a pattern's own name is that file.
        outside: directory whose files no glob finds: what is made from the text may
            lie among it.

    Raises:
        FileNotFoundError: naming a pattern that matches no file.
        IsADirectoryError: when a pattern names a directory.
        ValueError: when there are no patterns, or a file is no regular one.
    """
    if isinstance(patterns, str | os.PathLike):
        patterns = [patterns]
    found: dict[str, str] = {}
    datasets: dict[str, DatasetText] = {}
    for pattern in (os.fspath(pattern) for pattern in patterns):
        if pattern.startswith(DATASET_PREFIX):
            dataset = DatasetText(pattern)
            datasets.setdefault(dataset.name, dataset)
            continue
        for path in _matches(pattern, outside):
            found.setdefault(os.path.realpath(path), path)
    if not found and not datasets:
        raise ValueError("`patterns` must name at least one file. Received: none.")
    files = sorted(found.values(), key=os.path.abspath)
    return [*map(TextFile, files), *datasets.values()]


def _matches(pattern, outside):
    if os.path.isdir(pattern):
        raise IsADirectoryError(
            f"`{pattern}` is a directory. Give its files: {os.path.join(pattern, '*')}"
        )
    if os.path.lexists(pattern):
        matches = [pattern]
    else:
        # Sorted: of two names of one file the first is kept.
        matches = sorted(
            path
            for path in glob.glob(pattern, recursive=True)
            if not os.path.isdir(path) and not _lies_in(path, outside)
        )
    if not matches:
        raise FileNotFoundError(f"`{pattern}` matches no file.")
    for path in matches:
        # A pipe cannot be read twice: once to know it again, once for its text.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise ValueError(f"`{path}` must be a regular file.")
    return matches


def _lies_in(path, folder):
    if folder is None:
        return False
    return Path(os.path.realpath(folder)) in Path(os.path.realpath(path)).parents
