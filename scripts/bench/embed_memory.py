"""Whether `keras-elmo embed` holds more memory for more sentences: JSON on stdout.

The peak of the whole command, for a text and for one ten times as long, in each form of
output and with two workers. The model is a tiny one with random weights: what it holds
itself would hide what grows. Each command is a process of its own.

    python scripts/bench/embed_memory.py
    KERAS_BACKEND=jax python scripts/bench/embed_memory.py --cases parquet h5
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from prepare import make_words

# What a case is called -> how the output ends, and more options.
CASES = {
    "h5": (".h5", ()),
    "npz": (".npz", ()),
    "parquet": (".parquet", ()),
    "h5, one vector a sentence": (".h5", ("--pooling", "mean")),
    "parquet, 2 workers": (".parquet", ("--workers", "2")),
}
# The whole may grow by this much.
ALLOWED = 0.10

MAKE_MODEL = """
import sys
import keras_elmo
keras_elmo.ElmoBackbone(
    hidden_dim=16, projection_dim=8, char_cnn_filters=[[1, 8], [2, 8], [3, 16]],
    character_embedding_dim=4, max_characters_per_token=50, num_highway_layers=1,
    cell_clip=3.0, proj_clip=3.0,
).save_to_preset(sys.argv[1])
"""


def write_text(path, number, types, rng):
    """Sentences of 5 to 37 words, drawn as 1 / (rank + 2.7)."""
    words = np.array([word.decode() for word in make_words(types, rng)], object)
    odds = np.cumsum(1 / (np.arange(types) + 2.7))
    odds /= odds[-1]
    with open(path, "w", encoding="utf-8") as file:
        for length in rng.integers(5, 38, number).tolist():
            drawn = words[np.searchsorted(odds, rng.random(length))]
            file.write(" ".join(drawn) + "\n")


def measure(command):
    """Seconds, and the peak in MB of the process and of the largest one it started.

    A process starts with the peak of the one that starts it: this one must stay small.
    """
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {process.returncode}")
    unit = 1 if platform.system() == "Darwin" else 1024
    return time.perf_counter() - start, usage.ru_maxrss * unit / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, nargs=2, default=[10_000, 100_000])
    parser.add_argument("--types", type=int, default=50_000)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    arguments = parser.parse_args()
    result = {"sentences": arguments.sentences, "allowed_growth": ALLOWED, "cases": {}}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rng = np.random.default_rng(0)
        texts = [folder / f"{number}.txt" for number in arguments.sentences]
        for text, number in zip(texts, arguments.sentences, strict=True):
            write_text(text, number, arguments.types, rng)
        preset = folder / "preset"
        subprocess.run([sys.executable, "-c", MAKE_MODEL, preset], check=True)
        for case in arguments.cases:
            suffix, options = CASES[case]
            peaks, seconds = [], []
            for text in texts:
                output = folder / f"out{suffix}"
                command = [
                    *(sys.executable, "-m", "keras_elmo", "embed", text),
                    *("--model", preset, "--output", output),
                    *("--batch-size", arguments.batch_size, *options),
                ]
                took, peak = measure(list(map(str, command)))
                output.unlink()
                peaks.append(round(peak))
                seconds.append(round(took, 1))
            growth = peaks[1] / peaks[0] - 1
            result["cases"][case] = {
                "peak_mb": peaks,
                "growth": round(growth, 3),
                "within": growth <= ALLOWED,
                "seconds": seconds,
            }
            print(f"{case}: {result['cases'][case]}", file=sys.stderr)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
