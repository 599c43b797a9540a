"""Tokens as characters: UTF-8 bytes and a few special ids, in NumPy alone.

This is the reference; `keras_elmo.text.graph` does the same in TensorFlow ops. Ids are
those of bilm-tf's inference: 0 is a padded position, a byte b is b + 1, and the special
ids follow. (Its training files hold the same ids less 1.)

Reference: bilm-tf `bilm/data.py`, `UnicodeCharsVocabulary`; AllenNLP
`ELMoCharacterMapper`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from keras_elmo import checks

PADDING_ID = 0
BEGIN_SENTENCE_ID = 257
END_SENTENCE_ID = 258
BEGIN_WORD_ID = 259
END_WORD_ID = 260
PAD_CHARACTER_ID = 261
NUM_CHARACTER_IDS = 262

BEGIN_SENTENCE = "<S>"
END_SENTENCE = "</S>"
UNKNOWN = "<UNK>"

_MARKERS = {BEGIN_SENTENCE: BEGIN_SENTENCE_ID, END_SENTENCE: END_SENTENCE_ID}


def encode_tokens(
    tokens: Sequence[str], max_characters_per_token: int = 50
) -> np.ndarray:
    """Character ids of tokens, one row a token.

    A row is begin-of-word, the token's first C - 2 UTF-8 bytes, end-of-word, and the
    pad character up to C. The cut may fall inside a character, as the original
    programs cut. Lone surrogates have no bytes and are left out. `<S>` and `</S>` have
    one id of their own in place of bytes.

    Args:
        tokens: sequence of str.
        max_characters_per_token: int of at least 3 (C).

    Returns:
        int32, (len(tokens), C).
    """
    width = _width(max_characters_per_token)
    tokens = list(tokens)
    encoded = [token.encode("utf-8", "ignore")[: width - 2] for token in tokens]
    ids = np.full((len(tokens), width), PAD_CHARACTER_ID, "int32")
    if not tokens:
        return ids
    ids[:, 0] = BEGIN_WORD_ID
    lengths = np.fromiter(map(len, encoded), "int64", len(encoded))
    columns = np.arange(width)
    is_byte = (columns > 0) & (columns <= lengths[:, None])
    # Row by row, left to right: the order in which the bytes lie in the buffer.
    ids[is_byte] = np.frombuffer(b"".join(encoded), "uint8").astype("int32") + 1
    ids[np.arange(len(tokens)), lengths + 1] = END_WORD_ID
    for row, token in enumerate(tokens):
        if token in _MARKERS:
            ids[row] = PAD_CHARACTER_ID
            ids[row, :3] = BEGIN_WORD_ID, _MARKERS[token], END_WORD_ID
    return ids


def count_truncated(tokens: Iterable[str], max_characters_per_token: int = 50) -> int:
    """Number of tokens whose UTF-8 bytes do not all fit into C - 2 ids."""
    limit = _width(max_characters_per_token) - 2
    return sum(
        # A character has at most 4 bytes: most tokens need no encoding to be sure.
        4 * len(token) > limit
        and token not in _MARKERS
        and len(token.encode("utf-8", "ignore")) > limit
        for token in tokens
    )


def encode_sentences(
    sentences: Iterable[Iterable[str]],
    max_characters_per_token: int = 50,
    length: int | None = None,
) -> np.ndarray:
    """Character ids of sentences, without sentence markers, padded with rows of 0.

    Args:
        sentences: iterable of token sequences.
        max_characters_per_token: int of at least 3 (C).
        length: int, tokens a row (T), or None for the longest sentence's.

    Returns:
        int32, (batch, T, C).

    Raises:
        TypeError: when a sentence or a token has another type.
        ValueError: when a sentence is longer than `length`.
    """
    width = _width(max_characters_per_token)
    return pad_sentences(sentences, lambda tokens: encode_tokens(tokens, width), length)


def pad_sentences(
    sentences: Iterable[Iterable[str]],
    encode: Callable[[list[str]], np.ndarray],
    length: int | None = None,
) -> np.ndarray:
    """Ids of sentences, whatever the ids of a token are.

    Args:
        sentences: iterable of token sequences.
        encode: function of distinct tokens to their ids, (tokens, ...).
        length: int, tokens a row (T), or None for the longest sentence's.

    Returns:
        int32, (batch, T, ...), 0 behind each sentence.

    Raises:
        TypeError: when a sentence or a token has another type.
        ValueError: when a sentence is longer than `length`.
    """
    tokens, indices = distinct_tokens(check_sentences(sentences))
    longest = max(map(len, indices), default=0)
    if length is None:
        length = longest
    elif longest > length:
        raise ValueError(
            checks.received("length", length, f"at least {longest}, the longest row's")
        )
    ids = encode(tokens)
    table = np.concatenate([np.zeros((1, *ids.shape[1:]), "int32"), ids])
    rows = np.zeros((len(indices), length), "int32")
    for row, index in zip(rows, indices, strict=True):
        row[: len(index)] = index + 1
    return table[rows]


def distinct_tokens(
    sentences: Iterable[Sequence[str]],
) -> tuple[list[str], list[np.ndarray]]:
    """Each distinct token once, and the sentences as indices into them.

    Args:
        sentences: iterable of token sequences.

    Returns:
        list of str in order of first appearance, and one int32 array a sentence.
    """
    number: dict[str, int] = {}
    indices = []
    for sentence in sentences:
        row = [number.setdefault(token, len(number)) for token in sentence]
        indices.append(np.array(row, "int32"))
    return list(number), indices


def check_sentences(sentences: Iterable[Iterable[str]]) -> Iterator[list[str]]:
    """Passes sentences on as lists of str, one at a time, and refuses anything else.

    Args:
        sentences: iterable of token sequences: lists, tuples, NumPy string or object
            arrays, generators.

    Returns:
        iterator of lists of str.

    Raises:
        TypeError: naming the position, when a sentence is a str (its letters would
            pass for tokens), or not iterable, or a token is not a str. At once when
            `sentences` itself is of a wrong type.
    """
    rule = "an iterable of token sequences"
    if isinstance(sentences, str | bytes) or not isinstance(sentences, Iterable):
        raise TypeError(checks.received("sentences", sentences, rule))
    return _checked(sentences)


def _checked(sentences):
    for i, sentence in enumerate(sentences):
        rule = "a sequence of tokens"
        if isinstance(sentence, str | bytes | dict) or not isinstance(
            sentence, Iterable
        ):
            raise TypeError(checks.received(f"sentences[{i}]", sentence, rule))
        tokens = list(sentence)
        for j, token in enumerate(tokens):
            if not isinstance(token, str):
                raise TypeError(checks.received(f"sentences[{i}][{j}]", token, "a str"))
        yield tokens


def decode_characters(ids: Sequence[int]) -> str:
    """The token of one row of character ids, for reading by people.

    Bytes that are no UTF-8, as a cut inside a character leaves, become U+FFFD.

    Args:
        ids: int, (C,).

    Returns:
        str; "" for padding.
    """
    ids = [int(i) for i in ids]
    for token, marker in _MARKERS.items():
        if ids[:3] == [BEGIN_WORD_ID, marker, END_WORD_ID]:
            return token
    characters = bytes(i - 1 for i in ids if 0 < i <= 256)
    return characters.decode("utf-8", "replace")


def _width(max_characters_per_token):
    return checks.positive_int(
        "max_characters_per_token", max_characters_per_token, minimum=3
    )
