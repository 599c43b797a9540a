"""Spoiled ELMoForManyLangs directories: a clear error, or a model that is whole."""

import json
import pickle
import random
import zipfile

import numpy as np
import pytest

from keras_elmo.checkpoints import many_langs
from keras_elmo.checkpoints.many_langs_names import shapes_of
from tests.many_langs_files import (
    CONFIG,
    of_part,
    random_arrays,
    write_directory,
    write_tensors,
    write_zip,
)

pytestmark = pytest.mark.once

FILES = ("config.json", "sizes.json", "word.dic", "char.dic")
PICKLES = ("token_embedder.pkl", "encoder.pkl")
NUMBERS = (0, -1, 2**31, 2**63, 10**30, 0.5, None, True, "4", [4], {"a": 4}, [])


def flipped(data, rng):
    """Up to three bytes other than they were."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        data[rng.randrange(len(data))] ^= rng.randint(1, 255)
    return bytes(data)


def cut(data, rng):
    return data[: rng.randrange(len(data))]


def repeated(data, rng):
    start, end = sorted(rng.randrange(len(data)) for _ in range(2))
    return data[:end] + data[start:]


def bytes_spoiled(folder, rng):
    """Bytes flipped, files cut, pieces twice."""
    for name, number in [*((name, 8) for name in FILES), *((n, 40) for n in PICKLES)]:
        data = (folder / name).read_bytes()
        for _ in range(number):
            spoil = rng.choice((flipped, flipped, cut, repeated))
            (folder / name).write_bytes(spoil(data, rng))
            yield f"{name} {spoil.__name__}"
        (folder / name).write_bytes(data)


def options_spoiled(folder, rng):
    """Options of other types and sizes."""
    for part in ("encoder", "token_embedder"):
        for key in CONFIG[part]:
            config = json.loads(json.dumps(CONFIG))
            config[part][key] = rng.choice(NUMBERS)
            (folder / "sizes.json").write_text(json.dumps(config), "utf-8")
            yield f"{key}={config[part][key]!r}"
            del config[part][key]
            (folder / "sizes.json").write_text(json.dumps(config), "utf-8")
            yield f"{key} left out"
    (folder / "sizes.json").write_text(json.dumps(CONFIG), "utf-8")
    for name in ("\0", "x" * 5000, "/etc/passwd", "../../x", "", "\ud800", 7, ["a"]):
        text = json.dumps({"config_path": name})
        (folder / "config.json").write_text(text, "utf-8")
        yield f"config_path={name!r}"
    write_directory(folder)


def weights_spoiled(folder, rng, legacy):
    """Names lost, renamed and doubled, shapes changed, numbers that are none."""
    arrays = random_arrays(CONFIG)
    for name in arrays:
        for change in ("lost", "renamed", "shape", "number"):
            spoiled = dict(arrays)
            array = spoiled.pop(name)
            if change == "renamed":
                spoiled[name + rng.choice(("x", ".", "\0", "/a"))] = array
            elif change == "shape":
                other = (array.T, array[None], array[:-1], array[:0])
                spoiled[name] = rng.choice(other[array.ndim == 1 :])
            elif change == "number":
                array = array.copy()
                array.flat[rng.randrange(array.size)] = rng.choice((np.nan, np.inf))
                spoiled[name] = array
            part = name.partition("/")[0]
            write_tensors(folder / f"{part}.pkl", of_part(spoiled, part), legacy)
            yield f"{name} {change}"
        write_tensors(folder / f"{part}.pkl", of_part(arrays, part), legacy)


def archives_spoiled(folder, rng):
    """Archives of other members, pickles of other things."""
    path = folder / "encoder.pkl"
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name in members:
        others = {key: data for key, data in members.items() if key != name}
        write_zip(path, others)
        if not name.endswith("version"):
            yield f"{name} lost"
        write_zip(path, {**members, name: cut(members[name], rng) + b"\0"})
        if not name.endswith("version"):
            yield f"{name} changed"
    for name in ("/tmp/x", "../x", "archive/../x", "C:\\x"):
        write_zip(path, {**members, name: b""})
        yield f"a member {name}"
    write_zip(path, members, zipfile.ZIP_DEFLATED)
    yield "packed"
    for value in ([], {}, "a", {"a": 1}, {1: 2}, print, Exception("a"), {"a": {}}):
        path.write_bytes(pickle.dumps(value))
        yield f"a pickle of {value!r}"
        write_zip(path, {"archive/data.pkl": pickle.dumps(value)})
        yield f"an archive of {value!r}"
    write_tensors(path, {"a": np.zeros(1)}, shape=(2**47, 2**47))
    yield "a tensor of 2**94"
    write_directory(folder)


# What is no damage: a byte that no check covers, a file that stays as it was.
MAY_LOAD = ("flipped", "cut", "repeated", "=", "left out")


@pytest.mark.parametrize("legacy", [False, True])
def test_spoiled_files_are_refused_clearly_or_read_whole(legacy, tmp_path):
    rng = random.Random(7 + legacy)
    folder = tmp_path / "model"
    write_directory(folder, legacy=legacy)
    kinds = [bytes_spoiled(folder, rng), weights_spoiled(folder, rng, legacy)]
    if not legacy:
        kinds += [options_spoiled(folder, rng), archives_spoiled(folder, rng)]
    tried = refused = 0
    for kind in kinds:
        for what in kind:
            tried += 1
            try:
                read = many_langs.read_many_langs(folder)
            except (ValueError, FileNotFoundError) as error:
                assert str(folder) in str(error) or "sizes.json" in str(error), what
                assert len(str(error)) < 4000, what
                refused += 1
                continue
            assert any(word in what for word in MAY_LOAD), what
            assert {n: a.shape for n, a in read.weights.items()} == (
                shapes_of(read.config)
            ), what
            assert all(np.isfinite(a).all() for a in read.weights.values()), what
    # The one set of files that was never spoiled is whole.
    assert many_langs.read_many_langs(folder).config["hidden_dim"] == 6
    print(f"{tried} spoiled directories, {refused} refused")
    assert tried >= 200 and refused > tried / 2
