"""The models that others published: what they are, where they lie, and their presets.

`published.json` holds what is known of each; what is not known is null there. A model
is fetched when it is first asked for, turned into a preset, and kept:

```
KERAS_HOME/keras_elmo/presets/NAME      the preset
KERAS_HOME/keras_elmo/downloads/NAME    what is fetched, until it is one
```

KERAS_HOME is the environment variable of that name, or `~/.keras`.
"""

import contextlib
import errno
import functools
import importlib
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keras_elmo._requirements import keras_home
from keras_elmo.downloads import RemoteFile, fetch
from keras_elmo.files import read_json

CONFIG_FILE = "config.json"
DATA = Path(__file__).resolve().with_name("published.json")


@dataclass(frozen=True)
class PublishedModel:
    """What is known of a published model; None where something is not.

    Args:
        name: str, the preset's.
        description: str, what it was trained on.
        languages: codes of ISO 639; none for proteins.
        form: str, as `keras-elmo convert --from` names it.
        files: what is to be fetched.
        sizes: dict of the network's sizes.
        parameters_in_millions: float.
        licence: str, what its publisher says of the weights.
        program_licence: str, of the program that made them.
        homepage: str, address.
        citations: texts in BibTeX's form.
    """

    name: str
    description: str
    languages: tuple[str, ...]
    form: str
    files: tuple[RemoteFile, ...]
    sizes: dict[str, int | None]
    parameters_in_millions: float | None
    licence: str | None
    program_licence: str | None
    homepage: str
    citations: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Where its files are fetched to."""
        return _cache() / "downloads" / self.name

    @property
    def download_size(self) -> int | None:
        """Bytes of all files, or None where one is not known."""
        known = [file.size for file in self.files if file.size is not None]
        return sum(known) if len(known) == len(self.files) else None


@functools.cache
def _read(path):
    content: Any = read_json(path)
    models = {}
    for name, own in content["models"].items():
        facts = {**content["families"][own["family"]], **own}
        del facts["family"]
        facts["languages"] = tuple(facts["languages"])
        facts["citations"] = tuple(content["citations"][c] for c in facts["citations"])
        facts["files"] = tuple(
            RemoteFile(**{**file, "addresses": tuple(file["addresses"])})
            for file in facts["files"]
        )
        models[name] = PublishedModel(name=name, **facts)
    return models


def published_models() -> dict[str, PublishedModel]:
    """The published models by their name."""
    return dict(_read(DATA))


def cached_preset(name: str) -> Path:
    """Where the preset of a published model lies once it was fetched."""
    return _cache() / "presets" / name


def fetch_preset(name: str) -> Path:
    """The preset of a published model, fetched and converted the first time.

    Another process that does the same is waited for.

    Args:
        name: one of `published_models()`.

    Returns:
        pathlib.Path of the preset directory.

    Raises:
        ConnectionError: when a file cannot be fetched, saying which files to fetch by
            hand and where to put them.
        PermissionError: when nothing may be written in Keras' folder.
        ValueError: when a file is not what was published.
    """
    preset = cached_preset(name)
    if is_preset(preset):
        return preset
    model = published_models()[name]
    folder = model.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        preset.parent.mkdir(parents=True, exist_ok=True)
        with _locked(folder.with_name(f"{name}.lock")):
            if not is_preset(preset):
                _make(model, preset)
    except OSError as error:
        if not isinstance(error, PermissionError) and error.errno != errno.EROFS:
            raise
        raise PermissionError(
            f"The preset {name!r} is kept in `{_cache()}`, where nothing may be "
            f"written ({error}). Set the environment variable KERAS_HOME to a folder "
            "of your own."
        ) from error
    return preset


def _make(model, preset):
    """Fetches a model's files and makes its preset of them."""
    folder = model.folder
    # Not at the top: a preset's reader finds its way here.
    from keras_elmo.checkpoints.convert import convert

    try:
        files = [fetch(file, folder) for file in model.files]
    except ConnectionError as error:
        raise ConnectionError(_by_hand(model, error)) from error
    try:
        convert(
            # One file is an archive of all.
            folder if len(files) > 1 else files[0],
            preset,
            model.form,
            overwrite=True,
            licence=model.licence,
            origin=" and ".join(file.addresses[0] for file in model.files),
            languages=model.languages,
        )
    except (ValueError, FileNotFoundError) as error:
        raise ValueError(
            f"{error} Remove `{folder}` to fetch {model.name!r} again."
        ) from error
    # It takes as much room again, and the preset holds all of it.
    shutil.rmtree(folder, ignore_errors=True)


def _by_hand(model, error):
    places = [(file.addresses[0], model.folder / file.name) for file in model.files]
    todo = "; ".join(f"{a} to `{place}`" for a, place in places if not place.exists())
    return (
        f"The published model {model.name!r} cannot be downloaded ({error}). Try "
        f"again, or fetch by hand: {todo}. Then ask for {model.name!r} again."
    )


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Waits for another process that holds this, where the system can do that."""
    try:
        fcntl = importlib.import_module("fcntl")
    except ImportError:  # Windows
        yield
        return
    # The lock goes with the process, however it ends; the file stays.
    with open(path, "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("keras_elmo: waiting for another process", file=sys.stderr)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def is_preset(directory: Path) -> bool:
    """Whether a directory holds a preset."""
    return (directory / CONFIG_FILE).is_file()


def _cache():
    return keras_home() / "keras_elmo"
