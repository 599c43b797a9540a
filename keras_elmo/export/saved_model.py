"""A biLM or a task model as a SavedModel, from any backend.

TensorFlow writes it. Where another backend runs, a process of its own loads the model
on TensorFlow and exports it there.
"""

import warnings
from os import PathLike
from pathlib import Path

from keras_elmo.export.models import call_on, exportable, next_version
from keras_elmo.files import atomic_path
from keras_elmo.text.tokenizers import get_tokenizer


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
    model = exportable(model)
    if tokenizer is not None:
        get_tokenizer(tokenizer)
    output = Path(output)
    output.mkdir(parents=True, exist_ok=True)
    version = next_version(output)
    with atomic_path(output / str(version)) as temporary:
        summary = call_on(
            "tensorflow", f"{__name__}:write_version", model, str(temporary), tokenizer
        )
    if summary["warmup_requests"] is None:
        warnings.warn(
            "No warm-up requests: a server's first answers will be slow. They are "
            "written by tensorflow-serving-api: pip install 'keras-elmo[serving]'.",
            UserWarning,
            stacklevel=2,
        )
    return {"directory": str(output / str(version)), "version": version, **summary}


def write_version(model, path, tokenizer):
    """Writes one version, on the TensorFlow backend."""
    from keras_elmo.export.signatures import write_saved_model
    from keras_elmo.export.warmup import write_warmup

    summary = write_saved_model(model, path, tokenizer)
    return {**summary, "warmup_requests": write_warmup(path)}
