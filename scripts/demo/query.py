"""Asks an exported model as a model server does: with TensorFlow, and nothing else."""

import argparse
import pathlib
import sys

import numpy as np
import tensorflow as tf

# One word in two uses, twice each.
WORD = "set"
SENTENCES = [
    "The value is set to zero .",
    "The flag is set to true by default .",
    "Return a set of all the names .",
    "This method returns a new set of strings .",
]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", help="of versions, as keras-elmo export makes it")
    directory = pathlib.Path(parser.parse_args().directory)
    version = max((p for p in directory.iterdir() if p.name.isdecimal()), key=number)
    elmo = tf.saved_model.load(str(version)).signatures["default"]

    print(f"\n{version} answers, with TensorFlow {tf.__version__} alone:")
    outputs = {name: value.numpy() for name, value in elmo(texts(SENTENCES)).items()}
    for name in sorted(outputs):
        print(f"  {name:14} {outputs[name].shape}")

    vectors = np.stack(
        [outputs["elmo"][row, s.split().index(WORD)] for row, s in enumerate(SENTENCES)]
    )
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    print(f"How alike the uses of {WORD!r} are:")
    for sentence, row in zip(SENTENCES, vectors @ vectors.T, strict=True):
        print(f"  {'  '.join(f'{x:.2f}' for x in row)}  {sentence}")

    last = SENTENCES[-1]
    alone = elmo(texts([last]))["default"].numpy()[0]
    if np.abs(alone - outputs["default"][-1]).max() > 1e-5:
        sys.exit("A sentence has other vectors alone than beside others.")


def number(path):
    """The number of a version."""
    return int(path.name)


def texts(sentences):
    """Sentences as a tensor."""
    return tf.constant(sentences)


if __name__ == "__main__":
    main()
