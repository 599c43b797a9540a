"""The uses of a word in a corpus."""

from collections.abc import Iterable
from os import PathLike
from typing import NamedTuple

import numpy as np

from keras_elmo import checks
from keras_elmo.lines import read_lines
from keras_elmo.text.tokenizers import get_tokenizer


class Use(NamedTuple):
    """A sentence that holds the word, where in it, and where it was read.

    Attributes:
        tokens: list of str.
        position: int, the word's among the tokens.
        file: str, the file's path.
        line: int, from 1.
    """

    tokens: list[str]
    position: int
    file: str
    line: int

    def around(self, words: int) -> tuple[str, str, str]:
        """The text before, the word itself, the text behind: `words` on each side."""
        start = max(self.position - words, 0)
        end = self.position + 1 + words
        before = " ".join(self.tokens[start : self.position])
        behind = " ".join(self.tokens[self.position + 1 : end])
        return (
            f"… {before}" if start else before,
            self.tokens[self.position],
            f"{behind} …" if end < len(self.tokens) else behind,
        )


def find_uses(
    word: str,
    files: Iterable[str | PathLike],
    *,
    tokenizer: str = "whitespace",
    limit: int = 500,
    match_case: bool = False,
    seed: int = 0,
) -> tuple[list[Use], int]:
    """Finds a word in text: all its uses, or a random choice of them.

    A sentence that comes again counts once: a use would be its own nearest neighbour.

    Args:
        word: str, one token.
        files: text, one sentence a line; `.gz` is unpacked.
        tokenizer: "whitespace" or "unicode".
        limit: int, uses at most; each is as likely to be chosen as any other.
        match_case: bool. "Bank" is no use of "bank".
        seed: int, of the choice.

    Returns:
        (uses in the order of the text, number of uses found).

    Raises:
        ValueError: when there is none, or `word` is no token.
    """
    split = get_tokenizer(tokenizer)
    checks.positive_int("limit", limit)
    if not isinstance(word, str) or split(word) != [word]:
        rule = f"one token of the tokenizer {tokenizer!r}"
        raise ValueError(checks.received("word", word, rule))
    wanted = word if match_case else word.casefold()
    generator = np.random.default_rng(seed)
    files = list(files)
    kept: list[Use] = []
    seen: set[int] = set()
    number = 0
    for path in files:
        for line, text in enumerate(read_lines(path), 1):
            # Cheaper than tokens, and hardly a line holds the word.
            if wanted not in (text if match_case else text.casefold()):
                continue
            tokens = split(text)
            matches = tokens if match_case else [token.casefold() for token in tokens]
            places = [i for i, token in enumerate(matches) if token == wanted]
            key = hash(tuple(tokens))
            if not places or key in seen:
                continue
            seen.add(key)
            for position in places:
                number += 1
                use = Use(tokens, position, str(path), line)
                if len(kept) < limit:
                    kept.append(use)
                elif (place := generator.integers(number)) < limit:
                    kept[place] = use
    if not kept:
        where = ", ".join(f"`{path}`" for path in files)
        raise ValueError(f"{where}: no sentence holds the token {word!r}.")
    order = {str(path): i for i, path in enumerate(files)}
    kept.sort(key=lambda use: (order[use.file], use.line, use.position))
    return kept, number
