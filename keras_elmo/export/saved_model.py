"""A biLM or a task model as a SavedModel, from any backend.

TensorFlow writes it. Where another backend runs, a process of its own loads the model
on TensorFlow and exports it there.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from os import PathLike
from pathlib import Path

import keras

from keras_elmo import checks
from keras_elmo.files import atomic_path
from keras_elmo.models.elmo_backbone import ElmoBackbone
from keras_elmo.models.elmo_task import ElmoTask
from keras_elmo.text.tokenizers import get_tokenizer

_VERSION = re.compile(r"[0-9]+")


def export_saved_model(
    model,
    output: str | PathLike,
    tokenizer: str | None = None,
) -> dict:
    """Writes the next version of a model for TF Serving, whole or not at all.

    Signatures of a biLM, with google/elmo's names and shapes:

    - "default": `strings` (batch,), sentences, split by `tokenizer`.
    - "tokens": `tokens` (batch, time) padded with "", and `sequence_len` int32
      (batch,).
    - "character_ids": `character_ids` int32 (batch, time, C), 0 where padded; for word
      input "token_ids", (batch, time).

    Each gives `word_emb` (batch, time, P), `lstm_outputs1` to `lstm_outputsL` and
    `elmo`, the model's mix, (batch, time, 2 P), `default`, the mean over real tokens,
    (batch, 2 P), and `sequence_len`. Padded positions are 0. "serving_default" is
    "default". The loaded object itself takes `strings` and gives `default`, as
    `hub.KerasLayer` calls google/elmo.

    A task model has "default", strings in, labels and odds out:

    - tagger: `strings` to `tokens`, `labels` (batch, time) padded with "",
      `probabilities` (batch, time, classes; a CRF's marginals) and `sequence_len`; and
      "tokens", as above.
    - text classifier: `strings` to `label` (batch,), and `probabilities` and `classes`,
      their names, (batch, classes); pair classifier: the same from `first` and
      `second`, and where tokens are marked `first_target` and `second_target`.
    - question answering: `question` and `context` to `answer`, `start` and `end`, the
      tokens it goes from and to (-1 for an empty context), and `score`, its log odds.

    Args:
        model: `ElmoBackbone`, a preset, a task model, or the path of a `.keras` file.
        output: the directory that holds the versions `1`, `2`, ...; made where there is
            none.
        tokenizer: "whitespace" (TensorFlow's own ops only) or "unicode" (TF Text's ops,
            which TF Serving has); None for a task model's own, else "whitespace".

    Returns:
        dict: "directory", "version", "signatures", "custom_ops", the ops that are not
        TensorFlow's own, and "warmup_requests", the number of requests that TF Serving
        runs before it answers (`assets.extra/tf_serving_warmup_requests`): None, with a
        warning, where tensorflow-serving-api is not installed.

    Raises:
        ImportError: when TensorFlow, or for "unicode" TF Text, is not installed.
        ValueError: when `model` is none of these.

    Reference: tfhub.dev `google/elmo/3`.
    """
    model = _loaded(model)
    if tokenizer is not None:
        get_tokenizer(tokenizer)
    output = Path(output)
    output.mkdir(parents=True, exist_ok=True)
    version = next_version(output)
    with atomic_path(output / str(version)) as temporary:
        if keras.backend.backend() == "tensorflow":
            summary = _write(model, temporary, tokenizer)
        else:
            summary = _write_elsewhere(model, temporary, tokenizer)
    if summary["warmup_requests"] is None:
        warnings.warn(
            "No warm-up requests: a server's first answers will be slow. They are "
            "written by tensorflow-serving-api: pip install 'keras-elmo[serving]'.",
            UserWarning,
            stacklevel=2,
        )
    return {"directory": str(output / str(version)), "version": version, **summary}


def next_version(output):
    """The number behind the highest version of a directory: 1 where there is none."""
    found = [int(p.name) for p in Path(output).iterdir() if _VERSION.fullmatch(p.name)]
    return max(found, default=0) + 1


def _loaded(model):
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


def _write(model, path, tokenizer):
    from keras_elmo.export.signatures import write_saved_model
    from keras_elmo.export.warmup import write_warmup

    summary = write_saved_model(model, path, tokenizer)
    return {**summary, "warmup_requests": write_warmup(path)}


_CHILD = """
import json, sys
from keras_elmo.export import saved_model
model, path, tokenizer = json.loads(sys.argv[1])
print(json.dumps(saved_model._write(saved_model._loaded(model), path, tokenizer)))
"""


def _write_elsewhere(model, path, tokenizer):
    """Exports in a process that runs on TensorFlow."""
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(model, ElmoTask):
            stored = f"{folder}/model.keras"
            model.save(stored)
        else:
            stored = f"{folder}/preset"
            model.save_to_preset(stored)
        done = subprocess.run(
            [sys.executable, "-c", _CHILD, json.dumps([stored, str(path), tokenizer])],
            env={
                **os.environ,
                "KERAS_BACKEND": "tensorflow",
                "TF_CPP_MIN_LOG_LEVEL": "2",
                # The child finds what this process found.
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            },
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        if "No module named 'tensorflow'" in done.stderr or "ImportError" in last:
            raise ImportError(
                "A SavedModel is written by TensorFlow: pip install "
                f"'keras-elmo[tensorflow]'. ({last})"
            )
        raise RuntimeError(f"The export on TensorFlow failed: {last}")
    return json.loads(done.stdout.strip().splitlines()[-1])
