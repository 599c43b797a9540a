"""What every export begins with: a model that can be exported, on the right backend."""

import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
from os import PathLike
from pathlib import Path

import keras

from keras_elmo import checks
from keras_elmo._requirements import installed_backends
from keras_elmo.models.elmo_backbone import ElmoBackbone
from keras_elmo.models.elmo_task import ElmoTask

_VERSION = re.compile(r"[0-9]+")


def exportable(model):
    """A model to export, loaded where a path is given.

    Args:
        model: `ElmoBackbone`, a preset, a task model, or the path of a `.keras` file.

    Raises:
        ValueError: when it is none of these, or keeps its sentence markers.
    """
    if isinstance(model, str | PathLike):
        is_file = str(model).endswith(".keras")
        load = keras.saving.load_model if is_file else ElmoBackbone.from_preset
        model = load(model)
    if isinstance(model, ElmoTask):
        return model
    if not isinstance(model, ElmoBackbone):
        rule = "an ElmoBackbone, a preset, a task model or a .keras file of one"
        raise ValueError(checks.received("model", model, rule))
    if model.keep_boundaries:
        raise ValueError(
            "`model` must give a vector a token: its biLM keeps the sentence markers "
            "(keep_boundaries=True)."
        )
    return model


def versions(output):
    """The numbers of a directory's versions, ascending."""
    names = [path.name for path in Path(output).iterdir()]
    return sorted(int(name) for name in names if _VERSION.fullmatch(name))


def next_version(output):
    """The number behind the highest version of a directory: 1 where there is none."""
    return max(versions(output), default=0) + 1


def call_on(backend, target, model, *arguments) -> dict:
    """Calls a function with a model on a backend: here, or in a process of its own.

    Args:
        backend: "tensorflow" or "torch".
        target: "module:function"; takes the model and the arguments, gives a dict.
        model: as `exportable` returns it.
        *arguments: what JSON can hold.

    Returns:
        dict: what the function returns, which JSON can hold too.

    Raises:
        ImportError: when the backend, or what the function needs, is not installed.
        ValueError, RuntimeError: as the function does.
    """
    if backend not in installed_backends():
        name = {"tensorflow": "TensorFlow", "torch": "PyTorch"}[backend]
        raise ImportError(
            f"This export goes through {name}: pip install 'keras-elmo[{backend}]'."
        )
    if keras.backend.backend() == backend:
        return _function(target)(model, *arguments)
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(model, ElmoTask):
            stored = f"{folder}/model.keras"
            model.save(stored)
        else:
            stored = f"{folder}/preset"
            model.save_to_preset(stored)
        answer = f"{folder}/answer.json"
        done = subprocess.run(
            [sys.executable, "-c", _CHILD, answer, target, stored],
            input=json.dumps(arguments),
            env={
                **os.environ,
                "KERAS_BACKEND": backend,
                "TF_CPP_MIN_LOG_LEVEL": "2",
                # The child finds what this process found.
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            },
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        if Path(answer).exists():
            told: dict = json.loads(Path(answer).read_text("utf-8"))
        else:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            told = {"error": "RuntimeError", "message": last}
    if "error" not in told:
        return told["result"]
    kinds = {"ImportError": ImportError, "ValueError": ValueError}
    kind = kinds.get(told["error"], RuntimeError)
    raise kind(told["message"])


_CHILD = "from keras_elmo.export.models import answer_call; answer_call()"


def answer_call():
    """What the process that `call_on` starts does."""
    answer, target, stored = sys.argv[1:]
    try:
        result = _function(target)(exportable(stored), *json.load(sys.stdin))
        told = {"result": result}
    except Exception as error:
        kind = "ImportError" if isinstance(error, ImportError) else type(error).__name__
        told = {"error": kind, "message": str(error)}
    Path(answer).write_text(json.dumps(told), "utf-8")


def _function(target):
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)
