"""Where a preset comes from: a directory, a hub or a name that ships with the package.

```
DIRECTORY                                         one that holds a config.json
hf://OWNER/NAME[@REVISION]                        Hugging Face, by huggingface-hub
kaggle://OWNER/MODEL/FRAMEWORK/VARIATION[/VERSION]   Kaggle Models, by kagglehub
NAME                                              one of `builtin_presets()`, or of
                                                  `published.published_models()`
```

A directory that is a preset goes before a built-in preset of its name: what lies in
front of the user is what is meant. (KerasHub looks at its own names first.)
"""

import difflib
import importlib
import re
from os import PathLike
from pathlib import Path

from keras_elmo.published import CONFIG_FILE, fetch_preset, published_models

# What is fetched from a repository, whatever else it holds.
PRESET_FILES = (
    CONFIG_FILE,
    "model.weights.h5",
    "metadata.json",
    "tokenizer.json",
    "task.json",
    "task.weights.h5",
    "assets/*",
    "optimizer.h5",
    "README.md",
)
HUGGING_FACE_FORM = "hf://OWNER/NAME[@REVISION]"
KAGGLE_FORM = "kaggle://OWNER/MODEL/FRAMEWORK/VARIATION[/VERSION]"

_PACKAGE = Path(__file__).resolve().parent
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_HUGGING_FACE = re.compile(r"hf://([\w.-]+/[\w.-]+)(?:@([\w./-]+))?")
_KAGGLE = re.compile(r"kaggle://((?:[\w.-]+/){3}[\w.-]+(?:/[0-9]+)?)")
# The hubs' errors by the name of their class: the packages are not imported to be
# asked. The first class of an error's that stands here decides.
_REFUSED = (PermissionError, "access is refused: log in, or accept the model's terms")
_NOT_FOUND = (FileNotFoundError, "no such model, or a private one: log in")
_ERRORS = {
    "GatedRepoError": _REFUSED,
    "UnauthenticatedError": _REFUSED,
    "CredentialError": _REFUSED,
    "RepositoryNotFoundError": _NOT_FOUND,
    "RevisionNotFoundError": (FileNotFoundError, "no such revision"),
    "NotFoundError": _NOT_FOUND,
    "OfflineModeIsEnabled": (OSError, "it is not on this machine and the hub is off"),
    "LocalEntryNotFoundError": (
        OSError,
        "it is not on this machine and the hub cannot be reached",
    ),
    "ConnectionError": (OSError, "the hub cannot be reached"),
}
# kagglehub has one class for what a server answers.
_STATUS = {401: _REFUSED, 403: _REFUSED, 404: _NOT_FOUND}


def resolve(preset: str | PathLike) -> Path:
    """The directory of a preset, fetched first where it lies on a hub.

    Args:
        preset: a directory, `hf://OWNER/NAME[@REVISION]`,
            `kaggle://OWNER/MODEL/FRAMEWORK/VARIATION[/VERSION]`, one of the names of
            `builtin_presets`, or of a published model, which is fetched and converted
            the first time. A directory that holds a config.json goes before a preset
            of its name. A hub's files stay in its cache.

    Returns:
        pathlib.Path of a directory that holds a config.json.

    Raises:
        FileNotFoundError: when there is no such preset, saying what forms there are.
        ImportError: when the package of a hub is not installed.
        OSError: when a hub or a published model's address cannot be reached;
            PermissionError when it refuses.
        ValueError: when a hub's address is not of its form.

    Example:
    ```python
    backbone.save_to_preset("my_preset")
    keras_elmo.preset_sources.resolve("my_preset")  # Path("my_preset")
    ```
    """
    text = str(preset)
    if "://" in text:
        return _fetch(text)
    directory = Path(preset)
    if (directory / CONFIG_FILE).is_file():
        return directory
    if _NAME.fullmatch(text):
        for folder in _builtin_folders():
            if (folder / text / CONFIG_FILE).is_file():
                return folder / text
        if text in published_models():
            return fetch_preset(text)
    if directory.is_dir():
        raise FileNotFoundError(
            f"`{directory}` is not a preset: it has no {CONFIG_FILE}. A folder with "
            "options.json and weights in .hdf5 is turned into one by "
            "`keras-elmo convert`."
        )
    raise FileNotFoundError(
        f"`preset` must be {_forms()}. Received: {text!r}, and no such directory "
        f"exists.{_did_you_mean(text)}"
    )


def builtin_presets() -> list[str]:
    """The names of the presets that ship with the package, sorted."""
    return sorted(
        {
            path.parent.name
            for folder in _builtin_folders()
            for path in folder.glob(f"*/{CONFIG_FILE}")
            if _NAME.fullmatch(path.parent.name)
        }
    )


def _builtin_folders():
    """Where built-in presets lie: in a wheel, then in a checkout."""
    folders = [_PACKAGE / "_presets"]
    checkout = _PACKAGE.parent
    # Beside an installed package `saved_models` may be anybody's.
    if (checkout / "pyproject.toml").is_file():
        folders.append(checkout / "saved_models")
    return folders


def _fetch(preset):
    """The directory that a hub's preset was fetched into."""
    scheme = preset.partition("://")[0]
    if scheme == "hf":
        directory = _fetch_from_hugging_face(preset)
    elif scheme == "kaggle":
        directory = _fetch_from_kaggle(preset)
    else:
        raise ValueError(f"`preset` must be {_forms()}. Received: {preset!r}.")
    if not (directory / CONFIG_FILE).is_file():
        raise FileNotFoundError(f"`{preset}` is not a preset: it has no {CONFIG_FILE}.")
    return directory


def _fetch_from_hugging_face(preset):
    match = _HUGGING_FACE.fullmatch(preset)
    if match is None:
        raise ValueError(f"`preset` must be {HUGGING_FACE_FORM}. Received: {preset!r}.")
    repository, revision = match.groups()
    hub = _import("huggingface_hub", "huggingface-hub", preset)
    try:
        return Path(
            hub.snapshot_download(
                repository, revision=revision, allow_patterns=list(PRESET_FILES)
            )
        )
    except Exception as error:
        raise _one_line(preset, error) from error


def _fetch_from_kaggle(preset):
    match = _KAGGLE.fullmatch(preset)
    if match is None:
        raise ValueError(f"`preset` must be {KAGGLE_FORM}. Received: {preset!r}.")
    hub = _import("kagglehub", "kagglehub", preset)
    try:
        # A variation holds one preset and nothing else: it is fetched whole.
        return Path(hub.model_download(match[1]))
    except Exception as error:
        raise _one_line(preset, error) from error


def _import(name, package, preset):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"The preset {preset!r} needs the package {package}: "
            f"pip install 'keras-elmo[hub]'. ({error})"
        ) from error


def _one_line(preset, error):
    """A hub's error as one that the command line reports, naming the preset.

    The hubs raise exceptions of many kinds, some of no built-in kind but `Exception`.
    """
    status = getattr(getattr(error, "response", None), "status_code", None)
    # The name first: Hugging Face answers 401 for a model that does not exist.
    known = [_ERRORS.get(cls.__name__) for cls in type(error).__mro__]
    kind = ValueError if isinstance(error, ValueError) else OSError
    told = " ".join(str(error).split()) or "the hub gave no reason"
    kind, told = next(filter(None, known), _STATUS.get(status or 0, (kind, told)))
    return kind(f"`{preset}` cannot be fetched: {told} ({type(error).__name__}).")


def _forms():
    names = builtin_presets()
    listed = f"a built-in name ({', '.join(names)})" if names else "a built-in name"
    return (
        f"a directory that holds a {CONFIG_FILE}, {HUGGING_FACE_FORM}, {KAGGLE_FORM}, "
        f"{listed} or a published model's (`keras-elmo presets` lists them)"
    )


def _did_you_mean(text):
    names = [*builtin_presets(), *published_models()]
    near = difflib.get_close_matches(text, names, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
