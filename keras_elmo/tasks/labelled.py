"""Labelled texts and pairs of texts: tab-separated, JSON lines, TREC's questions."""

import json
import re
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Literal, NamedTuple

from keras_elmo import checks
from keras_elmo.lines import read_lines

# A cell in the label's column that makes the first line a header.
LABEL_HEADERS = ("label", "labels", "gold_label", "class", "tag")

_TREC = re.compile(r"([A-Z]+):(\w+) (.*)")

Header = bool | Literal["auto"]


class LabelledText(NamedTuple):
    """A text and its label."""

    text: str
    label: str


class LabelledPair(NamedTuple):
    """Two texts, their label, and a token of each where the label is about these.

    Attributes:
        text_a: str.
        text_b: str.
        label: str.
        index_a: int, position of a token of `text_a`, or None.
        index_b: int, position of a token of `text_b`, or None.
    """

    text_a: str
    text_b: str
    label: str
    index_a: int | None = None
    index_b: int | None = None


def read_labelled(
    path: str | PathLike,
    text_column: int | None = None,
    label_column: int | None = None,
    header: Header = "auto",
    form: Literal["auto", "tsv", "trec", "jsonl"] = "auto",
    fine: bool = False,
    encoding: str = "utf-8",
) -> list[LabelledText]:
    r"""Reads a file of labelled texts, one a line; blank lines are skipped.

    - "tsv": columns between tabs, as SST-2 has them; quotes are text like any other.
    - "trec": `COARSE:fine text`, the question classes of TREC.
    - "jsonl": `{"text": ..., "label": ...}`; other keys are passed over.

    Args:
        path: the file; one that ends in `.gz` is unpacked where it is UTF-8.
        text_column: int, the text's column of a TSV, counted from 0.
        label_column: int, the label's. Both are given, or neither: a TSV then has two
            columns, the text and the label.
        header: whether a TSV's first line names its columns; "auto" says yes where
            the label's column has one of `LABEL_HEADERS` there.
        form: what the lines are; "auto" goes by the first one, and is "tsv" where
            columns are given.
        fine: bool. The label of a TREC line is `COARSE:fine`, not `COARSE` alone.
        encoding: name of the file's encoding. TREC's training file is "latin-1".

    Returns:
        list of `LabelledText`. A label that is a number or a truth value in JSON is its
        text there: "1", "true".

    Raises:
        ValueError: naming file and line, when a line is not of the form or not in the
            encoding, and when the file holds no example.

    Reference: Socher et al. 2013 (SST); Li and Roth 2002 (TREC's question classes).

    Example:
    ```python
    with open("train.tsv", "w") as file:
        file.write("a stirring , funny film\t1\nno movement , no yuks\t0\n")
    texts, labels = zip(*read_labelled("train.tsv"))  # labels: ("1", "0")
    ```
    """
    # Columns that nobody chose are not passed over: which are text and label?
    columns = chosen_columns(text_column, label_column)
    text_at, label_at = columns or (0, 1)
    if form not in ("auto", "tsv", "trec", "jsonl"):
        raise ValueError(
            checks.received("form", form, '"auto", "tsv", "trec" or "jsonl"')
        )
    if columns and form == "auto":
        form = "tsv"
    examples = []
    for number, line, kind in _lines_of_a_kind(path, encoding, form):
        if kind == "jsonl":
            entry = _json_object(line, path, number)
            text, label = _text(entry, "text", path, number), entry.get("label")
        elif kind == "trec":
            text, label = _read_trec(line, fine, path, number)
        else:
            cells = line.split("\t")
            if not columns and len(cells) > 2:
                rule = "a text and a label between tabs; of more columns, "
                rule += "`text_column` and `label_column` say which are these"
                raise _error(path, number, rule, line)
            last = max(text_at, label_at)
            if len(cells) <= last:
                raise _error(
                    path, number, f"a column {last}, from 0, between tabs", line
                )
            text, label = cells[text_at], cells[label_at]
            if number == 1 and _is_header(label, header):
                continue
        examples.append(LabelledText(text, _label(label, path, number)))
    return _some(examples, path)


def chosen_columns(
    text_column: int | None, label_column: int | None
) -> tuple[int, int] | None:
    """The columns of a TSV that were chosen, or None where none were.

    Raises:
        ValueError: when they are no numbers of at least 0, the same, or one alone.
    """
    if text_column is None and label_column is None:
        return None
    columns = {"text_column": text_column, "label_column": label_column}
    for name, column in columns.items():
        if column is not None:
            checks.positive_int(name, column, minimum=0)
    if text_column is None or label_column is None or text_column == label_column:
        raise ValueError(
            "`text_column` and `label_column` must be two different columns, or "
            f"neither be given. Received: text_column={text_column}, "
            f"label_column={label_column}."
        )
    return text_column, label_column


def read_pairs(
    path: str | PathLike, header: Header = "auto", encoding: str = "utf-8"
) -> list[LabelledPair]:
    r"""Reads a file of labelled pairs, one a line; blank lines are skipped.

    A line holds `text_a`, `text_b` and `label`, and where the label is about one word
    of each text, `index_a` and `index_b`: the word's position among its text's tokens,
    counted from 0. It is a JSON object of these keys, or has them in this order between
    tabs. Whether a position is one that the text has, is seen where it is tokenized.

    Args:
        path: the file; one that ends in `.gz` is unpacked where it is UTF-8.
        header: whether a TSV's first line names its columns; "auto" says yes where the
            third is one of `LABEL_HEADERS`.
        encoding: name of the file's encoding.

    Returns:
        list of `LabelledPair`.

    Raises:
        ValueError: naming file and line, when a line is not of the form or not in the
            encoding, and when the file holds no example.

    Example:
    ```python
    with open("pairs.tsv", "w") as file:
        file.write("a river bank\tthe bank lends\tF\t2\t1\n")
    (pair,) = read_pairs("pairs.tsv")  # pair.index_a: 2
    ```
    """
    examples: list[LabelledPair] = []
    for number, line, kind in _lines_of_a_kind(path, encoding, "auto"):
        if kind == "jsonl":
            entry = _json_object(line, path, number)
            text_a = _text(entry, "text_a", path, number)
            text_b = _text(entry, "text_b", path, number)
            label = entry.get("label")
            indices = [entry.get("index_a"), entry.get("index_b")]
            if indices == [None, None]:
                indices = []
        else:
            cells = line.split("\t")
            if len(cells) not in (3, 5):
                rule = (
                    "text_a, text_b, label and, or not, index_a, index_b between tabs"
                )
                raise _error(path, number, rule, line)
            text_a, text_b, label, *indices = cells
            if number == 1 and _is_header(label, header):
                continue
        positions = [_index(index, path, number) for index in indices] or [None, None]
        label = _label(label, path, number)
        examples.append(LabelledPair(text_a, text_b, label, *positions))
    return _some(examples, path)


def _lines(path, encoding) -> Iterator[str]:
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        try:
            yield from read_lines(path)
        except ValueError as error:
            raise ValueError(
                f"{error} `encoding` says what another encoding the file has, for "
                "example 'latin-1'."
                if "not UTF-8" in str(error)
                else str(error)
            ) from None
        return
    # Lines are found before they are decoded, so that an error can name its line.
    try:
        splits = "\n".encode(encoding) == b"\n"
    except LookupError:
        splits = False
    if not splits:
        rule = "the name of an encoding that writes a line's end as one byte"
        raise ValueError(checks.received("encoding", encoding, rule))
    with Path(path).open("rb") as file:
        for number, raw in enumerate(file, 1):
            try:
                yield raw.decode(encoding).removesuffix("\n").removesuffix("\r")
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"`{path}` line {number}: not {encoding} ({error.reason}, byte "
                    f"0x{raw[error.start]:02x} at {error.start})."
                ) from None


def _lines_of_a_kind(path, encoding, form):
    """(number, line, form) of each line that is not blank."""
    for number, line in enumerate(_lines(path, encoding), 1):
        if not line.strip():
            continue
        if form == "auto":
            form = _guess(line)
            if form is None:
                raise _error(
                    path, number, "a tab, a JSON object or `COARSE:fine text`", line
                )
        yield number, line, form


def _guess(line):
    if line.startswith("{") and line.rstrip().endswith("}"):
        return "jsonl"
    if "\t" in line:
        return "tsv"
    return "trec" if _TREC.fullmatch(line) else None


def _read_trec(line, fine, path, number):
    match = _TREC.fullmatch(line)
    if match is None:
        raise _error(path, number, "`COARSE:fine text`", line)
    coarse, fine_label, text = match.groups()
    return text, f"{coarse}:{fine_label}" if fine else coarse


def _is_header(label, header):
    return label.strip().lower() in LABEL_HEADERS if header == "auto" else header


def _json_object(line, path, number):
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"`{path}` line {number}: no JSON ({error}).") from None
    if not isinstance(entry, dict):
        raise _error(path, number, "a JSON object", line)
    return entry


def _text(entry, key, path, number):
    if not isinstance(entry.get(key), str):
        raise _error(path, number, f"a text as `{key}`", entry.get(key))
    return entry[key]


def _label(value, path, number):
    """A label as a text that is not empty; white space around it is no part of it."""
    if isinstance(value, bool | int):
        value = json.dumps(value)
    if not isinstance(value, str) or not value.strip():
        raise _error(path, number, "a label, a text or an integer", value)
    return value.strip()


def _index(value, path, number):
    """A position, written as a number or, in a TSV, as its digits."""
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,9}", str(value).strip()):
        raise _error(path, number, "positions of tokens, integers from 0", value)
    return int(value)


def _some(examples, path):
    if not examples:
        raise ValueError(f"`{path}` holds no examples.")
    return examples


def _error(path, number, expected, value):
    shown = repr(value)
    shown = shown if len(shown) <= 80 else f"{shown[:79]}…"
    return ValueError(
        f"`{path}` line {number}: expected {expected}. Received: {shown}."
    )
