"""The names of ELMoForManyLangs' weights, and the variables that hold them.

Its LSTMs order their gates i, f, g, o and add nothing to the forget gate's input; ours
order them i, g, f, o and add 1. Its highways gate what they keep, ours what they let
in: the gate's weights change their sign.

Reference: HIT-SCIR/ELMoForManyLangs `modules/`; PyTorch `torch.nn.LSTM`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

TOKEN_EMBEDDER, ENCODER = "token_embedder", "encoder"
WORD_TABLE = f"{TOKEN_EMBEDDER}/word_emb_layer.embedding.weight"
CHARACTER_TABLE = f"{TOKEN_EMBEDDER}/char_emb_layer.embedding.weight"


@dataclass(frozen=True)
class Weight:
    """Arrays of a model's files that make up variables of ours.

    Args:
        shapes: the arrays' names, `FILE/NAME`, and shapes.
        assign: function of a backbone and the arrays, in the order of `shapes`.
    """

    shapes: Mapping[str, tuple[int, ...]]
    assign: Callable[..., None]


def weights_of(config: Mapping[str, Any]) -> list[Weight]:
    """Every weight of a model, from the arguments of its `ManyLangsBackbone`."""
    weights = [*_token_embedder(config)]
    if config.get("encoder_kind", "elmo") == "lstm":
        weights += _joined_encoder(config)
    else:
        weights += _bilm_encoder(config)
    return weights


def shapes_of(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Every array's shape by `FILE/NAME`."""
    return {
        name: shape
        for weight in weights_of(config)
        for name, shape in weight.shapes.items()
    }


def count_weights(config: Mapping[str, Any]) -> int:
    """How many numbers a `ManyLangsBackbone` has: of torch's two biases it has one."""
    return sum(
        prod(shape)
        for name, shape in shapes_of(config).items()
        if not name.startswith(f"{ENCODER}/encoder.bias_hh")
    )


def _token_embedder(config):
    width = 0
    if config.get("vocabulary_size") is not None:
        width += config["word_embedding_dim"]
        yield Weight(
            {WORD_TABLE: (config["vocabulary_size"], config["word_embedding_dim"])},
            lambda backbone, table: backbone.token_embedder.word_embedding.table.assign(
                table
            ),
        )
    if config.get("num_characters") is not None:
        yield from _character_cnn(config)
        width += sum(number for _, number in config["char_cnn_filters"])

    def assign(backbone, kernel, bias):
        backbone.token_embedder.projection_kernel.assign(kernel.T)
        backbone.token_embedder.projection_bias.assign(bias)

    dim = config["projection_dim"]
    yield _linear(f"{TOKEN_EMBEDDER}/projection", dim, width, assign)


def _character_cnn(config):
    dim = config["character_embedding_dim"]
    yield Weight(
        {CHARACTER_TABLE: (config["num_characters"], dim)},
        lambda backbone, table: _cnn(backbone).character_table.assign(table),
    )
    for i, (width, number) in enumerate(config["char_cnn_filters"]):

        def assign(backbone, kernel, bias, i=i):
            _cnn(backbone).kernels[i].assign(kernel.transpose(2, 1, 0))
            _cnn(backbone).biases[i].assign(bias)

        name = f"{TOKEN_EMBEDDER}/convolutions.{i}"
        yield Weight(
            {f"{name}.weight": (number, dim, width), f"{name}.bias": (number,)}, assign
        )
    number = sum(number for _, number in config["char_cnn_filters"])
    for i in range(config.get("num_highway_layers", 0)):

        def assign_highway(backbone, kernel, bias, i=i):
            highway = _cnn(backbone).highways[i]
            highway.transform_kernel.assign(kernel[:number].T)
            highway.transform_bias.assign(bias[:number])
            highway.carry_kernel.assign(-kernel[number:].T)
            highway.carry_bias.assign(-bias[number:])

        name = f"{TOKEN_EMBEDDER}/highways._layers.{i}"
        yield _linear(name, 2 * number, number, assign_highway)


def _bilm_encoder(config):
    cells, dim = config["hidden_dim"], config["projection_dim"]
    for i in range(config.get("num_layers", 2)):
        for direction in ("forward", "backward"):

            def assign(
                backbone, kernel, recurrent, bias, projection, i=i, direction=direction
            ):
                lstm = getattr(backbone.encoder, f"{direction}_stack").lstms[i]
                _assign_lstm(lstm, kernel, recurrent, bias)
                lstm.projection_kernel.assign(projection.T)

            name = f"{ENCODER}/{direction}_layer_{i}"
            yield Weight(
                {
                    f"{name}.input_linearity.weight": (4 * cells, dim),
                    f"{name}.state_linearity.weight": (4 * cells, dim),
                    f"{name}.state_linearity.bias": (4 * cells,),
                    f"{name}.state_projection.weight": (dim, cells),
                },
                assign,
            )


def _joined_encoder(config):
    cells, dim = config["hidden_dim"], config["projection_dim"]
    for i in range(config.get("num_layers", 2)):
        for direction, suffix in (("forward", ""), ("backward", "_reverse")):

            def assign(
                backbone, kernel, recurrent, bias, other, i=i, direction=direction
            ):
                lstm = getattr(backbone.encoder, f"{direction}_lstms")[i]
                _assign_lstm(lstm, kernel, recurrent, bias + other)

            name = f"{ENCODER}/encoder.{{}}_l{i}{suffix}"
            yield Weight(
                {
                    name.format("weight_ih"): (4 * cells, 2 * cells if i else dim),
                    name.format("weight_hh"): (4 * cells, cells),
                    name.format("bias_ih"): (4 * cells,),
                    name.format("bias_hh"): (4 * cells,),
                },
                assign,
            )

    def assign_projection(backbone, kernel, bias):
        backbone.encoder.projection_kernel.assign(kernel.T)
        backbone.encoder.projection_bias.assign(bias)

    yield _linear(f"{ENCODER}/projection", dim, cells, assign_projection)


def _linear(name, rows, columns, assign):
    """Torch's `Linear`."""
    return Weight({f"{name}.weight": (rows, columns), f"{name}.bias": (rows,)}, assign)


def _cnn(backbone):
    return backbone.token_embedder.character_cnn


def _assign_lstm(lstm, kernel, recurrent, bias):
    """Sets a `ProjectedLSTM` from arrays whose rows are the gates i, f, g, o."""
    lstm.kernel.assign(_gates(kernel).T)
    lstm.recurrent_kernel.assign(_gates(recurrent).T)
    i, g, f, o = np.split(_gates(bias), 4)
    lstm.bias.assign(np.concatenate([i, g, f - np.float32(1), o]))


def _gates(rows):
    i, f, g, o = np.split(rows, 4)
    return np.concatenate([i, g, f, o])
