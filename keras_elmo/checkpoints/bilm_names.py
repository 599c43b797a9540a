"""The published names of a biLM's weights, and what they tell about its options."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from keras import ops

from keras_elmo import checks
from keras_elmo.checkpoints.bilm_options import check_is_bilm, config_to_options
from keras_elmo.checkpoints.option_rules import get_option
from keras_elmo.text.characters import NUM_CHARACTER_IDS

WORD_TABLE = "embedding"
CHARACTER_TABLE = "char_embed"
_CHARACTER_NAMES = re.compile(r"char_embed$|CNN(_high_\d+|_proj)?/")
_CELL = re.compile(r"RNN_\d+/RNN/MultiRNNCell/Cell(\d{1,4})/LSTMCell/W_0$")
# An LSTM's names in published files, in training and in TF-Hub's modules. A model of
# one layer lacks the part with the layer's number where bilm-tf trains and dumps it.
_LSTM = re.compile(
    r"RNN_(\d{1,4})/(?:rnn|RNN)/"
    r"(?:(?:multi_rnn_cell/cell_|MultiRNNCell/Cell)(\d{1,4})/)?"
    r"(?:rnn/)?(?:lstm_cell|LSTMCell)/(kernel|bias|projection/kernel|W_0|B|W_P_0)"
)
_TRAINING_PARTS = {"W_0": "kernel", "B": "bias", "W_P_0": "projection/kernel"}
_PUBLISHED_PARTS = {new: old for old, new in _TRAINING_PARTS.items()}
SOFTMAX_KERNEL, SOFTMAX_BIAS = "softmax/W", "softmax/b"
# What a file says it has is listed before it is looked for.
LARGEST_NUMBER_OF_LAYERS = 1000


@dataclass(frozen=True)
class Weight:
    """One dataset of a weights file and the variables it holds.

    The dataset is the variables' rows one below the other, in the dataset's shape.
    """

    name: str
    shape: tuple[int, ...]
    variables: Callable[[Any], Iterable]

    def read(self, model) -> np.ndarray:
        """The dataset's numbers as `model` has them, float32."""
        return self.join(self.variables(model))

    def assign(self, model, array: np.ndarray) -> None:
        """Sets the variables of `model` to the dataset's numbers."""
        self.split(self.variables(model), array)

    def join(self, variables: Iterable) -> np.ndarray:
        """The dataset of variables of these shapes, float32."""
        arrays = [
            np.asarray(ops.convert_to_numpy(variable), dtype=np.float32)
            for variable in variables
        ]
        return np.concatenate(arrays, axis=0).reshape(self.shape)

    def split(self, variables: Iterable, array: np.ndarray) -> None:
        """Sets variables of these shapes to the dataset's numbers."""
        variables = list(variables)
        rows = array.reshape(-1, *variables[0].shape[1:])
        start = 0
        for variable in variables:
            end = start + variable.shape[0]
            variable.assign(rows[start:end])
            start = end


def cell_name(direction: int, layer: int) -> str:
    """The group of one LSTM: direction 0 is forward, 1 backward."""
    return f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"


def weights_of(config: Mapping) -> dict[str, Weight]:
    """Every dataset of the weights file of a model, by name.

    Args:
        config: the arguments of an `ElmoBackbone`. The model itself is not needed, so
            that a file is checked before anything is allocated for it.

    Raises:
        ValueError: when there are more layers than any model has.
    """
    for key in ("num_layers", "num_highway_layers"):
        if config.get(key, 0) > LARGEST_NUMBER_OF_LAYERS:
            rule = f"at most {LARGEST_NUMBER_OF_LAYERS}"
            raise ValueError(checks.received(key, config[key], rule))
    check_is_bilm(config)
    weights = []

    def add(name, shape, variables):
        weights.append(Weight(name, tuple(shape), variables))

    if config.get("char_cnn_filters") is None:
        _add_word_table(add, config)
    else:
        _add_character_cnn(add, config)
    for direction, stack in enumerate(("forward_stack", "backward_stack")):
        for layer in range(config.get("num_layers", 2)):
            _add_lstm(add, config, direction, stack, layer)
    return {weight.name: weight for weight in weights}


def language_model_weights(
    config: Mapping, vocabulary_size: int, tied: bool
) -> dict[str, Weight]:
    """As `weights_of`, of an `ElmoBiLM`, with its softmax.

    Args:
        config: the arguments of its `ElmoBackbone`.
        vocabulary_size: int, words that are predicted.
        tied: bool. The softmax' matrix is the table of words.
    """
    weights = {
        name: replace(
            weight, variables=lambda model, w=weight: w.variables(model.backbone)
        )
        for name, weight in weights_of(config).items()
    }
    if not tied:
        shape = (vocabulary_size, config["projection_dim"])
        weights[SOFTMAX_KERNEL] = Weight(
            SOFTMAX_KERNEL, shape, lambda model: [model.softmax.kernel]
        )
    weights[SOFTMAX_BIAS] = Weight(
        SOFTMAX_BIAS, (vocabulary_size,), lambda model: [model.softmax.bias]
    )
    return weights


def _add_word_table(add, config):
    add(
        WORD_TABLE,
        (config["vocabulary_size"], config["projection_dim"]),
        lambda backbone: [backbone.token_embedder.table],
    )


def _add_character_cnn(add, config):
    dim, projection_dim = config["character_embedding_dim"], config["projection_dim"]
    add(
        CHARACTER_TABLE,
        (NUM_CHARACTER_IDS - 1, dim),
        lambda backbone: [backbone.token_embedder.character_table],
    )
    for i, (width, number) in enumerate(config["char_cnn_filters"]):
        add(
            f"CNN/W_cnn_{i}",
            (1, width, dim, number),
            lambda backbone, i=i: [backbone.token_embedder.kernels[i]],
        )
        add(
            f"CNN/b_cnn_{i}",
            (number,),
            lambda backbone, i=i: [backbone.token_embedder.biases[i]],
        )
    filters = sum(number for _, number in config["char_cnn_filters"])
    for i in range(config.get("num_highway_layers", 0)):
        for gate in ("carry", "transform"):
            for letter, kind, shape in (
                ("W", "kernel", (filters, filters)),
                ("b", "bias", (filters,)),
            ):
                add(
                    f"CNN_high_{i}/{letter}_{gate}",
                    shape,
                    lambda backbone, i=i, attribute=f"{gate}_{kind}": [
                        getattr(backbone.token_embedder.highways[i], attribute)
                    ],
                )
    if filters != projection_dim:
        add(
            "CNN_proj/W_proj",
            (filters, projection_dim),
            lambda backbone: [backbone.token_embedder.projection_kernel],
        )
        add(
            "CNN_proj/b_proj",
            (projection_dim,),
            lambda backbone: [backbone.token_embedder.projection_bias],
        )


def _add_lstm(add, config, direction, stack, layer):
    name = cell_name(direction, layer)
    dim, projection_dim = config["hidden_dim"], config["projection_dim"]

    def lstm(backbone):
        return getattr(backbone.encoder, stack).lstms[layer]

    # The file has one matrix over [input; previous output].
    add(
        f"{name}/W_0",
        (2 * projection_dim, 4 * dim),
        lambda backbone: [lstm(backbone).kernel, lstm(backbone).recurrent_kernel],
    )
    add(f"{name}/B", (4 * dim,), lambda backbone: [lstm(backbone).bias])
    if projection_dim < dim:
        add(
            f"{name}/W_P_0",
            (dim, projection_dim),
            lambda backbone: [lstm(backbone).projection_kernel],
        )


def is_character_name(name: str) -> bool:
    """Whether a dataset belongs to the character CNN."""
    return _CHARACTER_NAMES.match(name) is not None


def published_name(name: str) -> str:
    """A weight's name as published files have it, for the other names of an LSTM's."""
    match = _LSTM.fullmatch(name)
    if match is None:
        return name
    direction, layer, part = match.groups()
    part = _PUBLISHED_PARTS.get(part, part)
    return f"{cell_name(int(direction), int(layer or 0))}/{part}"


def training_name(name: str, num_layers: int) -> str:
    """A published name as the variables of bilm-tf's training graph have it."""
    match = _LSTM.fullmatch(name)
    if match is None:
        return f"lm/{name}"
    direction, layer, part = match.groups()
    cell = f"multi_rnn_cell/cell_{layer}/" if num_layers > 1 else ""
    return f"lm/RNN_{direction}/rnn/{cell}lstm_cell/{_TRAINING_PARTS[part]}"


def options_of(shapes: Mapping[str, tuple]) -> dict[str, tuple[object, str]]:
    """The options that the datasets of a file speak for.

    Args:
        shapes: the shape of each dataset by its published name.

    Returns:
        dict from an option's key to its value and the dataset that says so. Options
        that leave no trace in the weights (clips, activation, ...) are not in it.
    """
    found = {}
    cells = {int(match[1]): name for name in shapes if (match := _CELL.match(name))}
    if cells:
        found["lstm.n_layers"] = (max(cells) + 1, cells[max(cells)])
    first = cells.get(min(cells)) if cells else None
    if first is not None and len(shapes[first]) == 2:
        rows, columns = shapes[first]
        found["lstm.dim"] = (columns // 4, first)
        found["lstm.projection_dim"] = (rows // 2, first)
    if len(shape := shapes.get(WORD_TABLE, ())) == 2:
        found["n_tokens_vocab"] = (shape[0], WORD_TABLE)
    if len(shape := shapes.get(CHARACTER_TABLE, ())) == 2:
        found["char_cnn.embedding.dim"] = (shape[1], CHARACTER_TABLE)
        found["char_cnn.filters"], found["char_cnn.n_highway"] = _cnn_of(shapes)
    return found


def _cnn_of(shapes):
    filters, i = [], 0
    while len(shape := shapes.get(f"CNN/W_cnn_{i}", ())) == 4:
        filters.append([shape[1], shape[3]])
        i += 1
    highways = 0
    while f"CNN_high_{highways}/W_carry" in shapes:
        highways += 1
    last = f"CNN/W_cnn_{max(i - 1, 0)}"
    return (filters, last), (highways, f"CNN_high_{max(highways - 1, 0)}/W_carry")


def disagreements(config: Mapping, shapes: Mapping[str, tuple], source: object):
    """A line for each option that the weights contradict.

    Args:
        config: the arguments of an `ElmoBackbone`.
        shapes: the shape of each dataset of the file by its published name.
        source: where the options come from, for the text.
    """
    options = config_to_options(dict(config))
    reads_words = "char_cnn" not in options
    if any(name.startswith("rnn/") for name in shapes):
        yield "`bidirectional`: the weights have one direction, which is not supported"
    if reads_words and WORD_TABLE not in shapes and CHARACTER_TABLE in shapes:
        yield (
            f"the model in {source} reads words but the weights have no `{WORD_TABLE}` "
            "(they read characters): `token_embeddings` must be given, or `char_cnn`"
        )
    if not reads_words and CHARACTER_TABLE not in shapes and WORD_TABLE in shapes:
        yield (
            f"`char_cnn` is in {source} but the weights have a table of words "
            f"(`{WORD_TABLE}` is {shapes[WORD_TABLE]})"
        )
    for key, (value, name) in options_of(shapes).items():
        wanted = get_option(options, key)
        if wanted is not None and wanted != value:
            told = f"is {shapes[name]}" if name in shapes else "is not there"
            yield f"`{key}` is {wanted} in {source} but the weights have {value} " + (
                f"(`{name}` {told})"
            )
    yield from _projections(options, shapes, source)


def _projections(options, shapes, source):
    """A projection is there when two sizes differ, and only then."""
    projection_dim, dim = options["lstm"]["projection_dim"], options["lstm"]["dim"]
    pairs = []
    if "char_cnn" in options and CHARACTER_TABLE in shapes:
        filters = sum(number for _, number in options["char_cnn"]["filters"])
        pairs.append(("the number of `char_cnn.filters`", filters, "CNN_proj/W_proj"))
    if any(map(_CELL.match, shapes)):
        pairs.append(("`lstm.dim`", dim, f"{cell_name(0, 0)}/W_P_0"))
    for other, size, name in pairs:
        if size == projection_dim and name in shapes:
            yield (
                f"`lstm.projection_dim` (={projection_dim}) equals {other} in "
                f"{source}, so there is no projection, but the weights have one "
                f"(`{name}` is {shapes[name]})"
            )
        if size != projection_dim and name not in shapes:
            yield (
                f"`lstm.projection_dim` (={projection_dim}) differs from {other} "
                f"(={size}) in {source}, but the weights have no projection "
                f"(`{name}` is not there)"
            )
