"""What a word means where: its uses as vectors, points, neighbours and clusters."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike

import numpy as np

from keras_elmo import checks
from keras_elmo.evaluation.clusters import cluster
from keras_elmo.evaluation.cosines import unit
from keras_elmo.evaluation.projection import project_layers
from keras_elmo.evaluation.token_layers import MEAN, TokenLayers, choose_layer
from keras_elmo.evaluation.word_uses import Use, find_uses

NEIGHBORS = 5
# Words that tell a cluster's uses from the others', and how often each is there.
TELLING_WORDS = 4
SMALLEST_COUNT = 3


@dataclass
class Senses:
    """The uses of a word, and what a biLM makes of them.

    Attributes:
        word: str.
        uses: list of `Use`.
        found: int, how many uses the corpus has.
        layer_names: list of str, "layer 0" ... and "mean".
        vectors: float32, (uses, layers, dim), those layers and their mean.
        points: float, (layers, uses, 2), from -1 to 1.
        clusters: int, (uses,), the largest cluster is 0.
        clustered_by: str, the name of the layer that they are clusters of.
        neighbors: int, (layers, uses, neighbours), the nearest other uses.
        cosines: float32, (layers, uses, neighbours), theirs.
    """

    word: str
    uses: list[Use]
    found: int
    layer_names: list[str]
    vectors: np.ndarray
    points: np.ndarray
    clusters: np.ndarray
    clustered_by: str
    neighbors: np.ndarray
    cosines: np.ndarray

    def telling_words(self) -> list[list[str]]:
        """For each cluster the words that its sentences have more than others'.

        The words whose share of the cluster's sentences is the most above their share
        of all, in deviations; at most four, and each in three sentences at least.
        """
        words = [
            {token.casefold() for token in use.tokens if any(map(str.isalpha, token))}
            - {self.word.casefold()}
            for use in self.uses
        ]
        everywhere = Counter(word for row in words for word in row)
        told = []
        for number in range(self.clusters.max() + 1):
            rows = np.flatnonzero(self.clusters == number)
            here = Counter(word for row in rows for word in words[row])
            share = len(rows) / len(words)
            scores = {}
            for word, count in here.items():
                if count >= SMALLEST_COUNT and share < 1:
                    expected = everywhere[word] * share
                    spread = np.sqrt(expected * (1 - share))
                    scores[word] = (count - expected) / spread
            best = sorted(scores, key=lambda word: (-scores[word], word))
            told.append([word for word in best if scores[word] > 1][:TELLING_WORDS])
        return told

    def typical(self, number: int) -> list[list[int]]:
        """For each cluster the uses nearest to its middle, `number` at most."""
        vectors = unit(self.vectors[:, self.layer_names.index(self.clustered_by)])
        chosen = []
        for i in range(self.clusters.max() + 1):
            rows = np.flatnonzero(self.clusters == i)
            cosines = vectors[rows] @ unit(vectors[rows].mean(axis=0))
            chosen.append(rows[np.argsort(-cosines, kind="stable")[:number]].tolist())
        return chosen


def find_senses(
    word: str,
    files: Iterable[str | PathLike],
    layers: TokenLayers,
    *,
    by: str | int = "top",
    clusters: int | None = None,
    neighbors: int = NEIGHBORS,
    method: str = "pca",
    tokenizer: str = "whitespace",
    limit: int = 500,
    match_case: bool = False,
    seed: int = 0,
) -> Senses:
    """Finds a word's uses in text, and what a biLM's layers make of them.

    Args:
        word: str, one token.
        files: text, one sentence a line; `.gz` is unpacked.
        layers: `TokenLayers`.
        by: "top", "mean" or a layer's index: what clusters are made of.
        clusters: int, how many, or None to choose the number, see `cluster`.
        neighbors: int, nearest uses of each use.
        method: "pca" or "umap", how vectors become points.
        tokenizer: "whitespace" or "unicode".
        limit: int, uses at most, chosen at random.
        match_case: bool. "Bank" is no use of "bank".
        seed: int, of the choice, the clusters and UMAP.

    Returns:
        `Senses`.

    Raises:
        ValueError: when the text has no use of the word, or an argument is none of
            these.

    Example:
    ```python
    senses = find_senses("bank", ["corpus.txt"], TokenLayers(backbone))
    for row in senses.neighbors[-1, 0]:  # by the layers' mean, of the first use
        print(" ".join(senses.uses[row].tokens))
    ```
    """
    checks.positive_int("neighbors", neighbors)
    layer = _index(by, layers.number)
    uses, found = find_uses(
        word,
        files,
        tokenizer=tokenizer,
        limit=limit,
        match_case=match_case,
        seed=seed,
    )
    stored = layers.uses([use.tokens for use in uses], [use.position for use in uses])
    vectors = np.concatenate(
        [
            stored.vectors.astype("float32"),
            choose_layer(stored.vectors, MEAN)[:, None],
        ],
        axis=1,
    )
    names = [f"layer {i}" for i in range(layers.number)] + [MEAN]
    nearest, cosines = _neighbors(vectors, neighbors)
    return Senses(
        word=word,
        uses=uses,
        found=found,
        layer_names=names,
        vectors=vectors,
        points=project_layers(vectors, method, seed),
        clusters=cluster(vectors[:, layer], clusters, seed),
        clustered_by=names[layer],
        neighbors=nearest,
        cosines=cosines,
    )


def _index(by, number):
    """Where a choice of a layer stands among the layers and their mean."""
    choices = {**{i: i for i in range(number)}, "top": number - 1, MEAN: number}
    if isinstance(by, bool) or by not in choices:
        rule = f'"top", "{MEAN}" or the index of one of {number} layers'
        raise ValueError(checks.received("by", by, rule))
    return choices[by]


def _neighbors(vectors, number):
    """Each use's nearest others by each layer, and their cosines."""
    number = min(number, len(vectors) - 1)
    nearest, cosines = [], []
    for layer in np.moveaxis(unit(vectors), 1, 0):
        table = layer @ layer.T
        np.fill_diagonal(table, -np.inf)
        rows = np.argsort(-table, axis=1, kind="stable")[:, :number]
        nearest.append(rows)
        cosines.append(np.take_along_axis(table, rows, axis=1))
    return np.array(nearest), np.clip(np.array(cosines, "float32"), -1.0, 1.0)
