"""Pretrains a small biLM on Python's own documentation and looks at what it learned."""

import argparse
import os
import pathlib
import shutil
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
from corpus import corpus

import keras_elmo
from keras_elmo.training import perplexity, pretrain, unigram_perplexity

# One word, two uses.
WORD = "set"
QUERIES = ["The value is set to zero .", "Return a set of all the names ."]
NEIGHBOURS = 5
CHARACTERS = 24
# Occurrences of the word that are looked through at most.
MOST_OCCURRENCES = 400


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", required=True, help="directory of the run to make")
    parser.add_argument("--seconds", type=float, default=150.0, help="of training")
    parser.add_argument("--epochs", type=int, default=4)
    options = parser.parse_args()
    started = time.monotonic()
    print(f"keras_elmo {keras_elmo.__version__} on {keras.backend.backend()}")

    train, held_out = corpus()
    vocabulary = keras_elmo.text.build_vocabulary(train, min_count=5)
    print(
        f"Corpus: {len(train):,} sentences of Python's documentation "
        f"({sum(map(len, train)):,} words, {len(vocabulary):,} of them distinct and "
        f"frequent), {len(held_out):,} held out."
    )

    run = pathlib.Path(options.output)
    # A new run each time: the demo does not go on with the last one's.
    shutil.rmtree(run, ignore_errors=True)
    model = pretrain(
        keras_elmo.data.Corpus.from_sentences(train, vocabulary, CHARACTERS),
        run,
        "tiny",
        {
            "char_cnn_filters": [[1, 16], [2, 32], [3, 64], [4, 64]],
            "max_characters_per_token": CHARACTERS,
            "learning_rate": 4e-3,
            "epochs": options.epochs,
        },
        seconds=options.seconds,
    )

    found = perplexity(model, held_out, vocabulary)
    unigram = unigram_perplexity(train, held_out, vocabulary)
    print("\nPerplexity of the held-out text (lower is better):")
    print(f"  word frequencies alone  {unigram:8.1f}")
    print(f"  forward                 {found['forward_perplexity']:8.1f}")
    print(f"  backward                {found['backward_perplexity']:8.1f}")

    preset = run / "preset"
    backbone = keras_elmo.ElmoBackbone.from_preset(preset)
    show_neighbours(backbone, train + held_out)
    print(f"\nThe model is in {preset}. Try:")
    print(f"  keras-elmo embed FILE.txt --model {preset} --output OUT.h5")
    print(f"Done in {time.monotonic() - started:.0f} s.")
    if not max(found["forward_perplexity"], found["backward_perplexity"]) < unigram:
        sys.exit("The model is no better than word frequencies: something is wrong.")


def show_neighbours(backbone, sentences):
    """Prints the uses of a word that are most like each of two uses."""
    sentences = [tokens for tokens in sentences if WORD in tokens][:MOST_OCCURRENCES]
    queries = [query.split() for query in QUERIES]
    vectors = unit_vectors([*queries, *sentences], backbone)
    candidates = vectors[len(queries) :]
    for query, vector in zip(queries, vectors, strict=False):
        print(f"\nUses of {WORD!r} most like the one in: {' '.join(query)}")
        similarity = candidates @ vector
        for row in np.argsort(-similarity)[:NEIGHBOURS]:
            print(f"  {similarity[row]:.2f}  {context(sentences[row])}")


def unit_vectors(sentences, backbone):
    """The word's top layer in each sentence, of length 1."""
    vectors = keras_elmo.embed_iter(sentences, backbone, layers="top")
    found = np.stack(
        [v[list(s).index(WORD)] for v, s in zip(vectors, sentences, strict=True)]
    )
    # What all uses have in common tells none apart.
    found -= found.mean(axis=0)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def context(tokens, words=6):
    """The words around the word, which is set in brackets."""
    at = list(tokens).index(WORD)
    left, right = tokens[max(0, at - words) : at], tokens[at + 1 : at + 1 + words]
    return f"{' '.join(left)} [{WORD}] {' '.join(right)}"


if __name__ == "__main__":
    main()
