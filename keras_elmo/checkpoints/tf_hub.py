"""google/elmo of TensorFlow Hub: its variables and mix weights, without its graph.

The modules 1 to 3 are TF1 SavedModels (`saved_model.pb`, perhaps `tfhub_module.pb`,
and `variables/`). Nothing of them is run: the variables are read from the checkpoint
in `variables/`, and their names and shapes tell the model's sizes. What leaves no trace
in variables (clips, activation, residuals, characters a word) is google/elmo's, or
that of an `options.json` laid beside `saved_model.pb`.

A SavedModel that was exported from a graph with the module in it has the same names
behind a prefix, and is read too, fine-tuned or not.
"""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from keras_elmo.checkpoints.bilm_fit import (
    assign,
    by_published_name,
    check_fit,
    without_padding_row,
)
from keras_elmo.checkpoints.bilm_names import CHARACTER_TABLE, options_of, weights_of
from keras_elmo.checkpoints.bilm_options import options_to_config, read_options
from keras_elmo.checkpoints.tensor_bundle import TensorBundle

if TYPE_CHECKING:
    from keras_elmo.models.elmo_backbone import ElmoBackbone

VARIABLES = "variables/variables"
# google/elmo's, as its authors published them for the model of the paper.
PUBLISHED = {
    "cell_clip": 3.0,
    "proj_clip": 3.0,
    "use_skip_connections": True,
    "max_characters_per_token": 50,
    "activation": "relu",
}
_BILM = re.compile(r"(.*/)?bilm/(.+)")
_WEIGHTS, _SCALING = "aggregation/weights", "aggregation/scaling"
_SLOTS = ("/Adam", "/Adam_1", "/Adagrad", "/Momentum", "/RMSProp", "/RMSProp_1")


def build_backbone(source: str | os.PathLike) -> "ElmoBackbone":
    """The model of a module or SavedModel, with its mix weights and scale.

    Args:
        source: the folder that holds `saved_model.pb` and `variables/`.

    Returns:
        `ElmoBackbone`; `embed(..., layers="mix")` gives the module's output `elmo`.

    Raises:
        FileNotFoundError: when a file is missing, naming it.
        ValueError: when the files are damaged, or hold another model.
    """
    from keras_elmo.models.elmo_backbone import ElmoBackbone

    prefix = Path(source) / VARIABLES
    bundle = TensorBundle(prefix)
    scope, variables = _variables_of(bundle)
    shapes = {name: bundle.shapes[full] or () for name, full in variables.items()}
    options, options_source = _options(source, shapes, prefix)
    config = options_to_config(options)
    weights = weights_of(config)
    check_fit(config, weights, shapes, prefix, options_source)
    config.update(_mix(bundle, scope, config["num_layers"]))
    arrays = {name: bundle.read_float32(variables[name]) for name in weights}
    arrays[CHARACTER_TABLE] = without_padding_row(arrays[CHARACTER_TABLE], prefix)
    backbone = ElmoBackbone(**config)
    assign(backbone, weights, arrays)
    return backbone


def _variables_of(bundle):
    """(what stands in front of the names, {published name: variable})."""
    found: dict[str, dict[str, str]] = {}
    for full in bundle.entries:
        match = _BILM.fullmatch(full)
        if match and not full.endswith(_SLOTS):
            found.setdefault(match[1] or "", {})[match[2]] = full
    if not found:
        raise ValueError(
            f"`{bundle.prefix}` holds no google/elmo: no variable is named "
            "`bilm/...`, with or without a prefix."
        )
    if len(found) > 1:
        raise ValueError(
            f"`{bundle.prefix}` must hold one google/elmo. Received: "
            + ", ".join(f"`{scope}bilm`" for scope in sorted(found)[:5])
            + "."
        )
    ((scope, variables),) = found.items()
    return scope, by_published_name(variables, bundle.prefix)


def _options(source, shapes, prefix):
    """(options, what an error calls them)."""
    path = Path(source) / "options.json"
    if path.is_file():
        return read_options(path), f"`{path}`"
    told = {key: value for key, (value, _) in options_of(shapes).items()}
    keys = ("lstm.n_layers", "lstm.dim", "lstm.projection_dim", "char_cnn.filters")
    missing = [key for key in keys if not told.get(key)]
    if missing:
        raise ValueError(
            f"`{prefix}` does not tell the sizes of a google/elmo: nothing gives "
            f"{', '.join(f'`{key}`' for key in missing)}."
        )
    options = {
        "lstm": {
            "dim": told["lstm.dim"],
            "projection_dim": told["lstm.projection_dim"],
            "n_layers": told["lstm.n_layers"],
            "cell_clip": PUBLISHED["cell_clip"],
            "proj_clip": PUBLISHED["proj_clip"],
            "use_skip_connections": PUBLISHED["use_skip_connections"],
        },
        "char_cnn": {
            "activation": PUBLISHED["activation"],
            "embedding": {"dim": told["char_cnn.embedding.dim"]},
            "filters": told["char_cnn.filters"],
            "max_characters_per_token": PUBLISHED["max_characters_per_token"],
            "n_characters": 262,
            "n_highway": told["char_cnn.n_highway"],
        },
    }
    return options, "the model that the shapes tell"


def _mix(bundle, scope, num_layers):
    """The backbone's arguments `mix_weights` and `gamma`; {} where there are none."""
    names = [f"{scope}{name}" for name in (_WEIGHTS, _SCALING)]
    there = [name for name in names if name in bundle.entries]
    if not there:
        return {}
    if len(there) == 1:
        raise ValueError(
            f"`{bundle.prefix}` must have both `{names[0]}` and `{names[1]}`. "
            f"Received: `{there[0]}` alone."
        )
    weights, scaling = map(bundle.read_float32, names)
    if weights.shape != (num_layers + 1,) or scaling.size != 1:
        raise ValueError(
            f"`{names[0]}` of `{bundle.prefix}` must have shape {(num_layers + 1,)} "
            f"and `{names[1]}` one number. Received: {weights.shape}, {scaling.shape}."
        )
    odds = np.exp(weights.astype("float64") - weights.max())
    return {
        "mix_weights": (odds / odds.sum()).tolist(),
        "gamma": float(scaling.reshape(())),
    }
