"""Vocabularies: word lists with the three special words, as the original programs read.

Reference: bilm-tf `bilm/data.py`, `Vocabulary`; README, "Vocabulary file".
"""

import hashlib
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike

import numpy as np

from keras_elmo import checks
from keras_elmo.files import atomic_path
from keras_elmo.lines import read_lines, read_sentences
from keras_elmo.text.characters import BEGIN_SENTENCE, END_SENTENCE, UNKNOWN
from keras_elmo.text.tokenizers import whitespace_tokenize

SPECIALS = (BEGIN_SENTENCE, END_SENTENCE, UNKNOWN)
# A line of the 1 Billion Word Benchmark's vocabulary that is no word.
_NO_WORD = "!!!MAXTERMID"


class Vocabulary:
    """Words and their ids: row + 1, so that 0 stays free for padding.

    Args:
        tokens: iterable of str, among them `<S>`, `</S>` and `<UNK>`. A word that
            comes twice keeps both rows, so that word tables of the original programs
            line up, and its id is that of the last one, as in bilm-tf.
        counts: iterable of int, how often each word was seen, or None.

    Raises:
        ValueError: when a special word is missing, or the number of counts is not
            that of the words.

    Example:
    ```python
    vocabulary = keras_elmo.Vocabulary(["<S>", "</S>", "<UNK>", "the", "bank"])
    vocabulary.ids(["the", "river", "bank"])  # [4, 3, 5]
    ```
    """

    def __init__(self, tokens: Iterable[str], counts: Iterable[int] | None = None):
        self.tokens = tuple(tokens)
        self.counts = None if counts is None else tuple(int(n) for n in counts)
        if self.counts is not None and len(self.counts) != len(self.tokens):
            raise ValueError(
                f"`counts` must be one a word (={len(self.tokens)}). Received: "
                f"{len(self.counts)} counts."
            )
        self._id = {token: row + 1 for row, token in enumerate(self.tokens)}
        missing = [token for token in SPECIALS if token not in self._id]
        if missing:
            raise ValueError(
                f"A vocabulary must hold {', '.join(SPECIALS)}. Missing: "
                f"{', '.join(missing)}."
            )
        self.begin_sentence_id = self._id[BEGIN_SENTENCE]
        self.end_sentence_id = self._id[END_SENTENCE]
        self.unknown_id = self._id[UNKNOWN]

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token) -> bool:
        return token in self._id

    def __eq__(self, other) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self.tokens == other.tokens and self.counts == other.counts

    def __hash__(self) -> int:
        return hash(self.tokens)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} words)"

    def fingerprint(self) -> str:
        """A SHA-256 of the words in their order, to tell vocabularies apart by."""
        text = "".join(f"{token}\n" for token in self.tokens)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def ids(self, tokens: Iterable[str]) -> np.ndarray:
        """Ids of words: int32, (len(tokens),); those of unknown words are `<UNK>`'s."""
        find, unknown = self._id.get, self.unknown_id
        return np.array([find(token, unknown) for token in tokens], "int32")

    def check_order(self, counts: Sequence[int] | None = None) -> bool:
        """Whether counts fall from word to word behind the specials; warns if not.

        Args:
            counts: int, one a word, for example those of a corpus; None for the
                vocabulary's own.

        Returns:
            bool, True where there is nothing to check.
        """
        counts = self.counts if counts is None else counts
        if counts is None:
            return True
        previous = None
        for token, count in zip(self.tokens, counts, strict=True):
            if token in SPECIALS:
                continue
            if previous is not None and count > previous[1]:
                warnings.warn(
                    "The vocabulary is not sorted by falling counts: "
                    f"{token!r} ({count}) stands behind {previous[0]!r} "
                    f"({previous[1]}). Sampled softmax draws negatives by their rank: "
                    "frequent words far behind come too seldom, and training takes "
                    "longer. Sort the vocabulary by frequency, but for one that goes "
                    "with trained weights, whose rows must stay.",
                    UserWarning,
                    stacklevel=2,
                )
                return False
            previous = token, count
        return True

    @classmethod
    def read(cls, path: str | PathLike) -> "Vocabulary":
        """Reads a file with one word a line, or `word<TAB>count` on every line.

        UTF-8 whatever the locale, with or without a byte order mark, lines ending in
        LF or CRLF. Blank lines are skipped and `!!!MAXTERMID` lines are no words, as
        in bilm-tf; duplicates keep their rows.

        Raises:
            ValueError: naming the file, and the line where one is at fault.
        """
        tokens, counts = read_words(path)
        try:
            vocabulary = cls(tokens, counts)
        except ValueError as error:
            raise ValueError(f"`{path}`: {error}") from None
        vocabulary.check_order()
        return vocabulary

    def write(self, path: str | PathLike, overwrite: bool = False) -> None:
        """Writes a file that `read` reads: one word a line, its count behind a tab.

        Raises:
            FileExistsError: when `path` exists and `overwrite` is False.
            ValueError: when a word could not be read back.
        """
        for row, token in enumerate(self.tokens):
            if not _is_readable(token, is_first=row == 0):
                raise ValueError(
                    f"Word {row} of the vocabulary cannot stand on a line of a file: "
                    f"{token!r}."
                )
        if self.counts is None:
            lines = self.tokens
        else:
            lines = [
                f"{token}\t{count}"
                for token, count in zip(self.tokens, self.counts, strict=True)
            ]
        text = "".join(f"{line}\n" for line in lines)
        with atomic_path(path, overwrite=overwrite) as temporary:
            temporary.write_bytes(text.encode("utf-8"))


def check_vocabulary(vocabulary: object) -> None:
    """An error that names the argument where it is no `Vocabulary`."""
    if not isinstance(vocabulary, Vocabulary):
        rule = "a keras_elmo.text.Vocabulary, or None"
        raise TypeError(checks.received("vocabulary", vocabulary, rule))


def read_words(path: str | PathLike) -> tuple[list[str], list[int] | None]:
    """The words of a file that `Vocabulary.read` reads, the special ones or not.

    Args:
        path: the file.

    Returns:
        list of str, and list of int where the file has counts, else None.

    Raises:
        ValueError: naming the file and the line that is at fault.
    """
    lines = list(read_lines(path))
    blank = [number for number, line in enumerate(lines, 1) if not line.strip()]
    if blank:
        _warn(path, f"{len(blank)} blank lines skipped", blank)
    words = [
        (number, line)
        for number, line in enumerate(lines, 1)
        if line.strip() and line != _NO_WORD
    ]
    tokens, counts = _columns(path, words)
    seen: set[str] = set()
    duplicates = []
    for (number, _), token in zip(words, tokens, strict=True):
        if token in seen:
            duplicates.append(number)
        seen.add(token)
    if duplicates:
        _warn(path, "words that stood before keep both rows", duplicates)
    return tokens, counts


def build_vocabulary(
    sentences: Iterable[Iterable[str]],
    min_count: int = 1,
    max_size: int | None = None,
) -> Vocabulary:
    """The vocabulary of a corpus: the specials, then words by falling count.

    Words of one count are in alphabetical order, so that a corpus read in another
    order gives the same vocabulary.

    Args:
        sentences: iterable of token sequences.
        min_count: int, how often a word must occur.
        max_size: int, words at most, the three specials included, or None.

    Returns:
        `Vocabulary` with counts. `<S>` and `</S>` count the sentences, `<UNK>` the
        tokens of the words that were left out.
    """
    counts: Counter[str] = Counter()
    number = 0
    for sentence in sentences:
        counts.update(sentence)
        number += 1
    return _from_counts(counts, number, min_count, max_size)


def build_vocabulary_from_files(
    paths: Iterable[str | PathLike],
    tokenize: Callable[[str], list[str]] = whitespace_tokenize,
    min_count: int = 1,
    max_size: int | None = None,
) -> Vocabulary:
    """The vocabulary of text files, one sentence a line; `.gz` is read as such.

    Args:
        paths: the files.
        tokenize: text to tokens.
        min_count: as in `build_vocabulary`.
        max_size: as in `build_vocabulary`.
    """
    return build_vocabulary(read_sentences(paths, tokenize), min_count, max_size)


def build_vocabulary_from_counts(
    counts: Mapping[str, int],
    number_of_sentences: int,
    min_count: int = 1,
    max_size: int | None = None,
) -> Vocabulary:
    """The vocabulary of a corpus that was counted: that of `build_vocabulary`.

    Args:
        counts: token to how often it occurs.
        number_of_sentences: int, the count of `<S>` and `</S>`.
        min_count: as in `build_vocabulary`.
        max_size: as in `build_vocabulary`.
    """
    if not isinstance(counts, Counter):
        counts = Counter(counts)
    return _from_counts(counts, number_of_sentences, min_count, max_size)


def _from_counts(counts, number_of_sentences, min_count, max_size):
    min_count = checks.positive_int("min_count", min_count)
    if max_size is not None:
        max_size = checks.positive_int("max_size", max_size, minimum=len(SPECIALS) + 1)
    total = sum(counts.values()) - sum(counts[token] for token in SPECIALS)
    words = sorted(
        (
            (token, count)
            for token, count in counts.items()
            if count >= min_count and token not in SPECIALS and _is_readable(token)
        ),
        key=lambda word: (-word[1], word[0]),
    )
    if max_size is not None:
        words = words[: max_size - len(SPECIALS)]
    unknown = counts[UNKNOWN] + total - sum(count for _, count in words)
    special_counts = [number_of_sentences, number_of_sentences, unknown]
    return Vocabulary(
        [*SPECIALS, *(token for token, _ in words)],
        [*special_counts, *(count for _, count in words)],
    )


def _is_readable(token, is_first=True):
    """Whether `read` finds a word again that stands on a line, or the first, alone."""
    if not token.strip() or "\n" in token or "\t" in token or token == _NO_WORD:
        return False
    # A carriage return at the end would be taken for part of the line's end, a byte
    # order mark for the file's, and a lone surrogate has no bytes.
    if token.endswith("\r") or (is_first and token.startswith("\ufeff")):
        return False
    return not any("\ud800" <= character <= "\udfff" for character in token)


def _columns(path, words):
    """Words and their counts, or None where the file has none."""
    if not any("\t" in line for _, line in words):
        return [line for _, line in words], None
    tokens, counts = [], []
    for number, line in words:
        token, tab, count = line.partition("\t")
        if not tab or not token or not (count.isascii() and count.isdigit()):
            raise ValueError(
                f"`{path}` line {number}: expected `word<TAB>count` as on the other "
                f"lines. Received: {line!r}."
            )
        tokens.append(token)
        counts.append(int(count))
    return tokens, counts


def _warn(path, what, numbers):
    listed = ", ".join(map(str, numbers[:5])) + (", …" if len(numbers) > 5 else "")
    warnings.warn(f"`{path}`: {what}: line {listed}.", UserWarning, stacklevel=4)
