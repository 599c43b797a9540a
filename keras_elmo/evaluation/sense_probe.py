"""What a biLM's layers know of a word's senses, against static vectors."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np

from keras_elmo.evaluation.coarse_wsd import WordUse, read_coarse_wsd
from keras_elmo.evaluation.cosines import nearest_classes
from keras_elmo.evaluation.layer_runs import (
    SEEDS,
    WORD2VEC_AVERAGE,
    average_names,
    layer_names,
    limited,
    run_seeds,
)
from keras_elmo.evaluation.linear_probe import MIX, STEPS, ProbeExamples
from keras_elmo.evaluation.token_layers import TokenLayers, choose_layer
from keras_elmo.evaluation.word2vec import SentenceAverages


def probe_senses(
    folder: str | PathLike,
    layers: TokenLayers,
    *,
    word_vectors: str | PathLike | Mapping | None = None,
    seeds: Sequence[int] = SEEDS,
    limit: int | None = None,
    steps: int = STEPS,
) -> dict:
    """Accuracy of word senses, by nearest neighbours and by linear probes.

    A use of a word is told by the word's vector in its sentence, or by the average of
    the vectors of all the sentence's words. Static vectors are the same for every use,
    so that theirs are averaged only.

    Args:
        folder: as `read_coarse_wsd` reads it.
        layers: `TokenLayers`.
        word_vectors: static word vectors to compare with, as `SentenceAverages` takes
            them, or None.
        seeds: ints, a probe each.
        limit: int, uses of a word to learn from at most, in a random order; None for
            all.
        steps: int, batches a probe learns from.

    Returns:
        dict: "words", "train", "test" (numbers), "most_frequent" (each word's most
        frequent sense in training), and "vectors", by name: "probe" as a layer of
        `probe_tags`, and "neighbors", "neighbors_of_uses" and "neighbors_of_words",
        which the mix has not: a probe learns it. Accuracies are means over words, but
        for "neighbors_of_uses", over all uses, where frequent words rule.

    Raises:
        FileNotFoundError, ValueError: as `read_coarse_wsd`.

    Reference: Loureiro et al. 2021, arXiv:2008.11608; Peters et al. 2018, section 5.3.
    """
    words = read_coarse_wsd(folder)
    train, test = _parts(words, limit)
    found = {}
    for name, (layer, vectors) in _vectors(train, test, layers, word_vectors).items():
        learned, asked = (
            ProbeExamples(array, part.targets, part.words)
            for array, part in zip(vectors, (train, test), strict=True)
        )
        found[name] = {
            "probe": run_seeds(
                learned,
                asked,
                layer,
                seeds,
                steps,
                lambda result: test.by_word(result.predicted),
            )
        }
        if layer != MIX:
            nearest = _nearest(learned, asked, layer)
            found[name] |= {
                "neighbors": test.by_word(nearest),
                "neighbors_of_uses": float(np.mean(nearest == test.targets)),
                "neighbors_of_words": dict(
                    zip(words, test.accuracies(nearest), strict=True)
                ),
            }
    return {
        "words": len(words),
        "train": len(train.uses),
        "test": len(test.uses),
        "most_frequent": test.by_word(_most_frequent(train, test)),
        "vectors": found,
    }


@dataclass
class _Part:
    """Uses of all words, the number of each one's word and of its sense."""

    uses: list[WordUse]
    words: np.ndarray
    targets: np.ndarray

    def accuracies(self, predicted):
        """Each word's share of right answers."""
        right = predicted == self.targets
        return [float(right[self.words == i].mean()) for i in np.unique(self.words)]

    def by_word(self, predicted):
        """The mean of these."""
        return float(np.mean(self.accuracies(predicted)))

    @property
    def sentences(self):
        """The tokens of each use."""
        return [use.tokens for use in self.uses]


def _parts(words, limit):
    """The training and the test `_Part`: senses of different words are different."""
    senses: dict[tuple[int, str], int] = {}
    for number, (learned, _) in enumerate(words.values()):
        for use in learned:
            senses.setdefault((number, use.sense), len(senses))
    for which in (0, 1):
        chosen = [
            (number, use)
            for number, parts in enumerate(words.values())
            for use in (limited(parts[0], limit) if which == 0 else parts[1])
        ]
        numbers, uses = zip(*chosen, strict=True)
        targets = [senses.get((number, use.sense), -1) for number, use in chosen]
        yield _Part(list(uses), np.array(numbers), np.array(targets))


def _vectors(train, test, layers, word_vectors):
    """What is compared: name to (layer, (training vectors, test vectors))."""
    found = [
        layers.uses(part.sentences, [use.position for use in part.uses])
        for part in (train, test)
    ]
    of_words = [part.vectors for part in found]
    vectors = {
        name: (layer, of_words) for name, layer in layer_names(layers.number).items()
    }
    means = [part.sentence_means for part in found]
    vectors |= {name: (i, means) for name, i in average_names(layers.number).items()}
    if word_vectors is not None:
        average = SentenceAverages(word_vectors, train.sentences + test.sentences)
        static = [average(part.sentences)[:, None] for part in (train, test)]
        vectors[WORD2VEC_AVERAGE] = 0, static
    return vectors


def _nearest(train, test, layer):
    """The sense of each test use by its nearest neighbours among its word's uses."""
    predicted = np.full(len(test), -1)
    for word in np.unique(test.groups):
        learned, asked = train.groups == word, test.groups == word
        predicted[asked] = nearest_classes(
            choose_layer(train.vectors[learned], layer),
            train.targets[learned],
            choose_layer(test.vectors[asked], layer),
        )
    return predicted


def _most_frequent(train, test):
    """For each test use the sense that its word has most often in training."""
    most = {
        word: Counter(train.targets[train.words == word].tolist()).most_common(1)[0][0]
        for word in np.unique(train.words)
    }
    return np.array([most[word] for word in test.words])
