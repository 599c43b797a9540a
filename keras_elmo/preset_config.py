"""What a preset's JSON files may say, checked before anything is made of it.

Presets come from hubs: a number in one may be wrong, absurd or meant to take all memory
or time. Every argument has its rule here, and the error names the file and the key.
"""

import math
import operator
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard

from keras_elmo.checkpoints import bilm_names, many_langs_names
from keras_elmo.checkpoints.option_rules import (
    LARGEST_TOKEN,
    SMALLEST_TOKEN,
    Rule,
    are_filters,
    find_problems,
    is_activation,
    is_integer,
    is_rate,
    is_token_size,
    shown,
)
from keras_elmo.models.many_langs_backbone import ENCODERS, ManyLangsBackbone
from keras_elmo.text.elmo_tokenizer import INPUT_KINDS
from keras_elmo.text.tokenizers import TOKENIZERS

DTYPES = (
    *("float32", "float16", "bfloat16", "float64"),
    *("mixed_float16", "mixed_bfloat16"),
)
LARGEST_NUMBER_OF_LAYERS = bilm_names.LARGEST_NUMBER_OF_LAYERS


def _is_number(value) -> TypeGuard[int | float]:
    # Of an int that is too large for a float there is no float.
    return type(value) is float or (type(value) is int and abs(value) < 2**53)


def _is_finite(value):
    return _is_number(value) and math.isfinite(value)


def _is_count(value, minimum=1):
    return is_integer(value, minimum) and value <= LARGEST_NUMBER_OF_LAYERS


def _is_bool(value):
    return type(value) is bool


def _is_clip(value):
    return value is None or (_is_number(value) and value > 0)


def _is_mix(value):
    return value is None or (isinstance(value, list) and all(map(_is_finite, value)))


def _is_dtype(value):
    """A policy's name, or what `keras.dtype_policies.serialize` makes of a policy.

    No other class is looked for, whatever its name.
    """
    if isinstance(value, dict):
        config = value.get("config")
        if value.get("class_name") != "DTypePolicy" or not isinstance(config, dict):
            return False
        known = value.get("module") == "keras" and not value.get("registered_name")
        return known and set(config) == {"name"} and _is_dtype_name(config["name"])
    return value is None or _is_dtype_name(value)


def _is_dtype_name(value):
    return isinstance(value, str) and value in DTYPES


def _is_marker(value):
    """An id, or one id a column of the input."""
    if isinstance(value, list):
        return 0 < len(value) <= LARGEST_TOKEN + 1 and all(map(is_integer, value))
    return is_integer(value)


def _or_none(is_met):
    return lambda value: value is None or is_met(value)


def _one_of(key, names):
    names = tuple(names)
    return Rule(
        key,
        " or ".join(map(repr, names)),
        lambda value: isinstance(value, str) and value in names,
    )


_POSITIVE = "a positive integer"
_CLIP = "a number above 0, or null for no clipping"
_COUNT = f"an integer from {{}} to {LARGEST_NUMBER_OF_LAYERS}"
_OPTIONAL = "a positive integer, or null"
_TOKEN_SIZE = Rule(
    "max_characters_per_token",
    f"an integer from {SMALLEST_TOKEN} to {LARGEST_TOKEN}",
    is_token_size,
)
_RULES = (
    Rule("hidden_dim", _POSITIVE, is_integer, required=True),
    Rule("projection_dim", _POSITIVE, is_integer, required=True),
    Rule("num_layers", _COUNT.format(1), _is_count),
    Rule(
        "char_cnn_filters",
        "a list of [width, number] pairs of positive integers, or null",
        _or_none(are_filters),
    ),
    Rule("character_embedding_dim", _OPTIONAL, _or_none(is_integer)),
    _TOKEN_SIZE,
    Rule(
        "num_highway_layers",
        _COUNT.format(0),
        lambda value: _is_count(value, minimum=0),
    ),
    Rule("char_cnn_activation", "'relu' or 'tanh'", is_activation),
    Rule("vocabulary_size", _OPTIONAL, _or_none(is_integer)),
    Rule("cell_clip", _CLIP, _is_clip),
    Rule("proj_clip", _CLIP, _is_clip),
    Rule("keep_boundaries", "true or false", _is_bool),
    Rule("dropout", "a number from 0 up to, not including, 1", is_rate),
    Rule("mix_weights", "a list of numbers, or null", _is_mix),
    Rule("gamma", "a number", _is_finite),
    Rule("dtype", f"the policy of one of {', '.join(DTYPES)}", _is_dtype),
    Rule("name", "a string, or null", _or_none(lambda value: isinstance(value, str))),
    Rule("trainable", "true or false", _is_bool),
)
_BILM_RULES = (
    Rule("start_token_id", _POSITIVE, is_integer),
    Rule("end_token_id", _POSITIVE, is_integer),
    Rule("use_skip_connections", "true or false", _is_bool),
)
_IDS = "a positive integer, or a list of them"
_MANY_LANGS_RULES = (
    Rule("begin_ids", _IDS, _is_marker, required=True),
    Rule("end_ids", _IDS, _is_marker, required=True),
    _one_of("encoder_kind", ENCODERS),
    Rule("word_embedding_dim", _OPTIONAL, _or_none(is_integer)),
    Rule("num_characters", _OPTIONAL, _or_none(is_integer)),
)
_TOKENIZER_RULES = (
    _one_of("splitter", TOKENIZERS),
    _one_of("input_kind", INPUT_KINDS),
    _TOKEN_SIZE,
)


def check_config(cls: type, arguments: Mapping[str, Any], path: Path) -> None:
    """Refuses arguments that a preset of `cls` cannot have.

    Args:
        cls: `ElmoBackbone` or `ManyLangsBackbone`.
        arguments: those of config.json.
        path: the file, for the error.

    Raises:
        ValueError: naming the file and every key that is missing, wrong or unknown.
    """
    rules = _RULES + (_MANY_LANGS_RULES if cls is ManyLangsBackbone else _BILM_RULES)
    _check(arguments, rules, path, _contradictions(cls, arguments))


def check_tokenizer(arguments: Mapping[str, Any], path: Path) -> None:
    """Refuses arguments that an `ElmoTokenizer` of a preset cannot have.

    Args:
        arguments: those of tokenizer.json.
        path: the file, for the error.

    Raises:
        ValueError: naming the file and every key that is wrong or unknown.
    """
    _check(arguments, _TOKENIZER_RULES, path)


def _check(arguments, rules, path, contradictions=()):
    problems, wrong = find_problems(dict(arguments), rules)
    known = {rule.key for rule in rules}
    unknown = sorted(key for key in arguments if key not in known)
    if unknown:
        problems.append(f"unknown: {shown(unknown)}")
    if not wrong:
        # Not asked before: they compare values of the right kinds.
        problems += contradictions
    if problems:
        lines = "".join(f"\n  {problem}" for problem in problems)
        raise ValueError(f"`{path}` is not a valid configuration:{lines}")


def _contradictions(cls, arguments):
    """What is wrong between keys that are each right."""
    rows = arguments.get("vocabulary_size")
    if cls is ManyLangsBackbone:
        characters = arguments.get("num_characters") is not None
        if rows is not None and arguments.get("word_embedding_dim") is None:
            yield "`word_embedding_dim` must be given with `vocabulary_size`"
        yield from _wrong_markers(arguments)
    else:
        characters = arguments.get("char_cnn_filters") is not None
        if characters == (rows is not None):
            yield (
                "exactly one of `char_cnn_filters` and `vocabulary_size` must be given"
            )
        for key in ("start_token_id", "end_token_id"):
            if rows is not None and (value := arguments.get(key, 1)) > rows:
                yield f"`{key}` (={value}) must be at most `vocabulary_size` (={rows})"
    for key in ("char_cnn_filters", "character_embedding_dim"):
        if characters and arguments.get(key) is None:
            yield f"`{key}` must be given for a model that reads characters"


def _wrong_markers(arguments):
    """Lines for ids of `<bos>` and `<eos>` that are not as a token's are."""
    rows = arguments.get("vocabulary_size")
    characters = arguments.get("num_characters")
    limits = [] if rows is None else [rows]
    if characters is not None:
        limits += [characters] * arguments.get("max_characters_per_token", 50)
    for key in ("begin_ids", "end_ids"):
        ids = arguments[key]
        ids = ids if isinstance(ids, list) else [ids]
        if len(ids) != len(limits):
            yield f"`{key}` must be {len(limits)} ids, as a token's, not {len(ids)}"
        elif any(map(operator.gt, ids, limits)):
            yield f"`{key}` must be ids of the tables' rows. Received: {shown(ids)}"


def check_size(cls: type, arguments: Mapping[str, Any], path: Path) -> None:
    """Refuses a model of more weights than the file holds, before it is allocated.

    Args:
        cls: as for `check_config`, which has passed.
        arguments: as for `check_config`.
        path: the file of weights.

    Raises:
        FileNotFoundError: when there is none.
        ValueError: when it is too small.
    """
    if not path.is_file():
        raise FileNotFoundError(f"`{path}` is missing: the preset is not complete.")
    if cls is ManyLangsBackbone:
        number = many_langs_names.count_weights(arguments)
    else:
        weights = bilm_names.weights_of(arguments).values()
        number = sum(math.prod(weight.shape) for weight in weights)
    # No weight takes fewer bytes than in 16 bits.
    if 2 * number > path.stat().st_size:
        raise ValueError(
            f"`{path}` is too small ({path.stat().st_size:,} bytes) for the "
            f"{number:,} weights that the config.json beside it describes."
        )
