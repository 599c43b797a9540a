"""bilm-tf's `options.json`, checked, to `ElmoBackbone`'s arguments and back.

The keys are those that allenai/bilm-tf (`bilm/model.py`, `bilm/training.py`) and
AllenNLP (`modules/elmo.py`) read. Where both programs take a missing key for a value,
so does this one; where they disagree about a value, it is refused.
"""

import json
import math
import os
from collections.abc import Mapping
from typing import Any

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
from keras_elmo.files import atomic_path, read_json

# 261 in files written for training, 262 in files written for inference; the table of
# characters is the same one, with the row of the padding left out or put in.
NUMBERS_OF_CHARACTERS = (261, 262)


def _is_clip(value):
    # 0 is refused: bilm-tf clips everything to 0 by it, AllenNLP does not clip.
    if value is None:
        return True
    return type(value) in (int, float) and math.isfinite(value) and value > 0


def _is_number_of_characters(value):
    return type(value) is int and value in NUMBERS_OF_CHARACTERS


_POSITIVE = "a positive integer"
_CLIP = "a number above 0, or null (or left out) for no clipping"
_RULES = (
    Rule("lstm", "an object", is_object, required=True),
    Rule("lstm.dim", _POSITIVE, is_integer, required=True),
    Rule("lstm.projection_dim", _POSITIVE, is_integer, required=True),
    Rule("lstm.n_layers", _POSITIVE, is_integer, required=True),
    Rule("lstm.cell_clip", _CLIP, _is_clip),
    Rule("lstm.proj_clip", _CLIP, _is_clip),
    Rule(
        "lstm.use_skip_connections",
        "true or false (left out: false)",
        lambda value: type(value) is bool,
    ),
    Rule(
        "bidirectional",
        "true (or left out): a model of one direction is not supported",
        lambda value: value is True,
    ),
    Rule("dropout", "a number from 0 up to, not including, 1", is_rate),
    Rule("n_tokens_vocab", _POSITIVE, is_integer),
    Rule("char_cnn", "an object (or left out for word input)", is_object),
)
_CHARACTER_RULES = (
    Rule("char_cnn.embedding", "an object", is_object, required=True),
    Rule("char_cnn.embedding.dim", _POSITIVE, is_integer, required=True),
    Rule("char_cnn.activation", "'relu' or 'tanh'", is_activation, required=True),
    Rule(
        "char_cnn.filters",
        "a list of [width, number] pairs of positive integers",
        are_filters,
        required=True,
    ),
    Rule(
        "char_cnn.n_highway",
        "an integer of at least 0 (left out: 0)",
        lambda value: is_integer(value, 0),
    ),
    Rule(
        "char_cnn.n_characters", "261 or 262", _is_number_of_characters, required=True
    ),
    Rule(
        "char_cnn.max_characters_per_token",
        f"an integer from {SMALLEST_TOKEN} to {LARGEST_TOKEN}",
        is_token_size,
        required=True,
    ),
)


def read_options(path: str | os.PathLike) -> dict:
    """The options of a biLM, as they stand in the file, after a check of every key.

    Args:
        path: an `options.json` as bilm-tf and AllenNLP read it.

    Returns:
        dict. Keys this package does not use are in it too.

    Raises:
        ValueError: when the file is no JSON, or keys are missing or wrong: it names
            the file and, of each key, what was expected and what is there.
    """
    return check_options(read_json(path), source=path)


def check_options(options: object, source: object = "options") -> dict:
    """`options` itself when every key is as it must be.

    Args:
        options: what the JSON file holds.
        source: what an error calls it, the path as a rule.

    Raises:
        ValueError: naming every wrong key.
    """
    if not isinstance(options, dict):
        raise ValueError(
            f"`{source}` must hold an object with the key 'lstm'. Received: "
            f"{shown(options)}."
        )
    rules = _RULES + (_CHARACTER_RULES if "char_cnn" in options else ())
    problems, wrong = find_problems(options, rules)
    problems += _contradictions(options, wrong)
    if problems:
        lines = "".join(f"\n  {problem}" for problem in problems)
        raise ValueError(f"`{source}` holds no options of a biLM:{lines}")
    return options


def _contradictions(options, wrong):
    """What is wrong between keys that are each right."""
    dim: Any
    projection_dim: Any
    filters: Any
    characters: Any
    dim, projection_dim, filters, characters = (
        None if key in wrong else get_option(options, key)
        for key in (
            "lstm.dim",
            "lstm.projection_dim",
            "char_cnn.filters",
            "char_cnn.max_characters_per_token",
        )
    )
    if is_integer(dim) and is_integer(projection_dim) and projection_dim > dim:
        yield (
            f"`lstm.projection_dim` (={projection_dim}) must be at most `lstm.dim` "
            f"(={dim})"
        )
    if are_filters(filters) and is_integer(characters):
        widest = max(width for width, _ in filters)
        if widest > characters:
            yield (
                f"`char_cnn.filters` has a width (={widest}) above "
                f"`char_cnn.max_characters_per_token` (={characters})"
            )


def options_to_config(
    options: dict,
    vocabulary_size: int | None = None,
    start_token_id: int | None = None,
    end_token_id: int | None = None,
) -> dict:
    """The arguments of `ElmoBackbone` that these options stand for.

    Args:
        options: what `read_options` returns.
        vocabulary_size: int, number of words, for a model that reads words; None for
            one that reads what the options say: characters where they have
            `char_cnn`, else `n_tokens_vocab` words.
        start_token_id: int, the id of `<S>`, for word input. Defaults to the
            backbone's own.
        end_token_id: int, the id of `</S>`, for word input.

    Raises:
        ValueError: when a key is wrong, or the number of words is nowhere.
    """
    options = check_options(options)
    lstm = options["lstm"]
    config = {
        "hidden_dim": lstm["dim"],
        "projection_dim": lstm["projection_dim"],
        "num_layers": lstm["n_layers"],
        "cell_clip": lstm.get("cell_clip"),
        "proj_clip": lstm.get("proj_clip"),
        "use_skip_connections": lstm.get("use_skip_connections", False),
        "dropout": options.get("dropout", 0.0),
    }
    if vocabulary_size is None and "char_cnn" in options:
        char_cnn = options["char_cnn"]
        config.update(
            char_cnn_filters=[list(pair) for pair in char_cnn["filters"]],
            character_embedding_dim=char_cnn["embedding"]["dim"],
            max_characters_per_token=char_cnn["max_characters_per_token"],
            num_highway_layers=char_cnn.get("n_highway", 0),
            char_cnn_activation=char_cnn["activation"],
        )
        return config
    if vocabulary_size is None:
        vocabulary_size = options.get("n_tokens_vocab")
    if vocabulary_size is None:
        raise ValueError(
            "`vocabulary_size` must be given for options without `char_cnn` and "
            "without `n_tokens_vocab`: the model reads words."
        )
    config["vocabulary_size"] = vocabulary_size
    if start_token_id is not None:
        config["start_token_id"] = start_token_id
    if end_token_id is not None:
        config["end_token_id"] = end_token_id
    return config


def config_to_options(config: dict) -> dict:
    """The options that bilm-tf and AllenNLP read, of `ElmoBackbone.get_config()`.

    Every key that one of the two programs needs is there, the clips as null where
    nothing is clipped. `n_characters` is 262, which both take for inference.

    Args:
        config: the arguments of an `ElmoBackbone`; those left out have its defaults.
    """
    check_is_bilm(config)
    options = {
        "bidirectional": True,
        "dropout": config.get("dropout", 0.0),
        "lstm": {
            "dim": config["hidden_dim"],
            "projection_dim": config["projection_dim"],
            "n_layers": config.get("num_layers", 2),
            "cell_clip": config.get("cell_clip"),
            "proj_clip": config.get("proj_clip"),
            "use_skip_connections": config.get("use_skip_connections", True),
        },
    }
    if config.get("char_cnn_filters") is None:
        options["n_tokens_vocab"] = config["vocabulary_size"]
        return options
    options["char_cnn"] = {
        "activation": config.get("char_cnn_activation", "relu"),
        "embedding": {"dim": config["character_embedding_dim"]},
        "filters": [list(pair) for pair in config["char_cnn_filters"]],
        "max_characters_per_token": config.get("max_characters_per_token", 50),
        "n_characters": 262,
        "n_highway": config.get("num_highway_layers", 0),
    }
    return options


def check_is_bilm(config: Mapping) -> None:
    """Refuses the arguments of a `ManyLangsBackbone`, which bilm-tf has no form for.

    Raises:
        ValueError: for those.
    """
    if "encoder_kind" in config:
        raise ValueError(
            "bilm-tf's forms have no place for ELMoForManyLangs' dictionaries and "
            "layers: the model can be saved as a preset only."
        )


def write_options(backbone, path: str | os.PathLike, overwrite: bool = False) -> None:
    """Writes `backbone`'s options as bilm-tf and AllenNLP read them.

    Args:
        backbone: `ElmoBackbone`.
        path: the file to write.
        overwrite: bool. Replace what is there.

    Raises:
        FileExistsError: when `path` exists and `overwrite` is False.
    """
    text = json.dumps(config_to_options(backbone.get_config()), indent=2)
    with atomic_path(path, overwrite=overwrite) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")
