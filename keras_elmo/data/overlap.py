"""Whether held-out text was trained on."""

import warnings
from itertools import pairwise

import numpy as np

from keras_elmo.data.corpus import Corpus
from keras_elmo.text.characters import PAD_CHARACTER_ID

# Of the held-out tokens: what short sentences that everyone says have in common is
# less, and changes a perplexity by less.
TOLERATED = 0.01
# Tokens that sentences are told apart by before they are compared as a whole.
_FIRST = 6
_ROWS = 2**16  # worked on at once


def shared_sentences(corpus: Corpus, held_out: Corpus) -> tuple[int, int]:
    """How much of a held-out text also stands in a corpus, sentence for sentence.

    Tokens are the same where their characters are, as far as they are stored. It takes
    about a second for a million sentences.

    Args:
        corpus: `Corpus` to train on.
        held_out: `Corpus`; its vocabulary may be another.

    Returns:
        (sentences, tokens) of `held_out` that are in `corpus`.
    """
    known, asked = _names(corpus), _names(held_out)
    wanted: dict[bytes, int] = {}
    for start, end in pairwise(held_out.offsets.tolist()):
        name = asked[held_out.tokens[start:end]].tobytes()
        wanted[name] = wanted.get(name, 0) + 1
    keys = _keys(held_out, asked, 0, held_out.num_sentences)
    found = set()
    # A plain view: slices of a memmap are memmaps, which take long to make.
    text, offsets = np.asarray(corpus.tokens), np.asarray(corpus.offsets)
    for first in range(0, corpus.num_sentences, _ROWS):
        last = min(first + _ROWS, corpus.num_sentences)
        alike = np.isin(_keys(corpus, known, first, last), keys)
        for row in np.flatnonzero(alike) + first:
            name = known[text[offsets[row] : offsets[row + 1]]].tobytes()
            if name in wanted:
                found.add(name)
    sentences = sum(wanted[name] for name in found)
    tokens = sum(wanted[name] * len(name) // known.itemsize for name in found)
    return sentences, tokens


def warn_of_overlap(corpus: Corpus, held_out: Corpus) -> None:
    """Warns where more than `TOLERATED` of the held-out tokens were trained on."""
    sentences, tokens = shared_sentences(corpus, held_out)
    share = tokens / held_out.num_tokens
    if share > TOLERATED:
        warnings.warn(
            f"{sentences:,} of the {held_out.num_sentences:,} held-out sentences "
            f"looked at ({share:.0%} of their tokens) also stand in the text to train "
            "on: what is learned by heart makes their perplexity lower than that of "
            "new text.",
            UserWarning,
            stacklevel=2,
        )


def _names(corpus):
    """uint64, (types,): a number for each type that its characters decide."""
    width = corpus.max_characters_per_token
    factors = np.random.default_rng(0).integers(2**64, size=width, dtype="uint64")
    names = np.empty(corpus.num_types, "uint64")
    for first in range(0, len(names), _ROWS):
        types = np.arange(first, min(first + _ROWS, len(names)))
        # Padding counts nothing, however much of it a corpus keeps.
        ids = corpus.input_ids(types, "characters") - np.int64(PAD_CHARACTER_ID)
        names[types] = (ids.astype("uint64") * factors).sum(axis=1, dtype="uint64")
    return names


def _keys(corpus, names, first, last):
    """uint64 of each sentence from `first` to `last`: its length and first tokens."""
    starts = corpus.offsets[first:last]
    lengths = corpus.offsets[first + 1 : last + 1] - starts
    keys = lengths.astype("uint64")
    for place in range(_FIRST):
        has = lengths > place
        keys *= np.uint64(0x9E3779B97F4A7C15)
        keys[has] += names[corpus.tokens[starts[has] + place]]
    return keys
