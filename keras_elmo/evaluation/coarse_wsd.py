"""Uses of ambiguous words with their senses, in the folders of CoarseWSD-20."""

from os import PathLike
from pathlib import Path
from typing import NamedTuple

from keras_elmo.files import read_json
from keras_elmo.lines import read_lines


class WordUse(NamedTuple):
    """A sentence, the position of the word in question, and its sense."""

    tokens: list[str]
    position: int
    sense: str


def read_coarse_wsd(
    folder: str | PathLike,
) -> dict[str, tuple[list[WordUse], list[WordUse]]]:
    """Reads a folder that holds a folder for each word.

    A word's folder has `train.data.txt` and `test.data.txt`, a use a line: the position
    of the word, counted from 0, a tab, and tokens between spaces; `train.gold.txt` and
    `test.gold.txt`, each use's number of a sense; and `classes_map.txt`, a JSON object
    from these numbers to the senses' names. Other folders are passed over.

    Args:
        folder: the folder of words.

    Returns:
        dict from each word to its uses for training and for testing, words in order.

    Raises:
        FileNotFoundError: when a word's folder lacks one of the files.
        ValueError: when no word is there, or, naming file and line, when a line is not
            of the form, a position is outside of its sentence, a sense has no name, or
            there are more or fewer senses than uses.

    Reference: Loureiro et al. 2021, "Analysis and Evaluation of Language Models for
    Word Sense Disambiguation", arXiv:2008.11608.

    Example:
    ```python
    train, test = read_coarse_wsd("CoarseWSD-20")["bank"]
    ```
    """
    words = {}
    for path in sorted(Path(folder).iterdir()):
        if (path / "train.data.txt").is_file():
            senses = _senses(path / "classes_map.txt")
            train, test = (
                list(
                    _uses(path / f"{part}.data.txt", path / f"{part}.gold.txt", senses)
                )
                for part in ("train", "test")
            )
            words[path.name] = train, test
    if not words:
        raise ValueError(
            f"`{folder}` holds no word: folders with a train.data.txt are expected."
        )
    return words


def _senses(path):
    names = read_json(path, largest=None)
    if not isinstance(names, dict) or not all(
        isinstance(name, str) for name in names.values()
    ):
        raise ValueError(f"`{path}` must hold a JSON object of senses' names.")
    return names


def _uses(data_path, gold_path, senses):
    numbers = [line.strip() for line in read_lines(gold_path)]
    lines = list(read_lines(data_path))
    if len(numbers) != len(lines):
        raise ValueError(
            f"`{gold_path}` must have a line for each of the {len(lines)} of "
            f"`{data_path}`. Received: {len(numbers)}."
        )
    for number, (line, sense) in enumerate(zip(lines, numbers, strict=True), 1):
        position, tab, text = line.partition("\t")
        tokens = text.split()
        if not tab or not position.isdecimal() or int(position) >= len(tokens):
            raise ValueError(
                f"`{data_path}` line {number}: expected a token's position from 0, a "
                f"tab and the sentence. Received: {line[:80]!r}."
            )
        if sense not in senses:
            raise ValueError(
                f"`{gold_path}` line {number}: expected one of {sorted(senses)}. "
                f"Received: {sense!r}."
            )
        yield WordUse(tokens, int(position), senses[sense])
