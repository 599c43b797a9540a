"""Words in context: the pairs of SemEval-2021 task 2 (MCL-WiC)."""

from collections.abc import Callable
from os import PathLike

from keras_elmo.files import read_json
from keras_elmo.tasks.labelled import LabelledPair
from keras_elmo.tasks.squad import tokenize_with_offsets

Offsets = list[tuple[int, int]]


def read_mcl_wic(
    data_path: str | PathLike,
    gold_path: str | PathLike,
    tokenize: Callable[[str], tuple[list[str], Offsets]] = tokenize_with_offsets,
) -> list[LabelledPair]:
    """Reads pairs of sentences, where a word in both has one meaning or two.

    Args:
        data_path: the JSON file of sentences, `*.data`.
        gold_path: the JSON file of their tags, `*.gold`.
        tokenize: text to (tokens, offsets), as `tokenize_with_offsets` does it. The
            texts must be split in the same way later.

    Returns:
        list of `LabelledPair` in the order of the sentences, with the positions of the
        word in question: the first token that shares a character with it. The labels
        are "T", one meaning, and "F", two.

    Raises:
        ValueError: naming the file and the entry, when an entry is not of the form, a
            word is in no token, or the two files do not have the same ids.

    Reference: Martelli et al. 2021, SemEval-2021 task 2.

    Example:
    ```python
    pairs = read_mcl_wic("dev.en-en.data", "dev.en-en.gold")
    ```
    """
    tags: dict[str, str] = {}
    for where, entry in _entries(gold_path):
        if entry["id"] in tags or entry.get("tag") not in ("T", "F"):
            raise ValueError(f"{where}: expected one tag an id, T or F: {entry!r}.")
        tags[entry["id"]] = entry["tag"]
    examples = []
    for where, entry in _entries(data_path):
        if entry["id"] not in tags:
            raise ValueError(f"{where}: no tag in `{gold_path}`, or a second entry.")
        text_a, index_a = _side(entry, "1", where, tokenize)
        text_b, index_b = _side(entry, "2", where, tokenize)
        tag = tags.pop(entry["id"])
        examples.append(LabelledPair(text_a, text_b, tag, index_a, index_b))
    if tags:
        raise ValueError(
            f"`{data_path}` lacks {len(tags)} ids that `{gold_path}` has, for example "
            f"{next(iter(tags))}."
        )
    return examples


def _entries(path):
    """Each (where it stands, entry) of a JSON list of objects with an id."""
    entries = read_json(path, largest=None)
    if not isinstance(entries, list):
        raise ValueError(f"`{path}` must hold a JSON list.")
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
            raise ValueError(f"`{path}` entry {number}: expected an object with an id.")
        yield f"`{path}` entry {number} ({entry['id']})", entry


def _side(entry, side, where, tokenize):
    """One sentence of an entry, and the position of its word."""
    text = entry.get(f"sentence{side}")
    # Written as texts in the published files.
    span = [str(entry.get(f"{end}{side}")) for end in ("start", "end")]
    if isinstance(text, str) and all(place.isdecimal() for place in span):
        start, end = map(int, span)
        for position, (first, last) in enumerate(tokenize(text)[1]):
            if max(first, start) < min(last, end):
                return text, position
    raise ValueError(
        f"{where}: `start{side}` and `end{side}` must enclose a word of "
        f"`sentence{side}`. Received: {span}, {text!r}."
    )
