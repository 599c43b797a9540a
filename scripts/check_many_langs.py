"""Has ELMoForManyLangs itself run models of every option, and compares the vectors.

    python scripts/check_many_langs.py PYTHON

PYTHON is one that has elmoformanylangs (0.0.4.post2, with overrides 3.1). The models
are those of `tests/checkpoints/test_many_langs_sweep.py`, with random weights, in both
of torch's file forms; `keras-elmo convert` makes a preset of each, and all layers of
`keras_elmo.embed` are compared with the program's. So is the NumPy reference that the
tests compare with. The exit status is 1 where anything differs.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import keras_elmo
from keras_elmo.checkpoints.convert import convert

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # no wheel holds the tests
from tests import many_langs_files  # noqa: E402

# golden/efml/README.md.
ATOL, RTOL = 2e-5, 1e-5


def compare(name, folder, config, arrays):
    """One line of the report, and whether it is as it should be."""
    result = json.loads((folder / "elmoformanylangs.json").read_text("utf-8"))
    if "error" in result:
        return f"{name}: {result['error']}", False
    preset = folder.with_name(f"{folder.name}_preset")
    convert(folder, preset)
    backbone = keras_elmo.ElmoBackbone.from_preset(preset)
    sentences = many_langs_files.SENTENCES
    ours = keras_elmo.embed(sentences, backbone, layers="all")
    model = many_langs_files.reference_model(config, arrays)
    worst, close = {"embed": 0.0, "NumPy reference": 0.0}, True
    largest = 0.0
    with np.load(folder / "elmoformanylangs.npz") as stored:
        for row, tokens in enumerate(sentences):
            theirs = stored[str(row)]
            theirs = theirs if theirs.ndim == 3 else theirs[None]  # `lstm`: the top
            largest = max(largest, np.abs(theirs).max(initial=0.0))
            for kind, found in (
                ("embed", ours[row, :, : len(tokens)]),
                ("NumPy reference", model.layers(tokens)),
            ):
                if found.shape != theirs.shape:
                    return f"{name}: {found.shape}, not {theirs.shape}", False
                difference = np.abs(found - theirs).max(initial=0.0)
                worst[kind] = max(worst[kind], float(difference))
                close = close and np.allclose(found, theirs, atol=ATOL, rtol=RTOL)
    told = ", ".join(f"{kind} {number:.1e}" for kind, number in worst.items())
    return f"{name}: {told} from the program (values up to {largest:.1f})", close


def main():
    parser = argparse.ArgumentParser(description="Compares with ELMoForManyLangs.")
    parser.add_argument("python", metavar="PYTHON", help="one that has the program")
    options = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as temporary:
        place = pathlib.Path(temporary)
        cases = [
            (name, place / str(number))
            for number, name in enumerate(many_langs_files.COMBINATIONS)
        ]
        written = [
            many_langs_files.write_combination(folder, name) for name, folder in cases
        ]
        sentences = place / "sentences.json"
        sentences.write_text(json.dumps(many_langs_files.SENTENCES), encoding="utf-8")
        program = str(HERE / "older_programs.py")
        subprocess.run(
            [
                *(options.python, program, "elmoformanylangs", str(sentences)),
                *(str(folder) for _, folder in cases),
            ],
            stdout=subprocess.DEVNULL,
            check=True,
        )
        for (name, folder), (config, arrays) in zip(cases, written, strict=True):
            text, right = compare(name, folder, config, arrays)
            print(text if right else f"{text}  <- WRONG", flush=True)
            failures += not right
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
