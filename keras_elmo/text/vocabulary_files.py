"""The files of a model's vocabulary: words, or ELMoForManyLangs' dictionaries."""

from os import PathLike
from pathlib import Path

from keras_elmo.files import check_file_size
from keras_elmo.text.dictionaries import CHARACTERS_FILE, WORDS_FILE, Dictionaries
from keras_elmo.text.vocabulary import Vocabulary

VOCABULARY_FILE = "vocabulary.txt"
# The 800,000 words of the original models take 8 MB.
LARGEST_FILE = 2**27


def write_vocabulary(
    vocabulary: Vocabulary | Dictionaries | None, folder: str | PathLike
) -> None:
    """Writes a vocabulary's files into a folder; nothing where it is None."""
    if isinstance(vocabulary, Dictionaries):
        vocabulary.write(folder)
    elif vocabulary is not None:
        vocabulary.write(Path(folder) / VOCABULARY_FILE)


def read_vocabulary(folder: str | PathLike) -> Vocabulary | Dictionaries | None:
    """The vocabulary whose files lie in a folder, or None where there is none.

    Raises:
        ValueError: when one of them is no file, too large, or does not hold what it
            should.
    """
    found = {}
    for name in (VOCABULARY_FILE, WORDS_FILE, CHARACTERS_FILE):
        path = Path(folder) / name
        if path.exists():
            # A pipe would be waited for.
            if not path.is_file():
                raise ValueError(f"`{path}` must be a file.")
            check_file_size(path, LARGEST_FILE)
            found[name] = path
    if VOCABULARY_FILE in found:
        return Vocabulary.read(found[VOCABULARY_FILE])
    words, characters = found.get(WORDS_FILE), found.get(CHARACTERS_FILE)
    if words is None and characters is None:
        return None
    return Dictionaries.read(words, characters)
