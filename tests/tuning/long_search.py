"""A program: a search of short trials of a biLM or a task, and the memory after each.

    python -m tests.tuning.long_search DIRECTORY TRIALS [bilm|token-classifier]

Run by test_long_searches.py in processes of their own.
"""

import json
import sys
from pathlib import Path

import numpy as np

import keras_elmo
from keras_elmo.data import Corpus
from keras_elmo.tasks.kinds import Examples
from keras_elmo.tuning import BiLMHyperModel, ElmoTaskHyperModel, Search
from tests.models_for_tests import character_backbone
from tests.tasks import task_files
from tests.training.conftest import SETTINGS, sentences

FIXED = ("projection_dim", "num_negatives", "character_embedding_dim", "warmup_steps")
BILM_RANGES = {
    "hidden_dim": [8, 12, 16],
    "char_cnn_filters": [[[1, 4], [2, 6]], [[1, 4], [2, 6], [3, 6]]],
    "batch_size": [4, 8],
    "unroll": [5, 10],
}
TASK_RANGES = {"rnn_dim": [4, 8, 12], "batch_size": [8, 16]}


def bilm():
    """Trials of about thirty steps."""
    text = sentences(30)
    corpus = Corpus.from_sentences(text, keras_elmo.text.build_vocabulary(text), 12)
    held_out = Corpus.from_sentences(sentences(8, 1, shortest=9), corpus.vocabulary, 12)
    fixed = {name: SETTINGS[name] for name in FIXED}
    fixed |= {"max_characters_per_token": 12, "epochs": 1, "num_layers": 1}
    return BiLMHyperModel(
        corpus, held_out, "tiny", fixed, BILM_RANGES, list(BILM_RANGES), looks=2
    )


def token_classifier():
    """Trials of two epochs, with the biLM held still and trained along."""

    def examples(number, seed):
        found = task_files.sentences(number, seed)
        gold = [[task_files.tag(token) for token in row] for row in found]
        return Examples({"tokens": found}, gold)

    return ElmoTaskHyperModel(
        "token-classifier",
        examples(24, 0),
        examples(8, 1),
        character_backbone(),
        {"epochs": 1, "frozen_epochs": 0},
        TASK_RANGES,
    )


def resident():
    """Megabytes of this process' memory that are in use."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise OSError("/proc/self/status has no VmRSS")


def main():
    directory, trials, kind = sys.argv[1:]
    hypermodel = {"bilm": bilm, "token-classifier": token_classifier}[kind]()
    found = []

    def log(line):
        if line.startswith("trial "):
            found.append(resident())
            print(f"{found[-1]:.1f} MB  {line}", file=sys.stderr, flush=True)

    Search(hypermodel, directory, max_trials=int(trials), log=log).search()
    print(json.dumps(np.round(found, 1).tolist()))


if __name__ == "__main__":
    main()
