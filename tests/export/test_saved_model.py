"""Exported SavedModels, loaded by a process that knows TensorFlow alone."""

import json
import os
import subprocess
import sys

import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.export import export_saved_model
from tests.models_for_tests import character_backbone, word_backbone

pytest.importorskip("tensorflow")

SENTENCES = ["", "the", "the bank .", " ".join(["w"] * 60)]
ODD = [
    "caf\u00e9 \u65e5\u672c\u8a9e \U0001f600",
    "\ttwo  spaces\u3000wide ",
    "x" * 60 + " \u0939\u093f\u0928\u094d\u0926\u0940",
]
CLIENT = """
import concurrent.futures, json, sys
import numpy as np
import tensorflow as tf
path, folder, sentences = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
signatures = tf.saved_model.load(path).signatures
default = signatures["default"]
def call(batch):
    return {k: v.numpy() for k, v in default(strings=tf.constant(batch)).items()}
def same(one, other):
    return all((one[k] == other[k]).all() for k in one)
batch = call(sentences)
assert same(batch, call(sentences)), "the same call twice"
for k, v in signatures["serving_default"](strings=tf.constant(sentences)).items():
    assert (v.numpy() == batch[k]).all(), k
for alone in ([""], ["", ""]):
    empty = call(alone)
    assert empty["elmo"].shape[:2] == (len(alone), 0)
    assert (empty["default"] == 0).all()
for row, sentence in enumerate(sentences):
    single = call([sentence])
    n = int(single["sequence_len"][0])
    assert np.abs(single["elmo"][0] - batch["elmo"][row, :n]).max(initial=0) < 1e-6
    assert (batch["elmo"][row, n:] == 0).all()
    assert np.abs(single["default"][0] - batch["default"][row]).max() < 1e-6
words = [s.split() for s in sentences]
longest = max(map(len, words)) + 3
table = tf.constant([w + [""] * (longest - len(w)) for w in words])
lengths = tf.constant([len(w) for w in words])
tokens = signatures["tokens"](tokens=table, sequence_len=lengths)
assert tokens["elmo"].shape[1] == longest
for k, v in tokens.items():
    v = v.numpy()
    if v.ndim == 3:
        assert (v[:, longest - 3:] == 0).all()
        v = v[:, : longest - 3]
    assert np.abs(v - batch[k]).max() < 1e-6, k
with concurrent.futures.ThreadPoolExecutor(32) as pool:
    for one in pool.map(call, [sentences] * 64):
        assert max(np.abs(one[k] - batch[k]).max() for k in one) < 1e-6
# Invalid UTF-8 and a very long sentence: values or an error of the server's, no crash.
call([b"\\xff\\xfe bad", b"ok"])
assert call([" ".join(["word"] * 10_000)])["elmo"].shape[1] == 10_000
known = {"keras", "keras_elmo", "tensorflow_text"} & set(sys.modules)
print(json.dumps({"modules": sorted(known), "signatures": sorted(signatures)}))
np.savez(folder + "/outputs.npz", **batch)
"""


def run_client(path, folder, sentences):
    """What TensorFlow alone says of the model: a dict, and its outputs."""
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, str(path), str(folder), json.dumps(sentences)],
        # Not the checkout: nothing of this package can be imported by accident.
        cwd=folder,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": ""},
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    with np.load(f"{folder}/outputs.npz") as stored:
        outputs = {name: stored[name] for name in stored.files}
    return json.loads(done.stdout.splitlines()[-1]), outputs


@pytest.mark.parametrize("kind", ["characters", "words"])
def test_tensorflow_alone_gives_the_results_of_python(kind, tmp_path):
    if kind == "words" and keras.config.backend() != "torch":
        pytest.skip("one backend is enough for the table of words")
    backbone = (
        character_backbone(mix_weights=[0.2, 0.3, 0.5], gamma=1.5)
        if kind == "characters"
        else word_backbone()
    )
    told = export_saved_model(backbone, tmp_path / "elmo")
    assert told["version"] == 1 and told["custom_ops"] == []
    sentences = SENTENCES + ODD
    seen, outputs = run_client(tmp_path / "elmo" / "1", tmp_path, sentences)
    # Keras comes with TensorFlow, and may be there; nothing of ours is.
    assert "keras_elmo" not in seen["modules"]
    assert "tensorflow_text" not in seen["modules"]
    ids = {"characters": "character_ids", "words": "token_ids"}[kind]
    assert seen["signatures"] == sorted(["default", "tokens", ids, "serving_default"])
    tokens = [sentence.split() for sentence in sentences]
    layers = keras_elmo.embed(tokens, backbone, layers="all")
    expected = {
        "word_emb": layers[:, 0, :, : backbone.projection_dim],
        "lstm_outputs1": layers[:, 1],
        "lstm_outputs2": layers[:, 2],
        "elmo": keras_elmo.embed(tokens, backbone),
        "default": keras_elmo.embed(tokens, backbone, pooling="mean"),
        "sequence_len": np.array([len(row) for row in tokens]),
    }
    assert set(outputs) == set(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(outputs[name], value, atol=1e-5, err_msg=name)


@pytest.mark.once
def test_the_next_export_is_the_next_version(tmp_path):
    backbone = character_backbone()
    (tmp_path / "elmo" / "7").mkdir(parents=True)
    (tmp_path / "elmo" / "notes.txt").write_text("mine")
    told = export_saved_model(backbone, tmp_path / "elmo", tokenizer="unicode")
    assert told["version"] == 8
    # What TF Serving must have linked in.
    assert told["custom_ops"] == ["RegexSplitWithOffsets"]
    names = sorted(path.name for path in (tmp_path / "elmo").iterdir())
    assert names == ["7", "8", "notes.txt"]


@pytest.mark.once
@pytest.mark.parametrize(
    "model, error",
    [
        (lambda: character_backbone(keep_boundaries=True), "keep_boundaries"),
        (lambda: keras.layers.Dense(3), "`model` must be"),
    ],
)
def test_what_cannot_be_exported_leaves_nothing(model, error, tmp_path):
    with pytest.raises(ValueError, match=error):
        export_saved_model(model(), tmp_path / "elmo")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match=r"splitter|tokenizer"):
        export_saved_model(character_backbone(), tmp_path / "elmo", tokenizer="nltk")
    assert list(tmp_path.iterdir()) == []
