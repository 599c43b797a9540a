"""Tokens to character ids, as bilm-tf and AllenNLP number them for inference."""

import numpy as np

# Ids after the + 1 that frees 0 for padding: byte b is b + 1.
MARKERS = {"<S>": 257, "</S>": 258}
BEGIN_WORD, END_WORD, PAD_CHARACTER = 259, 260, 261


def token_ids(token, size=50):
    """The `size` ids of one token, a list."""
    if token in MARKERS:
        inner = [MARKERS[token]]
    else:
        data = token.encode("utf-8", "ignore")[: size - 2]
        inner = [byte + 1 for byte in data]
    ids = [BEGIN_WORD, *inner, END_WORD]
    return ids + [PAD_CHARACTER] * (size - len(ids))


def character_ids(sentences, size=50):
    """int64 (batch, longest, size) without sentence markers, 0 where padded."""
    longest = max(map(len, sentences), default=0)
    ids = np.zeros((len(sentences), longest, size), dtype="int64")
    for row, sentence in enumerate(sentences):
        for position, token in enumerate(sentence):
            ids[row, position] = token_ids(token, size)
    return ids


def framed_ids(sentences, size=50):
    """The same with `<S>` and `</S>` around each sentence."""
    return character_ids([["<S>", *tokens, "</S>"] for tokens in sentences], size)
