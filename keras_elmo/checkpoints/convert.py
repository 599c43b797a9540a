"""Published weights to a preset."""

import os
from pathlib import Path

import numpy as np

from keras_elmo import checks
from keras_elmo.checkpoints.bilm_hdf5 import build_backbone
from keras_elmo.embed import embed

FORMS = ("auto", "bilm_hdf5")
# Embedded once, to see that the numbers are numbers.
CHECK_SENTENCE = ["The", "bank", "of", "the", "river", "."]


def convert(
    source: str | os.PathLike,
    output: str | os.PathLike,
    form: str = "auto",
    overwrite: bool = False,
) -> dict:
    """Turns published weights into a preset directory.

    Args:
        source: a folder with one `*options.json` and one `*.hdf5`, as bilm-tf and
            AllenNLP publish them, or the path of the options with the weights beside
            them. A `vocab*.txt` in the folder is taken along; a model of word input
            needs it.
        output: the preset directory to make.
        form: "auto" or "bilm_hdf5".
        overwrite: bool. Replace `output`.

    Returns:
        dict: "form", "input", "layers", "dimension", "parameters", "vocabulary"
        (words, or None), "output".

    Raises:
        FileNotFoundError: when `source` is not there or holds no such files, with
            what was looked for.
        ValueError: when several files fit, when files contradict each other, or when
            the model's vectors are not finite. Nothing is written then.
    """
    if form not in FORMS:
        raise ValueError(checks.received("form", form, f"one of {FORMS}"))
    options, weights, vocabulary = _find(Path(source))
    backbone = build_backbone(options, weights, vocabulary)
    if not np.isfinite(embed([CHECK_SENTENCE], backbone, layers="all")).all():
        raise ValueError(
            f"`{weights}` gives vectors that are not finite for a plain sentence."
        )
    backbone.save_to_preset(output, overwrite=overwrite)
    return {
        "form": "bilm_hdf5",
        "input": backbone.input_kind,
        "layers": backbone.num_layers,
        "dimension": backbone.output_dim,
        "parameters": int(backbone.count_params()),
        "vocabulary": None if backbone.vocabulary is None else len(backbone.vocabulary),
        "output": str(output),
    }


def _find(source):
    """Paths of options, weights, and the vocabulary or None."""
    if source.is_dir():
        options = _only(source, "*options.json", "options")
        folder = source
    elif source.is_file():
        options, folder = source, source.parent
    else:
        raise FileNotFoundError(f"`{source}` does not exist.")
    weights = _only(folder, "*.hdf5", "weights")
    vocabularies = sorted(folder.glob("vocab*.txt"))
    if len(vocabularies) > 1:
        raise ValueError(_several(folder, "vocab*.txt", vocabularies))
    return options, weights, vocabularies[0] if vocabularies else None


def _only(folder, pattern, what):
    found = sorted(folder.glob(pattern))
    if what == "weights" and len(found) > 1:
        # What bilm-tf's `dump_token_embeddings` writes lies beside the weights.
        found = [path for path in found if "embedding" not in path.name] or found
    if not found:
        raise FileNotFoundError(
            f"`{folder}` has no {what}: no file `{pattern}` (bilm-tf's and AllenNLP's "
            "published form is `*options.json` beside `*.hdf5`)."
        )
    if len(found) > 1:
        raise ValueError(_several(folder, pattern, found))
    return found[0]


def _several(folder, pattern, found):
    names = ", ".join(path.name for path in found)
    return f"`{folder}` must have one file `{pattern}`. Received: {names}."
