"""ELMoForManyLangs' dictionaries: tokens as characters, as words, or as both.

Its characters are code points, not bytes, and its tables have a row for each entry of
a dictionary. Ids are row + 1, so that 0 stays free for padding.

Reference: HIT-SCIR/ELMoForManyLangs `elmoformanylangs/elmo.py`, `utils.py`.
"""

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from keras_elmo import checks
from keras_elmo.files import atomic_path
from keras_elmo.lines import read_lines

CHARACTERS_FILE = "char.dic"
WORDS_FILE = "word.dic"
MARKERS = BEGIN_SENTENCE, END_SENTENCE = "<bos>", "<eos>"
UNKNOWN, PADDING = "<oov>", "<pad>"
# The original program takes the entry of the begin for the end, and the other way
# round; its models are trained so.
BEGIN_WORD, END_WORD = "<eow>", "<bow>"
IDEOGRAPHIC_SPACE = "\u3000"

_NEEDED = {
    "words": (UNKNOWN, *MARKERS),
    "characters": (UNKNOWN, PADDING, *MARKERS, BEGIN_WORD, END_WORD),
}


class Dictionaries:
    """The rows of ELMoForManyLangs' tables: a dict of words, of characters, or both.

    A token is first cut to C - 2 characters, for the look-up of the word too. Nothing
    is lower-cased or normalised; what is not in a dictionary is `<oov>`. A row of
    character ids is begin of word, the characters, end of word and `<pad>` up to C;
    `<bos>` and `<eos>` are one character each, and are not cut.

    Args:
        words: dict of str to int, each word's row; or None.
        characters: dict of str to int, each character's row; or None.

    Raises:
        ValueError: when both are None, or an entry is missing that is needed.

    Example:
    ```python
    words = {"<oov>": 0, "<bos>": 1, "<eos>": 2, "<pad>": 3, "the": 4}
    dictionaries = keras_elmo.text.Dictionaries(words=words)
    dictionaries.encode_tokens(["the", "bank"], 50)  # [5, 1]
    ```
    """

    def __init__(
        self,
        words: Mapping[str, int] | None = None,
        characters: Mapping[str, int] | None = None,
    ):
        if words is None and characters is None:
            raise ValueError("`words` or `characters` must be given.")
        self.words = None if words is None else dict(words)
        self.characters = None if characters is None else dict(characters)
        for name, entries in (("words", self.words), ("characters", self.characters)):
            if entries is None:
                continue
            missing = [entry for entry in _NEEDED[name] if entry not in entries]
            if missing:
                raise ValueError(
                    f"`{name}` must hold {', '.join(_NEEDED[name])}. Missing: "
                    f"{', '.join(missing)}."
                )

    def __eq__(self, other) -> bool:
        if not isinstance(other, Dictionaries):
            return NotImplemented
        return self.words == other.words and self.characters == other.characters

    def __hash__(self) -> int:
        return hash((len(self.words or ()), len(self.characters or ())))

    def __len__(self) -> int:
        """Words; characters where there are no words."""
        entries = self.characters if self.words is None else self.words
        return len(entries or ())

    def __repr__(self) -> str:
        words, characters = len(self.words or ()), len(self.characters or ())
        return f"Dictionaries({words} words, {characters} characters)"

    def as_json(self) -> str:
        """Which word and which character has which row, to tell models apart by."""
        return json.dumps([self.words, self.characters])

    def encode_tokens(
        self, tokens: Sequence[str], max_characters_per_token: int = 50
    ) -> np.ndarray:
        """Ids of tokens, one row a token.

        Args:
            tokens: sequence of str.
            max_characters_per_token: int of at least 3 (C).

        Returns:
            int32, (len(tokens),) for words, (len(tokens), C) for characters,
            (len(tokens), 1 + C) for both, the word first.
        """
        width = checks.positive_int(
            "max_characters_per_token", max_characters_per_token, minimum=3
        )
        tokens = [t if t in MARKERS else t[: width - 2] for t in tokens]
        parts = []
        if self.words is not None:
            find, unknown = self.words.get, self.words[UNKNOWN]
            ids = np.array([find(token, unknown) for token in tokens], "int32")
            parts.append(ids[:, None])
        if self.characters is not None:
            parts.append(self._spell(tokens, width))
        ids = np.concatenate(parts, axis=1) + np.int32(1)
        return ids[:, 0] if self.characters is None else ids

    def _spell(self, tokens, width):
        entries = self.characters
        assert entries is not None
        find, unknown = entries.get, entries[UNKNOWN]
        ids = np.full((len(tokens), width), entries[PADDING], "int32")
        for row, token in zip(ids, tokens, strict=True):
            spelled = [token] if token in MARKERS else token
            row[0] = entries[BEGIN_WORD]
            row[1 : len(spelled) + 1] = [find(c, unknown) for c in spelled]
            row[len(spelled) + 1] = entries[END_WORD]
        return ids

    @classmethod
    def read(
        cls,
        words: str | PathLike | None = None,
        characters: str | PathLike | None = None,
    ) -> "Dictionaries":
        """The dictionaries of files, as `read_dictionary` reads them.

        Args:
            words: path of the words' file, or None.
            characters: path of the characters' file, or None.
        """
        entries = [
            None if path is None else read_dictionary(path)[0]
            for path in (words, characters)
        ]
        try:
            return cls(*entries)
        except ValueError as error:
            paths = [f"`{path}`" for path in (words, characters) if path is not None]
            raise ValueError(f"{' and '.join(paths)}: {error}") from None

    def write(self, folder: str | PathLike, overwrite: bool = False) -> None:
        """Writes `word.dic` and `char.dic`, those that there are, into a folder.

        Raises:
            FileExistsError: when one exists and `overwrite` is False.
            ValueError: when an entry could not be read back.
        """
        for name, entries in (
            (WORDS_FILE, self.words),
            (CHARACTERS_FILE, self.characters),
        ):
            if entries is None:
                continue
            lines = (f"{entry}\t{row}\n" for entry, row in entries.items())
            with atomic_path(Path(folder) / name, overwrite=overwrite) as temporary:
                temporary.write_bytes("".join(lines).encode("utf-8"))
                if not _holds(temporary, entries):
                    raise ValueError(
                        f"`{name}`: an entry cannot stand in a file: it is empty, or "
                        "has a tab, a line's end, or white space in front."
                    )


def read_dictionary(path: str | PathLike) -> tuple[dict[str, int], int]:
    """The rows of a dictionary file by entry, and the number of its lines.

    UTF-8 whatever the locale, `entry<TAB>row` a line in any order, ends in LF or CRLF,
    with or without a byte order mark. White space at a line's ends is no part of it, as
    in the original program: a row alone is that of U+3000. Where several lines are
    left with a row alone, which the program cannot load, each is what it was before.
    Blank lines are skipped; of an entry that comes twice the last line counts.

    Raises:
        ValueError: naming the file and the line that is at fault.
    """
    entries: dict[str, int] = {}
    spaces: dict[str, int] = {}
    number_of_lines = 0
    for number, line in enumerate(read_lines(path), 1):
        stripped = line.strip()
        if not stripped:
            continue
        entry, tab, row = stripped.rpartition("\t")
        if "\t" in entry or not (row.isascii() and row.isdigit() and len(row) < 10):
            raise ValueError(
                f"`{path}` line {number}: expected `entry<TAB>row`. Received: "
                f"{line[:100]!r}."
            )
        number_of_lines += 1
        if not tab:
            raw = line.rstrip().rpartition("\t")[0]
            spaces[raw or IDEOGRAPHIC_SPACE] = int(row)
            entry = IDEOGRAPHIC_SPACE
        entries[entry] = int(row)
    if len(spaces) > 1:
        del entries[IDEOGRAPHIC_SPACE]
        entries.update(spaces)
    return entries, number_of_lines


def _holds(path, entries):
    try:
        return read_dictionary(path)[0] == entries
    except ValueError:
        return False
