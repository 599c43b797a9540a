"""Protein sequences in FASTA files, by SeqVec's rules: each residue is a token.

Reference: Heinzinger et al. 2019, doi 10.1186/s12859-019-3220-8; SeqVec
`seqvec/seqvec.py`, `read_fasta`.
"""

import re
from collections.abc import Iterator
from os import PathLike
from typing import NamedTuple

from keras_elmo.lines import read_lines

STANDARD_RESIDUES = frozenset("ACDEFGHIKLMNPQRSTVWY")
UNKNOWN_RESIDUE = "X"
# Gaps of an alignment are no residues.
_GAPS = str.maketrans("", "", "-.")
_STOP = "*"
_NO_RESIDUE = re.compile(r"[^A-Z*]")


class FastaRecord(NamedTuple):
    """One sequence of a FASTA file.

    Args:
        identifier: str, the first word after ">"; "" where nothing stands there.
        residues: str, capital letters.
        line: int, where its header stands, from 1.
    """

    identifier: str
    residues: str
    line: int


def read_fasta(path: str | PathLike, on_bytes=None) -> Iterator[FastaRecord]:
    """The sequences of a FASTA file, one at a time.

    As SeqVec reads them: lines are joined, white space is dropped, lower case is made
    upper case, and every letter is a residue of its own, U, O, B, Z and X too. Where
    SeqVec would take them for residues, gaps ("-" and ".") and a stop ("*") at the end
    are left out, and a stop within is an X. Where SeqVec would keep the last record of
    an identifier, all are kept. Blank lines and lines that begin with ";" are passed
    over.

    Args:
        path: of the file; one that ends in `.gz` is unpacked.
        on_bytes: function called with the number of bytes of each line, or None.

    Raises:
        FileNotFoundError: when there is no such file.
        ValueError: when a line is not UTF-8, stands before the first header or holds
            what is no residue, naming file and line.

    Example:
    ```python
    # >sp|P1|A first
    # SEQ
    # wence*
    [record.residues for record in read_fasta("one.fasta")]  # ["SEQWENCE"]
    ```
    """
    header, parts = None, []
    for number, line in enumerate(read_lines(path, on_bytes), 1):
        if line.startswith(">"):
            if header is not None:
                yield _record(header, parts)
            header, parts = (line, number), []
        elif line and not line.isspace() and not line.startswith(";"):
            if header is None:
                raise ValueError(
                    f"`{path}` line {number}: residues before the first header (a "
                    'line that begins with ">").'
                )
            parts.append(_residues(line, path, number))
    if header is not None:
        yield _record(header, parts)


def _residues(line, path, number):
    # Before `upper`, which makes two letters of some.
    text = "".join(line.split()).translate(_GAPS)
    residues = text.upper() if text.isascii() else text
    wrong = _NO_RESIDUE.search(residues)
    if wrong:
        raise ValueError(f"`{path}` line {number}: {wrong[0]!r} is no residue.")
    return residues


def _record(header, parts):
    line, number = header
    identifier = "".join(line[1:].split(maxsplit=1)[:1])
    residues = "".join(parts).rstrip(_STOP).replace(_STOP, UNKNOWN_RESIDUE)
    return FastaRecord(identifier, residues, number)


def count_unusual(residues: str) -> int:
    """How many residues are none of the twenty standard ones."""
    return sum(residues.count(letter) for letter in {*residues} - STANDARD_RESIDUES)
