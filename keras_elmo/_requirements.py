"""What an installation lacks, said with the extra that brings it."""

import importlib.util
import json
import os
import sys
from pathlib import Path

# Backend -> the extra that installs it, in the order they are offered.
BACKENDS = ("tensorflow", "jax", "torch")
# What Keras knows besides, for models that are not trained.
OTHER_BACKENDS = ("numpy", "openvino")


def installed_backends():
    """The backends that are installed, without importing any."""
    return [name for name in BACKENDS if _is_installed(name)]


def chosen_backend():
    """The backend Keras is going to load, by its own rules, without importing it."""
    if os.environ.get("KERAS_BACKEND"):
        return os.environ["KERAS_BACKEND"]
    try:
        config = json.loads((keras_home() / "keras.json").read_text(encoding="utf-8"))
        return config.get("backend") or "tensorflow"
    except (OSError, ValueError, AttributeError):
        return "tensorflow"


def _chosen_by():
    if os.environ.get("KERAS_BACKEND"):
        return "the environment variable KERAS_BACKEND"
    return f"`{keras_home() / 'keras.json'}`"


def keras_home():
    """Keras' folder, of its settings and of what it fetches, without importing it."""
    return Path(os.environ.get("KERAS_HOME") or "~/.keras").expanduser()


def prepare_backend():
    """Sees to it that the backend Keras is going to load is there.

    The command line, whose process is its own, takes one that is installed where none
    was asked for, and tells an error in one line; a library may do neither.
    """
    is_command = is_command_line()
    if is_command and "KERAS_BACKEND" not in os.environ:
        installed = installed_backends()
        if installed and chosen_backend() not in installed:
            os.environ["KERAS_BACKEND"] = installed[0]
    try:
        require_backend()
    except (ImportError, ValueError) as error:
        if is_command and "--debug" not in sys.argv[1:]:
            sys.exit(f"Error: {error}")
        raise


def is_command_line():
    """Whether this process is `keras-elmo`, or `python -m keras_elmo`."""
    # While the package of `-m` is imported, `argv` says "-m" and no more.
    if sys.argv[:1] == ["-m"]:
        return "keras_elmo" in sys.orig_argv
    return bool(sys.argv) and Path(sys.argv[0]).stem == "keras-elmo"


def require_backend():
    """Raises where Keras is not going to find its backend.

    Raises:
        ImportError: when it is not installed.
        ValueError: when there is no backend of that name.
    """
    chosen = chosen_backend()
    if chosen not in BACKENDS + OTHER_BACKENDS:
        raise ValueError(
            f"Keras' backend must be one of {', '.join(BACKENDS)}. Received: "
            f"{chosen!r}, from {_chosen_by()}."
        )
    if chosen not in BACKENDS or _is_installed(chosen):
        return
    installed = installed_backends()
    if installed:
        raise ImportError(
            f"Keras is set to the backend {chosen!r}, which is not installed. "
            f"Installed: {', '.join(installed)}. Set the environment variable "
            f"KERAS_BACKEND={installed[0]}, or install the extra: "
            f"pip install 'keras-elmo[{chosen}]'."
        )
    raise ImportError(
        "keras_elmo needs a Keras backend and none is installed. Install one of: "
        + ", ".join(f"pip install 'keras-elmo[{name}]'" for name in BACKENDS)
        + "."
    )


def _is_installed(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ValueError:
        # `sys.modules[name] = None` is how a test or a user blocks a package.
        return False
