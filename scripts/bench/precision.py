"""What rounded LSTM weights cost: cosines, and the loss of a task, by dtype.

    python scripts/bench/precision.py --model PRESET --data EVAL

A linear probe for parts of speech (UD English EWT) learns from the layers' learned mix
in float32, and is scored on vectors whose LSTMs' matrices were rounded. Cosines are of
each test token's layers above the token vectors to those in float32. A table on stdout,
made on the backend that runs.
"""

import argparse
from pathlib import Path

import numpy as np

import keras_elmo
from keras_elmo.evaluation import LinearProbe, ProbeExamples
from keras_elmo.evaluation.cosines import unit
from keras_elmo.inference import DTYPES
from keras_elmo.tasks.kinds import TASKS
from keras_elmo.tasks.settings import TaskSettings

FILES = {part: f"en_ewt-ud-{part}.conllu" for part in ("train", "test")}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=2000, help="sentences of a part")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    backbone = keras_elmo.ElmoBackbone.from_preset(options.model)
    read, folder = TASKS["token-classifier"].read, options.data / "ud_english_ewt"
    sentences, tags = {}, {}
    for part, name in FILES.items():
        examples = read(folder / name, TaskSettings())
        sentences[part] = examples.texts["tokens"][: options.limit]
        tags[part] = [t for row in examples.gold[: options.limit] for t in row]
    classes = {tag: i for i, tag in enumerate(sorted(set(tags["train"])))}

    def vectors(part, dtype="float32"):
        """float32, (tokens, layers, dim)."""
        found = keras_elmo.embed_iter(
            sentences[part], backbone, layers="all", dtype=dtype
        )
        return np.concatenate(list(found), axis=1).swapaxes(0, 1)

    targets = {
        part: np.array([classes.get(tag, -1) for tag in rows])
        for part, rows in tags.items()
    }
    probe = LinearProbe(ProbeExamples(vectors("train"), targets["train"]), "mix")
    exact = vectors("test")
    probe.run(ProbeExamples(exact, targets["test"]), options.seed)
    print(f"{len(targets['test']):,} test tokens")
    print("| matrices | lowest cosine | mean cosine | loss | accuracy |")
    print("|---|---|---|---|---|")
    for dtype in DTYPES:
        rounded = vectors("test", dtype)
        cosines = np.sum(unit(exact) * unit(rounded), axis=-1)[:, 1:]
        found = probe.score(ProbeExamples(rounded, targets["test"]))
        print(
            f"| {dtype} | {cosines.min():.6f} | {cosines.mean():.6f} "
            f"| {found.loss:.5f} | {found.accuracy:.2%} |"
        )


if __name__ == "__main__":
    main()
