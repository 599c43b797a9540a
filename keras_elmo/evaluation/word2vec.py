"""word2vec of a corpus, by gensim: a vector a word, whatever its sentence."""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike

import numpy as np

from keras_elmo.lines import read_sentences
from keras_elmo.tasks.word_vectors import read_word_vectors
from keras_elmo.text.tokenizers import get_tokenizer


def train_word2vec(
    files: Sequence[str | PathLike],
    *,
    dim: int = 256,
    epochs: int = 5,
    min_count: int = 5,
    tokenizer: str = "whitespace",
    seed: int = 0,
):
    """Trains skip-gram vectors of lower-cased words with gensim.

    On one thread, so that the same seed gives the same vectors; gensim's defaults else:
    5 words to either side, 5 negatives.

    Args:
        files: text, one sentence a line; `.gz` is unpacked.
        dim: int, size of a vector.
        epochs: int.
        min_count: int, how often a word occurs that gets a vector.
        tokenizer: "whitespace" or "unicode".
        seed: int.

    Returns:
        `gensim.models.KeyedVectors`. Its `save_word2vec_format(path)` writes a file
        that `train-task --word-vectors` reads.

    Raises:
        ImportError: when gensim is not installed.
        ValueError: when no word occurs `min_count` times.

    Reference: Mikolov et al. 2013.
    """
    word2vec = require_gensim()
    split = get_tokenizer(tokenizer)

    class Corpus:
        def __iter__(self):
            return read_sentences(files, lambda line: split(line.lower()))

    model = word2vec.Word2Vec(
        vector_size=dim, sg=1, min_count=min_count, workers=1, seed=seed, epochs=epochs
    )
    corpus = Corpus()
    model.build_vocab(corpus)
    if not len(model.wv):
        raise ValueError(f"No word of the corpus occurs {min_count} times.")
    model.train(corpus, total_examples=model.corpus_count, epochs=model.epochs)
    return model.wv


def require_gensim():
    """The word2vec of gensim, or an error that says how to get it."""
    try:
        from gensim.models import word2vec
    except ImportError as error:
        raise ImportError(
            "word2vec needs gensim: pip install 'keras-elmo[probe]'."
        ) from error
    return word2vec


class SentenceAverages:
    """Sentences as the averages of their words' vectors, which know no context.

    Args:
        word_vectors: file of word vectors in word2vec's or GloVe's text form, or a
            mapping from words to vectors, such as `train_word2vec` returns. A word is
            looked up as it is, then lower-cased.
        sentences: iterable of token sequences, the only ones that are asked for.

    Raises:
        ValueError: when none of the words has a vector, or as `read_word_vectors`.
    """

    def __init__(
        self,
        word_vectors: str | PathLike | Mapping,
        sentences: Iterable[Sequence[str]],
    ):
        words = {token for tokens in sentences for token in tokens}
        words |= {word.lower() for word in words}
        if isinstance(word_vectors, str | PathLike):
            found = read_word_vectors(word_vectors, words)
        else:
            found = {w: word_vectors[w] for w in words if w in word_vectors}
        if not found:
            raise ValueError("`word_vectors` has no vector of the sentences' words.")
        self._vectors = found
        self.dim = len(next(iter(found.values())))

    def __call__(self, sentences: Iterable[Sequence[str]]) -> np.ndarray:
        """float32, (sentences, dim); zeros where no word has a vector."""
        return np.array([self._average(tokens) for tokens in sentences], "float32")

    def _average(self, tokens):
        found = (
            self._vectors.get(token, self._vectors.get(token.lower()))
            for token in tokens
        )
        known = [vector for vector in found if vector is not None]
        return np.mean(known, axis=0) if known else np.zeros(self.dim)
