"""Text to tokens, in pure Python.

`keras_elmo.text.graph` holds the same two tokenizers as TensorFlow ops.
"""

import unicodedata
from collections.abc import Callable

from keras_elmo import checks

# Ideographs and kana are written without spaces: each stands as a token.
# (first, last) code points: CJK ideographs and extensions, compatibility
# ideographs, Hiragana, Katakana.
IDEOGRAPHS = (
    (0x3040, 0x30FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2FA1F),
    (0x30000, 0x3134F),
)
# Between two letters or digits these belong to the word: "don't", "3.14", "1,000".
_INSIDE_WORDS = "'\u2019"
_INSIDE_NUMBERS = ".,"

_WORD, _IDEOGRAPH, _SPACE, _OTHER = range(4)


def whitespace_tokenize(text: str) -> list[str]:
    """Splits at Unicode white space: `str.split()`."""
    return text.split()


def unicode_tokenize(text: str) -> list[str]:
    """Splits into words, numbers, ideographs, and single marks and symbols.

    1. White space separates tokens and is dropped, and so does NUL.
    2. An ideograph or a kana is a token of its own.
    3. A run of letters, combining marks and digits (Unicode categories L, M, N) and
       underscores is one token. An apostrophe (' or U+2019) between two such
       characters, and a full stop or comma between two decimal digits (Nd), belong to
       the run: "don't", "3.14", "1,000".
    4. Every other character is a token of its own.

    The characters of the tokens are those of the text: nothing is normalised.

    Args:
        text: str.

    Returns:
        list of str.
    """
    tokens, start = [], None
    for position, character in enumerate(text):
        kind = _kind(character)
        if kind == _OTHER and start is not None and _joins(text, position):
            continue
        if kind != _WORD:
            if start is not None:
                tokens.append(text[start:position])
                start = None
            if kind != _SPACE:
                tokens.append(character)
        elif start is None:
            start = position
    if start is not None:
        tokens.append(text[start:])
    return tokens


def _kind(character):
    if character.isspace() or character == "\0":
        return _SPACE
    code = ord(character)
    if code >= IDEOGRAPHS[0][0] and any(low <= code <= up for low, up in IDEOGRAPHS):
        return _IDEOGRAPH
    if character == "_" or unicodedata.category(character)[0] in "LMN":
        return _WORD
    return _OTHER


def _joins(text, position):
    """Whether the mark at `position` belongs to the word around it."""
    if not 0 < position < len(text) - 1:
        return False
    mark, before, after = text[position], text[position - 1], text[position + 1]
    if mark in _INSIDE_WORDS:
        return _kind(before) == _WORD and _kind(after) == _WORD
    if mark in _INSIDE_NUMBERS:
        return unicodedata.category(before) == unicodedata.category(after) == "Nd"
    return False


TOKENIZERS: dict[str, Callable[[str], list[str]]] = {
    "whitespace": whitespace_tokenize,
    "unicode": unicode_tokenize,
}


def get_tokenizer(name: str) -> Callable[[str], list[str]]:
    """The tokenizer of a name in `TOKENIZERS`; ValueError naming the choices."""
    if name not in TOKENIZERS:
        choices = " or ".join(map(repr, TOKENIZERS))
        raise ValueError(checks.received("tokenizer", name, choices))
    return TOKENIZERS[name]
