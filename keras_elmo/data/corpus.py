"""A corpus as numbers: which token stands where, and what each token is.

`prepare` makes the store; see its docstring for the files.
"""

import hashlib
import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from keras_elmo import checks
from keras_elmo.data.corpus_files import (
    CHARACTER_DTYPE,
    CHARACTERS_FILE,
    OFFSET_DTYPE,
    OFFSETS_FILE,
    TOKEN_DTYPE,
    TOKENS_FILE,
    TYPES_FILE,
    VOCABULARY_FILE,
    check_offsets,
    check_range,
    check_types_file,
    existing_file,
    open_array,
    read_numbers,
)
from keras_elmo.text.characters import (
    END_WORD_ID,
    NUM_CHARACTER_IDS,
    check_sentences,
    distinct_tokens,
    encode_tokens,
)
from keras_elmo.text.vocabulary import Vocabulary, build_vocabulary_from_counts


class Corpus:
    """Sentences as type numbers, with the vocabulary row and characters of each type.

    A type is a distinct token. Types below V, the vocabulary's length, are the rows of
    the vocabulary; behind them come the other tokens of the text.

    Args:
        tokens: int32, (tokens,), the types of all sentences in a row, without
            sentence markers.
        offsets: int64, (sentences + 1,): sentence i is
            `tokens[offsets[i] : offsets[i + 1]]`.
        characters: int, (types, C), character ids of each type.
        vocabulary: `Vocabulary`.
        types: sequence of str, the types; or the path of a file with one a line.

    Example:
    ```python
    corpus = Corpus.from_sentences([["the", "bank"], ["a", "bank"]])
    corpus.targets(corpus.tokens)  # [5, 3, 4, 3]: rows of the vocabulary
    ```
    """

    def __init__(
        self,
        tokens: np.ndarray,
        offsets: np.ndarray,
        characters: np.ndarray,
        vocabulary: Vocabulary,
        types: Sequence[str] | Path,
    ):
        self.tokens = tokens
        self.offsets = offsets
        self.vocabulary = vocabulary
        # A plain view: indexing a memmap makes memmaps, slowly.
        self._characters = np.asarray(characters)
        self._types = types
        self._path: str | None = None
        self._fingerprint: str | None = None

    def __len__(self) -> int:
        return self.num_sentences

    def __repr__(self) -> str:
        return (
            f"Corpus({self.num_sentences} sentences, {self.num_tokens} tokens, "
            f"{self.num_types} types, {self.vocabulary})"
        )

    def __reduce__(self):
        # A memory-mapped array would travel to another process with all it holds.
        if self._path is not None:
            return Corpus.read, (self._path,)
        arrays = self.tokens, self.offsets, self._characters
        return Corpus, (*arrays, self.vocabulary, self._types)

    def fingerprint(self) -> str:
        """A SHA-256 of the sentences and characters, to tell corpora apart by.

        Sentences in another order are another corpus. It is taken once: the arrays
        are not to be changed.
        """
        if self._fingerprint is None:
            digest = hashlib.sha256()
            for array in (self.offsets, self.tokens, self._characters):
                digest.update(f"{array.dtype} {array.shape}".encode())
                digest.update(np.ascontiguousarray(array).data)
            self._fingerprint = digest.hexdigest()
        return self._fingerprint

    @property
    def num_sentences(self) -> int:
        """Sentences; none is empty."""
        return len(self.offsets) - 1

    @property
    def num_tokens(self) -> int:
        """Tokens of all sentences, without sentence markers."""
        return len(self.tokens)

    @property
    def num_types(self) -> int:
        """Rows of the vocabulary, and the distinct tokens that it lacks."""
        return len(self._characters)

    @property
    def max_characters_per_token(self) -> int:
        """Character ids a type has (C)."""
        return self._characters.shape[1]

    @cached_property
    def types(self) -> Sequence[str]:
        """The types as text, by number."""
        if isinstance(self._types, Path):
            return self._types.read_bytes().decode("utf-8").split("\n")[:-1]
        return self._types

    def targets(self, types) -> np.ndarray:
        """Rows of the vocabulary, 0 to V - 1; those of words it lacks are `<UNK>`'s.

        Args:
            types: int, any shape, numbers of types.

        Returns:
            int32, the same shape.
        """
        types = self._check_types(types)
        unknown = self.vocabulary.unknown_id - 1
        return np.where(types < len(self.vocabulary), types, unknown).astype("int32")

    def input_ids(
        self, types, input_kind: str, max_characters_per_token: int | None = None
    ) -> np.ndarray:
        """What a model reads for types: word ids or character ids.

        Args:
            types: int, any shape, numbers of types.
            input_kind: "words" or "characters".
            max_characters_per_token: int, character ids a token (C), or None for the
                store's.

        Returns:
            int32, the shape of `types` for words (row of the vocabulary + 1), and
            C more for characters, as `encode_tokens` makes them.

        Raises:
            ValueError: when the store holds fewer characters a token.
        """
        if input_kind == "words":
            return self.targets(types) + 1
        if input_kind != "characters":
            raise ValueError(
                checks.received("input_kind", input_kind, "'words' or 'characters'")
            )
        stored = self.max_characters_per_token
        if max_characters_per_token is None:
            max_characters_per_token = stored
        width = checks.positive_int(
            "max_characters_per_token", max_characters_per_token, minimum=3
        )
        if width > stored:
            raise ValueError(
                f"`max_characters_per_token` must be at most {stored}, what the corpus "
                f"was prepared with. Received: {width}. Prepare it again with "
                f"--max-characters {width}."
            )
        ids = self._characters[self._check_types(types), :width].astype("int32")
        if ids.size and ids.max() >= NUM_CHARACTER_IDS:
            raise ValueError(f"{self._named(CHARACTERS_FILE)} holds unknown ids.")
        if width < stored:
            # A byte in the last column is where the word goes on: cut there, as
            # `encode_tokens` cuts. Every other id stays: the word has ended.
            last = ids[..., -1]
            last[(last > 0) & (last <= 256)] = END_WORD_ID
        return ids

    @classmethod
    def read(cls, path: str | os.PathLike) -> "Corpus":
        """Opens a corpus directory; what is large stays on the disk.

        Args:
            path: directory that `prepare` made.

        Raises:
            FileNotFoundError: when there is no such corpus.
            ValueError: naming the file that is damaged or contradicts the others.
        """
        folder = Path(path)
        numbers, width = read_numbers(folder)
        types, sentences = numbers["types"], numbers["sentences"]
        shape = (numbers["tokens"],)
        tokens = open_array(folder / TOKENS_FILE, TOKEN_DTYPE, shape)
        offsets = open_array(folder / OFFSETS_FILE, OFFSET_DTYPE, (sentences + 1,))
        characters = open_array(
            folder / CHARACTERS_FILE, CHARACTER_DTYPE, (types, width)
        )
        check_offsets(folder / OFFSETS_FILE, offsets, len(tokens))
        check_range(folder / TOKENS_FILE, tokens, types)
        check_range(folder / CHARACTERS_FILE, characters, NUM_CHARACTER_IDS)
        vocabulary = Vocabulary.read(existing_file(folder / VOCABULARY_FILE))
        if len(vocabulary) != numbers["vocabulary_size"]:
            raise ValueError(
                f"`{folder / VOCABULARY_FILE}` must hold {numbers['vocabulary_size']} "
                f"words. Received: {len(vocabulary)}."
            )
        check_types_file(folder / TYPES_FILE, vocabulary, types)
        corpus = cls(tokens, offsets, characters, vocabulary, folder / TYPES_FILE)
        corpus._path = os.path.abspath(folder)
        return corpus

    @classmethod
    def from_sentences(
        cls,
        sentences: Iterable[Iterable[str]],
        vocabulary: Vocabulary | None = None,
        max_characters_per_token: int = 50,
    ) -> "Corpus":
        """A corpus in memory.

        Args:
            sentences: iterable of token sequences; empty ones are skipped.
            vocabulary: `Vocabulary`, or None for that of the sentences' own words.
            max_characters_per_token: int of at least 3 (C).

        Raises:
            TypeError: when a sentence is no sequence of str.
            ValueError: when no sentence has a token.
        """
        words, indices = distinct_tokens(filter(None, check_sentences(sentences)))
        if not indices:
            raise ValueError("`sentences` holds no sentences with a token.")
        tokens = np.concatenate(indices)
        counts = np.bincount(tokens)
        if vocabulary is None:
            numbered = dict(zip(words, counts.tolist(), strict=True))
            vocabulary = build_vocabulary_from_counts(numbered, len(indices))
        types, renumber = order_types(words, counts, vocabulary)
        characters = encode_tokens(types, max_characters_per_token)
        offsets = np.cumsum([0, *map(len, indices)], dtype=OFFSET_DTYPE)
        return cls(
            renumber[tokens],
            offsets,
            characters.astype(CHARACTER_DTYPE),
            vocabulary,
            types,
        )

    def _check_types(self, types):
        types = np.asarray(types)
        if types.dtype.kind not in "iu":
            raise TypeError(checks.received("types", types, "integers"))
        if types.size and (types.min() < 0 or types.max() >= self.num_types):
            wrong = types.min() if types.min() < 0 else types.max()
            raise ValueError(
                f"Numbers of types must lie from 0 to {self.num_types - 1}. Received: "
                f"{wrong}. Where they come from {self._named(TOKENS_FILE)}, it is "
                "damaged."
            )
        return types

    def _named(self, name):
        return f"`{name if self._path is None else os.path.join(self._path, name)}`"


def order_types(
    words: list[str], counts: np.ndarray, vocabulary: Vocabulary
) -> tuple[list[str], np.ndarray]:
    """Numbers types: the vocabulary's rows, then other words by falling count.

    Words of one count are in alphabetical order. A word that the vocabulary holds
    twice is its last row.

    Args:
        words: list of str, the distinct tokens of a text.
        counts: int, (words,), how often each is there.
        vocabulary: `Vocabulary`.

    Returns:
        list of str, the types; and int32, (words,), the type of each word.
    """
    types = vocabulary.ids(words) - 1
    missing = [number for number, word in enumerate(words) if word not in vocabulary]
    # Two sorts, the second one stable: tuples as keys would take most of the memory.
    missing.sort(key=words.__getitem__)
    rest = np.array(missing, "int64")
    rest = rest[np.argsort(-np.asarray(counts)[rest], kind="stable")]
    types[rest] = np.arange(len(vocabulary), len(vocabulary) + len(rest))
    return [*vocabulary.tokens, *(words[number] for number in rest)], types
