"""Sentences whose tokens are labelled: CoNLL's columns and CoNLL-U."""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from keras_elmo import checks
from keras_elmo.lines import read_lines

# CoNLL-U's columns that hold a tag.
_CONLLU_COLUMNS = 10
_CONLLU_TAGS = {"upos": 3, "xpos": 4}


class TaggedSentence(NamedTuple):
    """A sentence's tokens and a tag for each."""

    tokens: list[str]
    tags: list[str]


def read_columns(
    path: str | PathLike,
    tag: int | str | None = None,
    token_column: int = 0,
) -> list[TaggedSentence]:
    r"""Reads a file of one token a line, blank lines between sentences.

    Columns stand between tabs where a line has one, else between spaces: a token may
    hold other white space. CoNLL-U, a file that ends in `.conllu` or `.conllu.gz`, has
    comments, ranges of words that are one token on paper, and words that are not there
    on paper; all of these are passed over. So are the `-DOCSTART-` lines of
    CoNLL-2003.

    Args:
        path: the file; one that ends in `.gz` is unpacked.
        tag: which column holds the tag, from 0 or from the last, -1; by default the
            last. For CoNLL-U "upos", the default, or "xpos".
        token_column: int, which column holds the token. CoNLL-U has its own.

    Returns:
        list of `TaggedSentence`, in the order of the file.

    Raises:
        ValueError: naming file and line, when a line has not the columns, and when
            the file holds no sentence.

    Example:
    ```python
    with open("train.txt", "w") as file:
        file.write("The DT B-NP\ndog NN I-NP\n\nIt PRP B-NP\n")
    (sentence, _) = read_columns("train.txt")  # tags: ["B-NP", "I-NP"]
    ```
    """
    is_conllu = ".conllu" in Path(path).suffixes
    if is_conllu:
        tag = checks.one_of("tag", "upos" if tag is None else tag, tuple(_CONLLU_TAGS))
        rows = _conllu(path, _CONLLU_TAGS[tag])
    else:
        tag = -1 if tag is None else tag
        if isinstance(tag, str):
            raise ValueError(checks.received("tag", tag, "the number of a column"))
        rows = _columns(path, token_column, tag)
    sentences: list[TaggedSentence] = []
    tokens: list[str] = []
    tags: list[str] = []
    for row in rows:
        if row is not None:
            tokens.append(row[0])
            tags.append(row[1])
        elif tokens:
            sentences.append(TaggedSentence(tokens, tags))
            tokens, tags = [], []
    if tokens:
        sentences.append(TaggedSentence(tokens, tags))
    if not sentences:
        raise ValueError(f"`{path}` holds no sentence.")
    return sentences


def _columns(path, token_column, tag_column) -> Iterator[tuple[str, str] | None]:
    """(token, tag) of each line, None for the end of a sentence."""
    number_of_columns = None
    for number, line in enumerate(read_lines(path), 1):
        # What `str.strip` takes off may be a token: a no-break space is one in tweets.
        if not line.strip(" \t"):
            yield None
            continue
        cells = line.split("\t") if "\t" in line else line.split(" ")
        cells = [cell for cell in cells if cell] if "\t" not in line else cells
        if cells[0] == "-DOCSTART-":
            yield None
            continue
        if number_of_columns is None:
            number_of_columns = len(cells)
        if len(cells) != number_of_columns or len(cells) < 2:
            expected = max(number_of_columns, 2)
            raise ValueError(
                f"`{path}` line {number}: expected {expected} columns, as on the lines "
                f"before. Received: {line!r}."
            )
        try:
            token, tag = cells[token_column], cells[tag_column]
        except IndexError:
            raise ValueError(
                f"`{path}` line {number}: there are columns 0 to {len(cells) - 1}. "
                f"Asked for: {token_column} and {tag_column}."
            ) from None
        if not token or not tag:
            raise ValueError(
                f"`{path}` line {number}: token and tag must not be empty. Received: "
                f"{line!r}."
            )
        yield token, tag


def _conllu(path, tag_column) -> Iterator[tuple[str, str] | None]:
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            yield None
            continue
        if line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) != _CONLLU_COLUMNS:
            raise ValueError(
                f"`{path}` line {number}: expected {_CONLLU_COLUMNS} columns between "
                f"tabs. Received: {line!r}."
            )
        if "-" in cells[0] or "." in cells[0]:
            continue
        if not cells[1] or cells[tag_column] in ("", "_"):
            raise ValueError(
                f"`{path}` line {number}: the word has no form or no tag. Received: "
                f"{line!r}."
            )
        yield cells[1], cells[tag_column]
