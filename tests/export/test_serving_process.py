"""An exported model in a process that knows TensorFlow alone, as a server does."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import keras_elmo
from keras_elmo.export import export_saved_model
from tests.models_for_tests import word_backbone

pytest.importorskip("tensorflow")

SENTENCES = ["", "the", "the bank .", " ".join(["w"] * 60)]
ODD = [
    "café 日本語 \U0001f600",
    "\ttwo  spaces\u3000wide ",
    "x" * 60 + " हिन्दी العربية",
    "a\x00b",
]
# Not UTF-8: bytes that stand for themselves, but for white space.
INVALID = [b"\xff\xfe bad", b"caf\xc3 \x80", b"ok"]

PROGRAM = """
import concurrent.futures, json, sys
# TensorFlow imports Keras where it can; nothing of it is needed, nor of ours.
for name in ("keras", "keras_elmo", "tensorflow_text", "tensorflow_hub"):
    sys.modules[name] = None
import numpy as np
import tensorflow as tf
path, folder = sys.argv[1:]
given = json.load(open(folder + "/given.json"))
sentences, invalid = given["sentences"], [bytes(b) for b in given["invalid"]]
model = tf.saved_model.load(path)
signatures = model.signatures
def call(name="default", **inputs):
    inputs = {k: tf.constant(v) for k, v in inputs.items()}
    return {k: v.numpy() for k, v in signatures[name](**inputs).items()}
def close(one, other):
    return all(np.abs(one[k] - other[k]).max(initial=0) < 1e-6 for k in other)
batch = call(strings=sentences)
again = call(strings=sentences)
assert all(v.tobytes() == again[k].tobytes() for k, v in batch.items()), "twice"
# The ways in that google/elmo had: by position, and the object itself.
texts = tf.constant(sentences)
assert (signatures["default"](texts)["elmo"].numpy() == batch["elmo"]).all()
assert (signatures["serving_default"](texts)["elmo"].numpy() == batch["elmo"]).all()
assert (model(texts).numpy() == batch["default"]).all()
for alone in ([""], ["", ""]):
    empty = call(strings=alone)
    assert empty["elmo"].shape[:2] == (len(alone), 0)
    assert (empty["default"] == 0).all() and (empty["sequence_len"] == 0).all()
for row, sentence in enumerate(sentences):
    single = call(strings=[sentence])
    n = int(single["sequence_len"][0])
    assert n == batch["sequence_len"][row]
    for k, v in single.items():
        there = batch[k][row, :n] if v.ndim == 3 else batch[k][row]
        assert np.abs(v[0] - there).max(initial=0) < 1e-6, (k, sentence)
        if v.ndim == 3:
            assert (batch[k][row, n:] == 0).all()
words = [s.split() for s in sentences]
longest = max(map(len, words))
def table(padding, width):
    return [w + [padding] * (width - len(w)) for w in words]
lengths = [len(w) for w in words]
tokens = call("tokens", tokens=table("", longest + 3), sequence_len=lengths)
assert tokens["elmo"].shape[1] == longest + 3
for k, v in tokens.items():
    assert not (v.ndim == 3 and v[:, longest:].any()), k
    v = v[:, :longest] if v.ndim == 3 else v
    assert np.abs(v - batch[k]).max() < 1e-6, k
# A server that forms batches fills up with the first token of each: only lengths count.
filled = [w + [w[0] if w else ""] * (longest - len(w)) for w in words]
assert close(call("tokens", tokens=filled, sequence_len=lengths), batch)
# Lengths that cannot be are taken for the nearest that can.
bent = call("tokens", tokens=[["a", "b"]] * 2, sequence_len=[-3, 99])
assert bent["sequence_len"].tolist() == [0, 2]
name = next(n for n in signatures if n.endswith("_ids"))
ids = np.load(folder + "/ids.npy")
assert close(call(name, **{name: ids}), batch)
if name == "character_ids":
    # Filled up with the first number, as the server does it: no more than padding.
    for row, n in enumerate(lengths):
        if n:
            ids[row, n:] = ids[row, 0, 0]
    assert close(call(name, **{name: ids}), batch)
def one(number):
    n = number % len(sentences)
    picked = sentences[n:] + sentences[:n]
    return n, call(strings=picked)
with concurrent.futures.ThreadPoolExecutor(32) as pool:
    for n, found in pool.map(one, range(96)):
        for k, v in batch.items():
            there = np.concatenate([v[n:], v[:n]])
            assert np.abs(found[k] - there).max() < 1e-6, k
long = call(strings=[" ".join(given["long"])])
bad = call(strings=invalid)
for wrong in (["a", ["b"]], 3.0, [[["a"]]]):
    try:
        call("default", strings=wrong)
        raise SystemExit(f"{wrong} was taken")
    except (ValueError, TypeError, tf.errors.InvalidArgumentError) as error:
        assert str(error)
np.savez(folder + "/outputs.npz", **batch)
np.savez(folder + "/long.npz", **long)
np.savez(folder + "/bad.npz", **bad)
print(json.dumps(sorted(signatures)))
"""


def alone(program, *arguments, folder):
    """A program's output, from a process where nothing of this checkout is found."""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": ""},
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def outputs_of(path):
    with np.load(path) as stored:
        return {name: stored[name] for name in stored.files}


def expected(tokens, backbone):
    layers = keras_elmo.embed(tokens, backbone, layers="all")
    return {
        "word_emb": layers[:, 0, :, : backbone.projection_dim],
        "lstm_outputs1": layers[:, 1],
        "lstm_outputs2": layers[:, 2],
        "elmo": keras_elmo.embed(tokens, backbone),
        "default": keras_elmo.embed(tokens, backbone, pooling="mean"),
        "sequence_len": np.array([len(row) for row in tokens]),
    }


def check(directory, backbone, folder):
    """What the process gets is what Python gets."""
    sentences = SENTENCES + ODD
    tokens = [sentence.split() for sentence in sentences]
    long = [f"word{n % 700}" for n in range(10_000)]
    preprocessor = keras_elmo.ElmoPreprocessor.of(backbone)
    np.save(folder / "ids.npy", preprocessor(tokens))
    given = {
        "sentences": sentences,
        "long": long,
        "invalid": [list(text) for text in INVALID],
    }
    (folder / "given.json").write_text(json.dumps(given))
    told = alone(PROGRAM, directory, folder, folder=folder)
    found = outputs_of(folder / "outputs.npz")
    wanted = expected(tokens, backbone)
    assert set(found) == set(wanted)
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, atol=1e-5, err_msg=name)
    found = outputs_of(folder / "long.npz")
    for name, value in expected([long], backbone).items():
        np.testing.assert_allclose(found[name], value, atol=1e-5, err_msg=name)
    return json.loads(told.splitlines()[-1])


def test_tensorflow_alone_gives_the_results_of_python(exported, tmp_path):
    backbone, directory, told = exported
    assert told["custom_ops"] == []
    signatures = check(directory / "1", backbone, tmp_path)
    names = ["character_ids", "default", "serving_default", "tokens"]
    assert signatures == names
    # Each invalid byte is a character of its own, as for Python's bytes.
    found = outputs_of(tmp_path / "bad.npz")
    assert found["sequence_len"].tolist() == [2, 2, 1]
    for row, text in enumerate(INVALID):
        ids = byte_ids(text.split(), backbone.max_characters_per_token)
        value = np.asarray(layers_of(backbone, ids)[1])
        there = found["lstm_outputs1"][row, : len(text.split())]
        np.testing.assert_allclose(there, value[0], atol=1e-5)


def byte_ids(tokens, width):
    """Character ids of tokens that are bytes, from the definition."""
    rows = [[259, *[b + 1 for b in token[: width - 2]], 260] for token in tokens]
    return np.array([[row + [261] * (width - len(row)) for row in rows]], "int32")


def layers_of(backbone, ids):
    from keras import ops

    return [ops.convert_to_numpy(x) for x in backbone(ops.convert_to_tensor(ids))]


@pytest.mark.once
def test_a_model_of_words(tmp_path):
    backbone = word_backbone()
    told = export_saved_model(backbone, tmp_path / "elmo")
    assert told["version"] == 1 and told["custom_ops"] == []
    signatures = check(tmp_path / "elmo" / "1", backbone, tmp_path)
    assert signatures == ["default", "serving_default", "token_ids", "tokens"]


def saved_model_cli(*arguments):
    command = pathlib.Path(sys.executable).with_name("saved_model_cli")
    done = subprocess.run(
        [command, *map(str, arguments)],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.mark.once
def test_saved_model_cli_shows_and_runs(exported, tmp_path):
    backbone, directory, _ = exported
    path = directory / "1"
    shown = saved_model_cli(
        *("show", "--dir", path, "--tag_set", "serve", "--signature_def", "default")
    )
    assert "inputs['strings'] tensor_info:\n      dtype: DT_STRING" in shown
    for name in expected([["a"]], backbone):
        assert f"outputs['{name}'] tensor_info:" in shown
    saved_model_cli(
        *("run", "--dir", path, "--tag_set", "serve", "--signature_def", "default"),
        *("--input_exprs", 'strings=["the bank .", ""]', "--outdir", tmp_path),
    )
    wanted = expected([["the", "bank", "."], []], backbone)
    for name, value in wanted.items():
        found = np.load(tmp_path / f"{name}.npy")
        np.testing.assert_allclose(found, value, atol=1e-5, err_msg=name)


HUB = """
import sys, warnings
warnings.simplefilter("ignore")  # tensorflow_hub's own
import numpy as np
import tensorflow as tf
try:
    import tensorflow_hub as hub
except Exception as error:
    print("cannot run:", repr(error))
    raise SystemExit
path = sys.argv[1]
texts = tf.constant(["the bank .", "", "a"])
tokens = {"tokens": tf.constant([["a", "b"]]), "sequence_len": tf.constant([2])}
module = hub.load(path)
elmo = module.signatures["default"](texts)["elmo"].numpy()
pairs = module.signatures["tokens"](**tokens)["elmo"].numpy()
def same(one, other):
    return np.abs(one.numpy() - other).max() < 1e-6
mean = module.signatures["default"](texts)["default"].numpy()
assert same(hub.KerasLayer(path)(texts), mean)
layer = hub.KerasLayer(path, signature="default", output_key="elmo")
assert same(layer(texts), elmo)
layer = hub.KerasLayer(path, signature="default", signature_outputs_as_dict=True)
assert same(layer(texts)["elmo"], elmo)
layer = hub.KerasLayer(path, signature="tokens", output_key="elmo")
assert same(layer(tokens), pairs)
print("runs")
"""


@pytest.mark.once
def test_code_for_tensorflow_hub_runs_with_the_new_path(exported, tmp_path):
    pytest.importorskip("pkg_resources", reason="tensorflow_hub needs pkg_resources")
    told = alone(HUB, exported[1] / "1", folder=tmp_path).splitlines()[-1]
    if told != "runs":
        pytest.skip(f"tensorflow_hub {told}")
