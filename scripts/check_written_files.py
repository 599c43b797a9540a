"""Writes biLMs in bilm-tf's forms, and has the older programs read and run them.

    python scripts/check_written_files.py --rivals allennlp=/path/to/its/python \
        flair=/path/to/its/python simple_elmo=/path/to/its/python \
        [--models elmo_tiny_en ...]

`keras-elmo convert --to bilm_hdf5` and `--to bilm_tf1` write biLMs of many options with
random weights, and the presets that are named. AllenNLP (2.10.1), flair (0.15.1, which
reads by AllenNLP 0.9.0) and simple_elmo (0.9.2, which has bilm-tf's code, reading words
and training included) each embed the same sentences in a process of their own; all
layers are compared with `keras_elmo.embed`. Where `convert` says that a program does
not read a model, it must refuse it. Of the checkpoints, bilm-tf's perplexity of a
sentence is compared, and its training goes on for a few steps from there; the result is
read back. The exit status is 1 where anything differs.

The programs carry their states from batch to batch: a model embeds one batch here.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import keras_elmo
from keras_elmo.checkpoints.bilm_tf1 import read_checkpoint
from keras_elmo.checkpoints.convert import convert
from keras_elmo.training.perplexity import perplexity

HERE = Path(__file__).resolve().parent
RIVALS = ("allennlp", "flair", "simple_elmo")
# Those of the golden files: the programs differ among themselves by 1.4e-6 there.
ATOL, RTOL = 5e-6, 1e-5
SENTENCES = [
    text.split()
    for text in (
        "The bank of the river was flooded , so the bank closed .",
        "Yes",
        "Die Straße nach Łódź führt über 東京 — naïve 🙂 !",
        f"<UNK> is {'x' * 60} and {'字' * 30} .",
        "a A <s> don't \u00e9 e\u0301",
    )
]
WORDS = ["<S>", "</S>", "<UNK>", "the", ".", "bank", "of", "river", "a", "Straße", "A"]
BASE = {
    "hidden_dim": 24,
    "projection_dim": 8,
    "char_cnn_filters": [[1, 4], [2, 8], [3, 8]],
    "character_embedding_dim": 4,
    "num_highway_layers": 2,
    "cell_clip": 3.0,
    "proj_clip": 3.0,
}
CASES: dict[str, dict] = {
    "as published": {},
    "1 layer": {"num_layers": 1},
    "3 layers, 1 highway layer, tanh": {
        "num_layers": 3,
        "num_highway_layers": 1,
        "char_cnn_activation": "tanh",
    },
    "no clips, no highway layers": {
        "cell_clip": None,
        "proj_clip": None,
        "num_highway_layers": 0,
    },
    "tight clips": {"cell_clip": 0.4, "proj_clip": 0.3},
    "no skip connections": {"use_skip_connections": False},
    "12 characters a token": {"max_characters_per_token": 12},
    "no projection of the CNN": {"projection_dim": 20},
    "no projection of the LSTMs": {"hidden_dim": 8},
    "words": {
        "char_cnn_filters": None,
        "character_embedding_dim": None,
        "num_highway_layers": 0,
        "vocabulary_size": len(WORDS),
    },
}


def random_model(changes, seed):
    """A language model of weights large enough for its clips and gates to matter."""
    backbone = keras_elmo.ElmoBackbone(**{**BASE, **changes})
    backbone.vocabulary = keras_elmo.Vocabulary(WORDS)
    tied = backbone.input_kind == "words"
    model = keras_elmo.ElmoBiLM(backbone, len(WORDS), tie_embeddings=tied)
    rng = np.random.default_rng(seed)
    for weight in [*backbone.weights, *model.softmax.weights]:
        weight.assign(rng.normal(0.0, 0.4, weight.shape))
    return model


def write_all(folder, models):
    """[(name, preset, folder of bilm_hdf5's files, of bilm_tf1's, remarks)]."""
    written = []
    for seed, (name, changes) in enumerate(CASES.items()):
        preset = folder / f"preset_{seed}"
        random_model(changes, seed).save_to_preset(preset)
        written.append((name, preset))
    written += [(model, model) for model in models]
    cases = []
    for number, (name, preset) in enumerate(written):
        hdf5, tf1 = (folder / f"{form}_{number}" for form in ("hdf5", "tf1"))
        remarks = convert(preset, hdf5, to="bilm_hdf5")["remarks"]
        convert(preset, tf1, to="bilm_tf1")
        cases.append((name, preset, hdf5, tf1, " ".join(remarks or [])))
    return cases


def run(program, python, sentences, folders):
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    subprocess.run(
        [python, str(HERE / "older_programs.py"), program, sentences, *folders],
        env=environment,
        stdout=subprocess.DEVNULL,
        check=True,
    )


def check_layers(name, program, preset, folder, remarks):
    """One line of the report, and whether it is as it should be."""
    result = json.loads((folder / f"{program}.json").read_text("utf-8"))
    refused = bool(re.search(rf"{program}.*do(es)? not read", remarks, re.IGNORECASE))
    if "error" in result or refused:
        told = result.get("error", "reads it")[:110]
        return f"{name}: {program}: {told}", refused and "error" in result
    backbone = keras_elmo.ElmoBackbone.from_preset(preset)
    ours = keras_elmo.embed(SENTENCES, backbone, layers="all")
    if program == "flair" and backbone.num_layers > 2:
        ours = ours[:, :3]
    mean = ours.mean(axis=1)
    worst, close = 0.0, True
    with np.load(folder / f"{program}.npz") as theirs:
        for key in theirs.files:
            row = int(key.removeprefix("mean "))
            tokens = len(SENTENCES[row])
            expected = theirs[key]
            found = mean[row, :tokens] if "mean" in key else ours[row, :, :tokens]
            if found.shape != expected.shape:
                return f"{name}: {program}: {expected.shape}, not {found.shape}", False
            worst = max(worst, float(np.abs(found - expected).max()))
            close = close and np.allclose(found, expected, atol=ATOL, rtol=RTOL)
    return (
        f"{name}: {program}: largest difference {worst:.1e} "
        f"(values up to {np.abs(ours).max():.1f})"
    ), close


def check_checkpoint(name, preset, folder):
    """As `check_layers`, of the perplexity and of what was trained on."""
    result = json.loads((folder / "simple_elmo.json").read_text("utf-8"))
    if "error" in result:
        return f"{name}: bilm-tf's training: {result['error']}", False
    model = keras_elmo.ElmoBiLM.from_preset(preset)
    sentence = max(SENTENCES, key=len)
    vocabulary = keras_elmo.Vocabulary.read(folder / "vocab.txt")
    ours = perplexity(model, [sentence], vocabulary)["perplexity"]
    theirs = result["perplexity"]
    before = read_checkpoint(folder, folder / "vocab.txt")
    for file in ("options.json", "vocab.txt"):
        (folder / "trained" / file).write_bytes((folder / file).read_bytes())
    after = read_checkpoint(folder / "trained", folder / "vocab.txt")
    steps = after.state.step - before.state.step
    changed = [
        key
        for key, array in after.arrays.items()
        if not np.array_equal(array, before.arrays[key])
    ]
    close = np.isclose(ours, theirs, rtol=RTOL)
    return (
        f"{name}: bilm-tf's training: perplexity {theirs:.5f}, ours {ours:.5f}; "
        f"{steps} steps on, {len(changed)} of {len(after.arrays)} weights changed"
    ), close and steps > 0 and len(changed) > 0


def main():
    parser = argparse.ArgumentParser(description="Has older programs read our files.")
    parser.add_argument("--rivals", nargs="+", required=True, metavar="PROGRAM=PYTHON")
    parser.add_argument("--models", nargs="*", default=["elmo_tiny_en"])
    options = parser.parse_args()
    rivals = dict(text.split("=", 1) for text in options.rivals)
    for name in rivals:
        if name not in RIVALS:
            parser.error(f"--rivals must be of {', '.join(RIVALS)}, not {name!r}")
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        cases = write_all(Path(folder), options.models)
        sentences = Path(folder, "sentences.json")
        sentences.write_text(json.dumps(SENTENCES), encoding="utf-8")
        for program, python in rivals.items():
            folders = [str(hdf5) for _, _, hdf5, _, _ in cases]
            if program == "simple_elmo":
                folders += [str(tf1) for _, _, _, tf1, _ in cases]
            run(program, python, str(sentences), folders)
        for name, preset, hdf5, tf1, remarks in cases:
            lines = [
                check_layers(name, program, preset, hdf5, remarks) for program in rivals
            ]
            if "simple_elmo" in rivals:
                lines.append(check_checkpoint(name, preset, tf1))
            for text, right in lines:
                print(text if right else f"{text}  <- WRONG", flush=True)
                failures += not right
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
