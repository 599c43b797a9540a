"""The held-out text that a run looks at now and then."""

from collections.abc import Iterable
from os import PathLike

from keras_elmo.data.corpus import Corpus
from keras_elmo.lines import read_sentences
from keras_elmo.text.tokenizers import whitespace_tokenize


def read_held_out(
    paths: Iterable[str | PathLike], corpus: Corpus, tokens: int, tokenize=None
) -> Corpus:
    """The first sentences of text files, as numbers of a corpus' vocabulary.

    Args:
        paths: files with one sentence a line; `.gz` is read as such.
        corpus: `Corpus` whose vocabulary and width the result has.
        tokens: int, tokens after which to stop, at the end of a sentence.
        tokenize: text to tokens; white space by default.

    Returns:
        `Corpus` in memory.

    Raises:
        ValueError: when there is no sentence.
    """
    tokenize = tokenize or whitespace_tokenize

    def sentences():
        seen = 0
        for sentence in read_sentences(paths, tokenize):
            if seen >= tokens:
                return
            seen += len(sentence)
            yield sentence

    found = list(sentences())
    if not found:
        named = ", ".join(map(str, paths))
        raise ValueError(f"`held_out` has no sentence. Received: {named}.")
    return Corpus.from_sentences(
        found, corpus.vocabulary, corpus.max_characters_per_token
    )
