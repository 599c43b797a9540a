"""The README's table of what a model's layers know, from one folder of data.

    python scripts/bench/probe.py --data EVAL --model PRESET --output DIR \
        --word2vec corpus/*.txt.gz --text dev.txt

EVAL holds ud_english_ewt/, conll2000/, coarsewsd20/CoarseWSD-20/ and mcl_wic/, as they
are published; what is not there is passed over. `keras-elmo probe` takes the files one
by one.
"""

import argparse
from pathlib import Path

from keras_elmo.evaluation.command import probe
from keras_elmo.evaluation.linear_probe import STEPS
from keras_elmo.evaluation.report import print_tables

PAIRS = {
    "pos": ("ud_english_ewt", "en_ewt-ud-train.conllu", "en_ewt-ud-test.conllu"),
    "chunks": ("conll2000", "train.txt", "test.txt"),
    "words_in_context": ("mcl_wic", "training.en-en.data", "test.en-en.data"),
}
SENSES = ("coarsewsd20", "CoarseWSD-20")


def files_of(data):
    """What `probe` takes, of what the folder has."""
    found = {
        name: (data / folder / train, data / folder / test)
        for name, (folder, train, test) in PAIRS.items()
        if (data / folder).is_dir()
    }
    senses = data.joinpath(*SENSES)
    return {**found, "senses": senses} if senses.is_dir() else found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--word2vec", type=Path, nargs="*", default=[])
    parser.add_argument("--word-vectors", type=Path)
    parser.add_argument("--text", type=Path, nargs="*", default=[])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--limit", type=int, help="tokens, or uses of a word")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--overwrite", action="store_true")
    options = vars(parser.parse_args())
    files = files_of(options.pop("data"))
    model, output = options.pop("model"), options.pop("output")
    print_tables(probe(model, output, **files, **options))


if __name__ == "__main__":
    main()
