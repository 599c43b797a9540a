"""The directory of a pretraining run: what it is, its log, its checkpoints.

```
run.json       settings, corpus and versions: the same command finds the same run
log.csv        a line every `log_steps` steps
tensorboard/   the same for TensorBoard, where it is installed
checkpoints/   the last two
preset/        the model
```
"""

import contextlib
import csv
import importlib
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path

from keras_elmo.files import atomic_path, read_json
from keras_elmo.training.recipes import BOOKKEEPING, Settings, to_json

RUN_FILE = "run.json"
LOG_FILE = "log.csv"
LOCK_FILE = "lock"
CHECKPOINTS = "checkpoints"
TENSORBOARD = "tensorboard"
PRESET = "preset"
COLUMNS = (
    "step",
    "epoch",
    "seconds",
    "words",
    "words_per_second",
    "learning_rate",
    "loss",
    "forward_perplexity",
    "backward_perplexity",
    "perplexity",
)


def open_run(path: str | Path, settings: Settings, facts: dict) -> Path:
    """Makes a run's directory, or checks that what is there is the same run.

    Args:
        path: the directory.
        settings: `Settings`.
        facts: what else makes a run: its corpus, the model it starts from.

    Returns:
        pathlib.Path of the directory.

    Raises:
        ValueError: when the directory holds another run, naming each difference.
        FileExistsError: when it holds something else.
    """
    wanted = {"settings": to_json(settings), **facts}
    return open_described(path, RUN_FILE, wanted, "run")


def discard_run(path: str | Path) -> None:
    """Takes back what `open_run` made, where nothing was trained yet."""
    for name in (RUN_FILE, LOCK_FILE):
        (Path(path) / name).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # it was there before, or holds more
        Path(path).rmdir()


def open_described(path: str | Path, name: str, wanted: dict, noun: str) -> Path:
    """Makes a directory that a JSON file describes, or checks that it is the same.

    Args:
        path: the directory.
        name: the file in it.
        wanted: dict to describe it; "settings" is a dict whose entries are compared
            one by one, those of bookkeeping not at all.
        noun: what the directory holds, for errors.

    Returns:
        pathlib.Path of the directory.

    Raises:
        ValueError: when the directory holds another one, naming each difference.
        FileExistsError: when it holds something else.
    """
    path = Path(path)
    if (path / name).exists():
        stored = read_json(path / name)
        if not isinstance(stored, dict) or not isinstance(stored.get("settings"), dict):
            raise ValueError(f"`{path / name}` does not describe a {noun}.")
        differing = [
            f"{key} is {new!r}, the {noun}'s is {old!r}"
            for key, new, old in _pairs(wanted, stored)
            if new != old
        ]
        if differing:
            raise ValueError(
                f"`{path}` holds another {noun}: {'; '.join(differing)}. Go on with "
                f"the {noun}'s own settings, or give another directory."
            )
        return path
    if path.exists() and any(path.iterdir()):
        raise FileExistsError(
            f"`{path}` is not empty and holds no {noun} ({name} is missing)."
        )
    path.mkdir(parents=True, exist_ok=True)
    with atomic_path(path / name) as temporary:
        text = json.dumps(wanted, indent=2, ensure_ascii=False) + "\n"
        temporary.write_text(text, encoding="utf-8")
    return path


def _pairs(wanted, stored):
    for name, value in wanted["settings"].items():
        if name not in BOOKKEEPING:
            yield name, value, stored["settings"].get(name)
    for name, value in wanted.items():
        if name != "settings":
            yield name, value, stored.get(name)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keeps a second process out of a run's directory, where the system can do that."""
    try:
        fcntl = importlib.import_module("fcntl")
    except ImportError:  # Windows
        yield
        return
    # The lock goes with the process, however it ends; the file stays.
    with open(path / LOCK_FILE, "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BlockingIOError(
                f"`{path}` is in use: another process trains in it."
            ) from None
        yield


class Log:
    """`log.csv`, and the same for TensorBoard where that is installed.

    Args:
        path: the run's directory.
        step: int, the step the run goes on from: later lines, of work that was lost,
            are dropped.
    """

    def __init__(self, path: Path, step: int):
        self._path = path / LOG_FILE
        rows = []
        if self._path.exists():
            with open(self._path, encoding="utf-8", newline="") as file:
                rows = [row for row in csv.DictReader(file) if _step(row) <= step]
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(COLUMNS)
        writer.writerows([row[column] for column in COLUMNS] for row in rows)
        with atomic_path(self._path, overwrite=True) as temporary:
            temporary.write_text(text.getvalue(), encoding="utf-8", newline="")
        self._board = None
        with contextlib.suppress(ImportError):
            summary = importlib.import_module("tensorboard.summary")
            # Each start writes a file of its own; TensorBoard shows them as one.
            self._board = summary.Writer(os.fspath(path / TENSORBOARD))

    def write(self, row: dict) -> None:
        """Adds a line; columns that `row` lacks stay empty."""
        with open(self._path, "a", encoding="utf-8", newline="") as file:
            csv.DictWriter(file, COLUMNS, restval="").writerow(row)
        if self._board is not None:
            for name, value in row.items():
                if name not in ("step", "epoch", "words", "seconds"):
                    self._board.add_scalar(name, value, row["step"])
            self._board.flush()

    def close(self) -> None:
        """Ends the file for TensorBoard."""
        if self._board is not None:
            self._board.close()


def _step(row):
    try:
        return int(row["step"])
    except (KeyError, TypeError, ValueError):
        return float("inf")  # a line cut short


def last_row(path: str | os.PathLike) -> dict:
    """The last line of a run's log, numbers as numbers; {} where there is none."""
    log = Path(path) / LOG_FILE
    with open(log, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return (
        {name: float(text) for name, text in rows[-1].items() if text} if rows else {}
    )
