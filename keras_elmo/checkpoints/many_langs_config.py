"""ELMoForManyLangs' configuration, checked, to `ManyLangsBackbone`'s arguments.

A model's `config.json` names a second file, which holds the sizes.
"""

import math
import os
import re
from pathlib import Path

from keras_elmo.checkpoints.option_rules import (
    LARGEST_TOKEN,
    SMALLEST_TOKEN,
    Rule,
    are_filters,
    find_problems,
    get_option,
    is_activation,
    is_integer,
    is_object,
    is_rate,
    is_token_size,
    shown,
)
from keras_elmo.files import read_json

CONFIG_FILE = "config.json"
LARGEST_NUMBER_OF_LAYERS = 64
# The two files that the original package brings along; published models name one of
# them and do not hold it. Their contents are the same, whatever their names say.
_SAMPLE = {
    "encoder": {
        "name": "elmo",
        "projection_dim": 512,
        "cell_clip": 3,
        "proj_clip": 3,
        "dim": 4096,
        "n_layers": 2,
    },
    "token_embedder": {
        "name": "cnn",
        "activation": "relu",
        "filters": [
            *([1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024])
        ],
        "n_highway": 2,
        "word_dim": 100,
        "char_dim": 50,
        "max_characters_per_token": 50,
    },
    "dropout": 0.1,
}
_BUILT_IN = {
    "cnn_50_100_512_4096_sample.json": _SAMPLE,
    "cnn_0_100_512_4096_sample.json": _SAMPLE,
}
_ENCODERS = ("elmo", "lstm")


def _is_dim(value):
    return is_integer(value, 0)


def _is_number_of_layers(value):
    # So many are listed before they are compared with what a file has.
    return is_integer(value) and value <= LARGEST_NUMBER_OF_LAYERS


def _is_clip(value):
    # The original takes 0 for no clipping.
    if value is None:
        return True
    return type(value) in (int, float) and math.isfinite(value) and value >= 0


def _is_encoder(value):
    return isinstance(value, str) and value.lower() in _ENCODERS


def _is_cnn(value):
    return isinstance(value, str) and value.lower() == "cnn"


_POSITIVE = "a positive integer"
_CLIP = "a number of at least 0, or null; 0 and null for no clipping"
_RULES = (
    Rule("encoder", "an object", is_object, required=True),
    Rule("encoder.name", "'elmo' or 'lstm'", _is_encoder, required=True),
    Rule("encoder.dim", _POSITIVE, is_integer, required=True),
    Rule("encoder.projection_dim", _POSITIVE, is_integer, required=True),
    Rule(
        "encoder.n_layers",
        f"an integer from 1 to {LARGEST_NUMBER_OF_LAYERS}",
        _is_number_of_layers,
        required=True,
    ),
    Rule("encoder.cell_clip", _CLIP, _is_clip),
    Rule("encoder.proj_clip", _CLIP, _is_clip),
    Rule("token_embedder", "an object", is_object, required=True),
    Rule(
        "token_embedder.name",
        "'cnn': the original program fails with any other",
        _is_cnn,
        required=True,
    ),
    Rule(
        "token_embedder.word_dim",
        "an integer of at least 0 (0: no words)",
        _is_dim,
        required=True,
    ),
    Rule(
        "token_embedder.char_dim",
        "an integer of at least 0 (0: no characters)",
        _is_dim,
        required=True,
    ),
    Rule(
        "token_embedder.max_characters_per_token",
        f"an integer from {SMALLEST_TOKEN} to {LARGEST_TOKEN}",
        is_token_size,
        required=True,
    ),
    Rule("dropout", "a number from 0 up to, not including, 1", is_rate),
)
_CHARACTER_RULES = (
    Rule("token_embedder.activation", "'relu' or 'tanh'", is_activation, required=True),
    Rule(
        "token_embedder.filters",
        "a list of [width, number] pairs of positive integers",
        are_filters,
        required=True,
    ),
    Rule(
        "token_embedder.n_highway",
        f"an integer from 0 to {LARGEST_NUMBER_OF_LAYERS}",
        lambda value: value == 0 or _is_number_of_layers(value),
        required=True,
    ),
)


def read_config(directory: str | os.PathLike) -> tuple[dict, str]:
    """The sizes of a model, checked, and what an error calls the file they are from.

    Only files of the directory are read, whatever path `config.json` names: published
    ones name a path of their authors' machine.

    Args:
        directory: a model's directory.

    Raises:
        FileNotFoundError: when there is no `config.json`, or none that it names.
        ValueError: when a file is no JSON, or keys are missing or wrong: it names the
            file and each key.
    """
    directory = Path(directory)
    arguments = read_json(directory / CONFIG_FILE)
    named = arguments.get("config_path") if isinstance(arguments, dict) else None
    if not isinstance(named, str) or not named:
        raise ValueError(
            f"`{directory / CONFIG_FILE}` must name a file of sizes as `config_path`. "
            f"Received: {shown(named)}."
        )
    config, source = _named_config(directory, named)
    if not isinstance(config, dict):
        raise ValueError(f"`{source}` must hold an object. Received: {shown(config)}.")
    rules = _RULES
    if get_option(config, "token_embedder.char_dim") != 0:
        rules += _CHARACTER_RULES
    problems, wrong = find_problems(config, rules)
    if not wrong:
        problems += _contradictions(config["token_embedder"])
    if problems:
        lines = "".join(f"\n  {problem}" for problem in problems)
        raise ValueError(f"`{source}` holds no sizes of an ELMoForManyLangs:{lines}")
    return config, str(source)


def _named_config(directory, named):
    """What `config_path` leads to, and where that was."""
    parts = re.split(r"[\\/]", named)
    candidates = [directory / parts[-1]]
    if ".." not in parts and not Path(named).is_absolute() and ":" not in named:
        candidates.insert(0, directory.joinpath(*parts))
    for path in candidates:
        if _is_file_in(path, directory):
            return read_json(path), path
    if parts[-1] in _BUILT_IN:
        return _BUILT_IN[parts[-1]], parts[-1]
    raise FileNotFoundError(
        f"`{directory}` lacks the file of sizes `{parts[-1][:200]}`, which its "
        f"{CONFIG_FILE} names as `config_path`. The original program has it in "
        "`configs/`: put it into the directory."
    )


def _is_file_in(path, directory):
    try:
        # A link may lead out of the directory.
        inside = path.resolve().is_relative_to(directory.resolve())
        return inside and path.is_file()
    except (OSError, ValueError):  # no name that a file could have
        return False


def _contradictions(embedder):
    if embedder["word_dim"] == 0 and embedder["char_dim"] == 0:
        yield "`token_embedder.word_dim` and `.char_dim` are both 0"
    if embedder["char_dim"] == 0:
        return
    widest = max(width for width, _ in embedder["filters"])
    if widest > embedder["max_characters_per_token"]:
        yield (
            f"`token_embedder.filters` has a width (={widest}) above "
            f"`token_embedder.max_characters_per_token` "
            f"(={embedder['max_characters_per_token']})"
        )


def config_to_arguments(
    config: dict, vocabulary_size: int | None, num_characters: int | None
) -> dict:
    """The arguments of `ManyLangsBackbone`, all but the ids of the markers.

    Args:
        config: what `read_config` gave.
        vocabulary_size: int, rows of the word table, or None for no words.
        num_characters: int, rows of the table of characters, or None.
    """
    encoder, embedder = config["encoder"], config["token_embedder"]
    arguments = {
        "hidden_dim": encoder["dim"],
        "projection_dim": encoder["projection_dim"],
        "num_layers": encoder["n_layers"],
        "encoder_kind": encoder["name"].lower(),
        # 0 for no clipping.
        "cell_clip": encoder.get("cell_clip") or None,
        "proj_clip": encoder.get("proj_clip") or None,
        "max_characters_per_token": embedder["max_characters_per_token"],
        "dropout": config.get("dropout", 0.0),
    }
    if vocabulary_size is not None:
        arguments.update(
            vocabulary_size=vocabulary_size, word_embedding_dim=embedder["word_dim"]
        )
    if num_characters is not None:
        arguments.update(
            num_characters=num_characters,
            character_embedding_dim=embedder["char_dim"],
            char_cnn_filters=[list(pair) for pair in embedder["filters"]],
            num_highway_layers=embedder["n_highway"],
            char_cnn_activation=embedder["activation"],
        )
    return arguments
