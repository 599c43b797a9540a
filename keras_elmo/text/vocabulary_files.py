"""The files of a model's vocabulary: words, or ELMoForManyLangs' dictionaries."""

from os import PathLike
from pathlib import Path

from keras_elmo.text.dictionaries import CHARACTERS_FILE, WORDS_FILE, Dictionaries
from keras_elmo.text.vocabulary import Vocabulary

VOCABULARY_FILE = "vocabulary.txt"


def write_vocabulary(
    vocabulary: Vocabulary | Dictionaries | None, folder: str | PathLike
) -> None:
    """Writes a vocabulary's files into a folder; nothing where it is None."""
    if isinstance(vocabulary, Dictionaries):
        vocabulary.write(folder)
    elif vocabulary is not None:
        vocabulary.write(Path(folder) / VOCABULARY_FILE)


def read_vocabulary(folder: str | PathLike) -> Vocabulary | Dictionaries | None:
    """The vocabulary whose files lie in a folder, or None where there is none."""
    folder = Path(folder)
    if (folder / VOCABULARY_FILE).exists():
        return Vocabulary.read(folder / VOCABULARY_FILE)
    words, characters = (
        path if path.exists() else None
        for path in (folder / WORDS_FILE, folder / CHARACTERS_FILE)
    )
    if words is None and characters is None:
        return None
    return Dictionaries.read(words, characters)
