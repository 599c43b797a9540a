"""Embeddings that know no context, as baselines: word vectors of a file, or random.

A file is read line by line and only the vectors of a vocabulary's words are kept.
(gensim's `KeyedVectors.load_word2vec_format` holds all of a file in memory, 2 million
words for a vocabulary of thousands, and takes no word with spaces.)
"""

import re
from os import PathLike
from typing import NamedTuple

import keras
import numpy as np

from keras_elmo import checks
from keras_elmo.lines import read_lines
from keras_elmo.text.vocabulary import Vocabulary


class WordVectors(NamedTuple):
    """An embedding layer and for how many words its file had a vector.

    Attributes:
        layer: built `keras.layers.Embedding`.
        found: int, rows of the vocabulary with a vector of the file.
    """

    layer: keras.layers.Embedding
    found: int


def embedding_from_word_vectors(
    path: str | PathLike,
    vocabulary: Vocabulary,
    trainable: bool = False,
    seed: int = 0,
    name: str | None = None,
    dtype=None,
) -> WordVectors:
    r"""An embedding layer with the word vectors of a text file.

    The file is word2vec's text format, whose first line holds two numbers, or GloVe's,
    which has no such line; one that ends in `.gz` is unpacked. A word is looked up as
    it is, then lower-cased. Words without a vector get random ones of mean 0 and the
    standard deviation of the vectors that were found. Where a word comes twice, its
    first line counts.

    Args:
        path: the file, UTF-8.
        vocabulary: `Vocabulary`. The vector of its word i is row i + 1, so that the
            layer takes `token_ids`; row 0, for padding, is zeros.
        trainable: bool. Train the vectors along.
        seed: int, of the random vectors: the same numbers on every backend.
        name: str, the layer's name.
        dtype: dtype policy of the layer.

    Returns:
        `WordVectors`: the layer, `mask_zero=True`, and how many words were found.

    Raises:
        ValueError: naming file and line, when a line has another number of numbers
            than the first, or is no UTF-8, or a vector that is needed holds something
            that is no finite number; when no word at all is found. The numbers of
            other words are counted, not read.

    Reference: Pennington et al. 2014 (GloVe); Mikolov et al. 2013 (word2vec).

    Example:
    ```python
    vocabulary = keras_elmo.Vocabulary(["<S>", "</S>", "<UNK>", "the", "Bank"])
    with open("vectors.txt", "w") as file:
        file.write("the 0.1 0.2\nbank 0.3 0.4\n")
    layer, found = embedding_from_word_vectors("vectors.txt", vocabulary)  # found: 2
    vectors = layer(np.array([[4, 5, 0]]))  # (1, 3, 2)
    ```
    """
    words = vocabulary.tokens
    vectors = read_word_vectors(path, {*words, *(word.lower() for word in words)})
    rows = [vectors.get(word, vectors.get(word.lower())) for word in words]
    known = [row for row in rows if row is not None]
    if not known:
        raise ValueError(
            f"`{path}` has no vector for any of the vocabulary's {len(words)} words."
        )
    spread, dim = float(np.std(known)), len(known[0])
    drawn = np.random.default_rng(seed).normal(0.0, spread, (len(rows), dim))
    table = [
        row if row is not None else other
        for row, other in zip(rows, drawn, strict=True)
    ]
    layer = _embedding(np.array(table, "float32"), trainable, name, dtype)
    return WordVectors(layer, len(known))


def random_embedding(
    vocabulary: Vocabulary,
    dim: int,
    seed: int = 0,
    trainable: bool = True,
    name: str | None = None,
    dtype=None,
) -> keras.layers.Embedding:
    """An embedding layer of random vectors, whose lengths are about 1.

    Args:
        vocabulary: `Vocabulary`; rows as in `embedding_from_word_vectors`.
        dim: int, size of a vector.
        seed: int: the same numbers on every backend.
        trainable: bool. Train the vectors.
        name: str, the layer's name.
        dtype: dtype policy of the layer.

    Returns:
        built `keras.layers.Embedding`, `mask_zero=True`.
    """
    dim = checks.positive_int("dim", dim)
    generator = np.random.default_rng(seed)
    table = generator.normal(0.0, dim**-0.5, (len(vocabulary), dim))
    return _embedding(table.astype("float32"), trainable, name, dtype)


def read_word_vectors(path: str | PathLike, words) -> dict[str, np.ndarray]:
    """The vectors of some words of a text file of word vectors.

    Args:
        path: the file, as `embedding_from_word_vectors` reads it.
        words: set of str, the words that are kept.

    Returns:
        dict of word to float32 array, (dim,), of those that the file has.
    """
    found: dict[str, np.ndarray] = {}
    header = dim = None
    for number, line in enumerate(read_lines(path), 1):
        # Spaces alone separate: GloVe has words that hold other white space.
        line = line.rstrip(" ")
        if number == 1 and (match := re.fullmatch(r"[0-9]+ ([0-9]+)", line)):
            header = int(match[1])
            continue
        if not line:
            continue
        length = line.count(" ")
        if dim is None:
            dim = length
            if header is not None and dim != header:
                raise ValueError(
                    f"`{path}` line {number}: {dim} numbers, where the first line "
                    f"says {header}."
                )
        # GloVe has words with spaces (". . ."), word2vec's format has none.
        if dim < 1 or length < dim or (header is not None and length != dim):
            raise ValueError(
                f"`{path}` line {number}: expected a word and {max(dim, 1)} numbers. "
                f"Received: {length} behind the first space: {line[:60]!r}."
            )
        word, *numbers = line.rsplit(" ", dim)
        if word in words and word not in found:
            found[word] = _vector(numbers, path, number)
    return found


def _vector(numbers, path, line):
    try:
        with np.errstate(over="ignore"):
            vector = np.array([float(number) for number in numbers]).astype("float32")
    except ValueError as error:
        raise ValueError(f"`{path}` line {line}: no number: {error}.") from None
    if not np.isfinite(vector).all():
        raise ValueError(f"`{path}` line {line}: a number is NaN or infinite.")
    return vector


def _embedding(table, trainable, name, dtype):
    """A built layer whose rows from 1 on are the table's."""
    layer = keras.layers.Embedding(
        len(table) + 1,
        table.shape[1],
        mask_zero=True,
        trainable=trainable,
        name=name,
        dtype=dtype,
    )
    layer.build((None, None))
    layer.set_weights([np.pad(table, [(1, 0), (0, 0)])])
    return layer
