"""Words in context: has a word one meaning in two sentences? By a cosine alone."""

from collections.abc import Mapping, Sequence
from os import PathLike

import numpy as np

from keras_elmo.evaluation.cosines import best_threshold, unit
from keras_elmo.evaluation.layer_runs import (
    WORD2VEC_AVERAGE,
    average_names,
    layer_names,
    limited,
)
from keras_elmo.evaluation.linear_probe import MIX
from keras_elmo.evaluation.token_layers import TokenLayers, choose_layer
from keras_elmo.evaluation.word2vec import SentenceAverages
from keras_elmo.tasks.kinds import pair_examples
from keras_elmo.tasks.labelled import LabelledPair

ONE_MEANING = "T"


def probe_words_in_context(
    train: Sequence[LabelledPair],
    test: Sequence[LabelledPair],
    layers: TokenLayers,
    *,
    word_vectors: str | PathLike | Mapping | None = None,
    limit: int | None = None,
) -> dict:
    """Accuracy of "one meaning where the two vectors' cosine is above a threshold".

    The threshold is chosen on the training pairs alone, for each kind of vector.

    Args:
        train: pairs of texts, as `read_mcl_wic` reads them, labelled "T" for one
            meaning.
        test: others.
        layers: `TokenLayers`.
        word_vectors: static word vectors to compare with, averaged over a sentence, as
            `SentenceAverages` takes them, or None.
        limit: int, pairs to choose the threshold on at most, in a random order; None
            for all.

    Returns:
        dict: "train", "test" (numbers), "most_frequent" (accuracy of the label that
        training has most often), and "vectors", by name: "accuracy",
        "train_accuracy", "threshold".

    Raises:
        ValueError: when there are no pairs, or pairs without marked words.

    Reference: Pilehvar and Camacho-Collados 2019 (WiC); Martelli et al. 2021 (MCL-WiC).

    Example:
    ```python
    train, test = (
        read_mcl_wic(f"{part}.en-en.data", f"{part}.en-en.gold")
        for part in ("training", "test")
    )
    found = probe_words_in_context(train, test, TokenLayers(backbone))
    ```
    """
    chosen = limited(list(train), limit), list(test)
    labels = [
        np.array([pair.label == ONE_MEANING for pair in part], bool) for part in chosen
    ]
    if not all(map(len, labels)):
        raise ValueError("`train` and `test` must hold pairs. Received: none.")
    cosines = [_cosines(part, layers, word_vectors) for part in chosen]
    found = {}
    for name, values in cosines[0].items():
        threshold = best_threshold(values, labels[0])
        found[name] = {
            "accuracy": float(np.mean((cosines[1][name] > threshold) == labels[1])),
            "train_accuracy": float(np.mean((values > threshold) == labels[0])),
            "threshold": threshold,
        }
    most_frequent = labels[0].mean() >= 0.5
    return {
        "train": len(labels[0]),
        "test": len(labels[1]),
        "most_frequent": float(np.mean(labels[1] == most_frequent)),
        "vectors": found,
    }


def _cosines(pairs, layers, word_vectors):
    """Cosines of the pairs: dict from what they are of to float32, (pairs,)."""
    texts = pair_examples(pairs, "unicode").texts
    if "first_target" not in texts:
        raise ValueError("The pairs must mark a word of each text.")
    sides = ("first", "second")
    found = [layers.uses(texts[side], texts[f"{side}_target"]) for side in sides]
    vectors = {
        name: [choose_layer(side.vectors, layer) for side in found]
        for name, layer in layer_names(layers.number).items()
        if layer != MIX
    }
    vectors |= {
        name: [side.sentence_means[:, i] for side in found]
        for name, i in average_names(layers.number).items()
    }
    if word_vectors is not None:
        average = SentenceAverages(word_vectors, texts["first"] + texts["second"])
        vectors[WORD2VEC_AVERAGE] = [average(texts[side]) for side in sides]
    return {
        name: np.sum(unit(one) * unit(other), axis=-1)
        for name, (one, other) in vectors.items()
    }
