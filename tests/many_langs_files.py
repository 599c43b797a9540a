"""ELMoForManyLangs directories of random numbers, and torch's pickles without torch."""

import copy
import json
import struct
import zipfile

import numpy as np

from tests import reference

CONFIG = {
    "encoder": {
        "name": "elmo",
        "projection_dim": 4,
        "cell_clip": 3,
        "proj_clip": 3,
        "dim": 6,
        "n_layers": 2,
    },
    "token_embedder": {
        "name": "cnn",
        "activation": "relu",
        "filters": [[1, 3], [2, 4], [3, 2]],
        "n_highway": 1,
        "word_dim": 5,
        "char_dim": 3,
        "max_characters_per_token": 9,
    },
    "dropout": 0.1,
}
SPECIALS = ("<oov>", "<pad>", "<bos>", "<eos>", "<bow>", "<eow>")
CHARACTERS = (*"thecasndog", "é", "字", *SPECIALS)
WORDS = ("<oov>", "<bos>", "<eos>", "<pad>", "the", "cat", "sat")

# Models of every value of every option: other sizes of `encoder`, of `token_embedder`.
_WORDS, _CHARACTERS, _LSTM = {"char_dim": 0}, {"word_dim": 0}, {"name": "lstm"}
COMBINATIONS = {
    "one layer, no highway": ({"n_layers": 1}, {"n_highway": 0}),
    "three layers, clipped, tanh": (
        {"n_layers": 3, "cell_clip": 0.4, "proj_clip": 0.2},
        {"activation": "tanh", "n_highway": 2},
    ),
    "no clips, filters out of order": (
        {"cell_clip": 0, "proj_clip": None},
        {"filters": [[3, 2], [1, 5]], **_CHARACTERS},
    ),
    "cells clipped alone, tanh": (
        {"cell_clip": 0.3, "proj_clip": 0, "n_layers": 3},
        {"activation": "tanh", "n_highway": 0, **_CHARACTERS},
    ),
    "projections clipped alone": (
        {"cell_clip": None, "proj_clip": 0.2},
        {"n_highway": 2},
    ),
    "as many filters as dimensions": (
        {"projection_dim": 5},
        {"filters": [[2, 5]], "n_highway": 2, **_CHARACTERS},
    ),
    "projection as wide as the cells": ({"projection_dim": 6, "proj_clip": 0.1}, {}),
    "projection wider than the cells": (
        {"projection_dim": 8, "n_layers": 1},
        {"activation": "tanh", **_CHARACTERS},
    ),
    "words alone, one layer": ({"n_layers": 1}, _WORDS),
    "words alone, three layers": ({"n_layers": 3, "cell_clip": 0.3}, _WORDS),
    "words as short as the widest filter": (
        {},
        {"max_characters_per_token": 7, "filters": [[1, 3], [7, 4]]},
    ),
    "lstm, one layer of words": ({"n_layers": 1, **_LSTM}, _WORDS),
    "lstm, two layers of characters": (
        _LSTM,
        {"n_highway": 0, "activation": "tanh", **_CHARACTERS},
    ),
    "lstm, three layers": (
        {"n_layers": 3, **_LSTM},
        {"activation": "tanh", "n_highway": 2},
    ),
    "lstm, as many filters as dimensions": (
        {"projection_dim": 9, "n_layers": 1, **_LSTM},
        {},
    ),
}
SENTENCES = [
    ["the", "cat", "sat", "on", "thecatsatonthedog", "字字é", "The"],
    ["<bos>", "", "<pad>"],
    [],
    ["dog"],
]


def changed_config(encoder=None, token_embedder=None):
    """`CONFIG` with other values of some keys."""
    config = copy.deepcopy(CONFIG)
    config["encoder"].update(encoder or {})
    config["token_embedder"].update(token_embedder or {})
    return config


def shapes_of(config):
    """Each array's shape, as the format describes them."""
    encoder, embedder = config["encoder"], config["token_embedder"]
    cells, dim = encoder["dim"], encoder["projection_dim"]
    shapes, width = {}, 0
    if embedder["word_dim"]:
        width += embedder["word_dim"]
        shapes["token_embedder/word_emb_layer.embedding.weight"] = (
            len(WORDS),
            embedder["word_dim"],
        )
    if embedder["char_dim"]:
        shapes["token_embedder/char_emb_layer.embedding.weight"] = (
            len(CHARACTERS),
            embedder["char_dim"],
        )
        for i, (size, number) in enumerate(embedder["filters"]):
            name = f"token_embedder/convolutions.{i}"
            shapes[f"{name}.weight"] = (number, embedder["char_dim"], size)
            shapes[f"{name}.bias"] = (number,)
        number = sum(number for _, number in embedder["filters"])
        width += number
        for i in range(embedder["n_highway"]):
            name = f"token_embedder/highways._layers.{i}"
            shapes[f"{name}.weight"], shapes[f"{name}.bias"] = (
                (2 * number, number),
                (2 * number,),
            )
    shapes["token_embedder/projection.weight"] = (dim, width)
    shapes["token_embedder/projection.bias"] = (dim,)
    for i in range(encoder["n_layers"]):
        if encoder["name"] == "lstm":
            for suffix in ("", "_reverse"):
                name = f"encoder/encoder.{{}}_l{i}{suffix}"
                shapes[name.format("weight_ih")] = 4 * cells, 2 * cells if i else dim
                shapes[name.format("weight_hh")] = 4 * cells, cells
                shapes[name.format("bias_ih")] = (4 * cells,)
                shapes[name.format("bias_hh")] = (4 * cells,)
            continue
        for direction in ("forward", "backward"):
            name = f"encoder/{direction}_layer_{i}"
            shapes[f"{name}.input_linearity.weight"] = 4 * cells, dim
            shapes[f"{name}.state_linearity.weight"] = 4 * cells, dim
            shapes[f"{name}.state_linearity.bias"] = (4 * cells,)
            shapes[f"{name}.state_projection.weight"] = dim, cells
    if encoder["name"] == "lstm":
        shapes["encoder/projection.weight"] = dim, cells
        shapes["encoder/projection.bias"] = (dim,)
    return shapes


def random_arrays(config, seed=0):
    """Random float32 arrays by name."""
    rng = np.random.default_rng(seed)
    return {
        name: rng.normal(0, 0.6, shape).astype("float32")
        for name, shape in shapes_of(config).items()
    }


def write_directory(folder, config=CONFIG, arrays=None, legacy=False):
    """Writes a model's directory; its arrays."""
    arrays = random_arrays(config) if arrays is None else arrays
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text('{"config_path": "sizes.json"}', "utf-8")
    (folder / "sizes.json").write_text(json.dumps(config), "utf-8")
    for name, entries in (("word", WORDS), ("char", CHARACTERS)):
        lines = (f"{entry}\t{row}\n" for row, entry in enumerate(entries))
        (folder / f"{name}.dic").write_text("".join(lines), "utf-8", newline="")
    for part in ("token_embedder", "encoder"):
        write_tensors(folder / f"{part}.pkl", of_part(arrays, part), legacy)
    return arrays


def write_combination(folder, name):
    """Writes the directory of one of `COMBINATIONS`; its configuration and arrays."""
    config = changed_config(*COMBINATIONS[name])
    arrays = random_arrays(config, seed=len(name))
    # Half of them in the older of torch's forms.
    write_directory(folder, config, arrays, legacy=len(name) % 2 == 0)
    return config, arrays


def reference_model(config, arrays):
    """The NumPy model of a directory that `write_directory` wrote."""
    embedder = config["token_embedder"]
    return reference.ManyLangsModel(
        config,
        arrays,
        rows(WORDS) if embedder["word_dim"] else None,
        rows(CHARACTERS) if embedder["char_dim"] else None,
    )


def of_part(arrays, part):
    """The arrays of one of the two pickles, under their names there."""
    return {
        name.partition("/")[2]: array
        for name, array in arrays.items()
        if name.startswith(f"{part}/")
    }


def rows(entries):
    """A dictionary as the reference takes it."""
    return {entry: row for row, entry in enumerate(entries)}


def write_tensors(path, arrays, legacy=False, **changes):
    """Writes a state dict of contiguous float32 arrays in one of torch's two forms."""
    pickled = pickled_state(arrays, legacy, **changes)
    storages = [np.ascontiguousarray(a, "<f4").tobytes() for a in arrays.values()]
    if not legacy:
        members = {"archive/data.pkl": pickled, "archive/version": b"3\n"}
        for i, data in enumerate(storages):
            members[f"archive/data/{i}"] = data
        return write_zip(path, members)
    keys = b"".join(_text(str(i)) for i in range(len(storages)))
    system = b"}(" + _text("protocol_version") + _integer(1001)
    system += _text("little_endian") + b"\x88u"
    content = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
    content += b"\x80\x02" + _integer(1001) + b"." + b"\x80\x02" + system + b"."
    content += pickled + b"\x80\x02](" + keys + b"e."
    for data in storages:
        content += struct.pack("<q", len(data) // 4) + data
    path.write_bytes(content)


def write_zip(path, members, compression=zipfile.ZIP_STORED):
    """Writes an archive of named bytes."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def pickled_state(
    arrays, legacy=False, shape=None, strides=None, size=None, kind="FloatStorage"
):
    """The pickle of a state dict; the options say something else than the arrays."""
    content = b"\x80\x02ccollections\nOrderedDict\n)R("
    for i, (name, array) in enumerate(arrays.items()):
        array = np.asarray(array)
        steps = np.cumprod([1, *array.shape[:0:-1]])[::-1] if array.ndim else []
        content += _text(name) + b"ctorch._utils\n_rebuild_tensor_v2\n(("
        content += _text("storage") + f"ctorch\n{kind}\n".encode()
        content += _text(str(i)) + _text("cpu")
        content += _integer(array.size if size is None else size)
        content += (b"N" if legacy else b"") + b"tQ" + _integer(0)
        content += _tuple(array.shape if shape is None else shape)
        content += _tuple(steps if strides is None else strides)
        content += b"\x89ccollections\nOrderedDict\n)RtR"
    return content + b"u."


def _text(text):
    data = text.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def _integer(number):
    data = int(number).to_bytes(9, "little", signed=True)
    return b"\x8a\x09" + data


def _tuple(numbers):
    return b"(" + b"".join(_integer(number) for number in numbers) + b"t"
