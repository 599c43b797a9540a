"""Files to be embedded: sentences out of text, proteins out of FASTA files."""

import re
from os import PathLike
from pathlib import Path

from keras_elmo import checks
from keras_elmo.lines import read_lines
from keras_elmo.text.fasta import count_unusual, read_fasta
from keras_elmo.text.tokenizers import get_tokenizer


class TextInput:
    """A text file, one sentence a line; a blank line is a sentence of no tokens.

    Args:
        path: of UTF-8 text; `.gz` is unpacked.
        tokenizer: "whitespace" or "unicode", how lines are split.

    Attributes:
        counts: dict of what was read so far.
    """

    # What an item's name is, and which sum of layers is meant where none is named.
    label, layers = "text", "mix"

    def __init__(self, path, tokenizer="whitespace"):
        self._path, self._tokenize = path, get_tokenizer(tokenizer)
        self.counts = {"sentences": 0, "tokens": 0, "truncated_tokens": 0}

    def read(self, tokenizer, on_bytes=None):
        """Yields (line, tokens), one at a time.

        Args:
            tokenizer: `ElmoTokenizer` of the model that is to read them.
            on_bytes: as in `read_lines`.
        """
        for line in read_lines(self._path, on_bytes):
            tokens = self._tokenize(line)
            self.counts["sentences"] += 1
            self.counts["tokens"] += len(tokens)
            self.counts["truncated_tokens"] += tokenizer.count_truncated(tokens)
            yield line, tokens


class FastaInput:
    """A FASTA file, each protein a sentence and each residue a token.

    Args:
        path: of the file; `.gz` is unpacked.
        tokenizer: "whitespace": residues are not split in another way.

    Attributes:
        counts: dict of what was read so far.
    """

    label, layers = "identifier", "sum"

    def __init__(self, path, tokenizer="whitespace"):
        if tokenizer != "whitespace":
            rule = "'whitespace' for a FASTA file, where each residue is a token"
            raise ValueError(checks.received("tokenizer", tokenizer, rule))
        self._path = path
        self.counts = {"proteins": 0, "residues": 0, "unusual_residues": 0}

    def read(self, tokenizer, on_bytes=None):
        """Yields (identifier, residues), one at a time, as `TextInput.read` does."""
        for record in read_fasta(self._path, on_bytes):
            self.counts["proteins"] += 1
            self.counts["residues"] += len(record.residues)
            self.counts["unusual_residues"] += count_unusual(record.residues)
            yield record.identifier, list(record.residues)


INPUTS = {"text": TextInput, "fasta": FastaInput}
_FASTA_NAME = re.compile(r"\.(fasta|faa|fa|fas)(\.gz)?$", re.IGNORECASE)


def open_input(
    path: str | PathLike,
    input_format: str | None = None,
    tokenizer: str = "whitespace",
) -> TextInput | FastaInput:
    """What reads a file.

    Args:
        path: of the file.
        input_format: a key of `INPUTS`, or None for what `path` ends in.
        tokenizer: "whitespace" or "unicode", how text is split.

    Raises:
        FileNotFoundError: when there is no such file.
        ValueError: when an option is none of these.
    """
    path = Path(path)
    if input_format is None:
        input_format = "fasta" if _FASTA_NAME.search(path.name) else "text"
    checks.one_of("input_format", input_format, INPUTS)
    source = INPUTS[input_format](path, tokenizer)
    if not path.is_file():
        raise FileNotFoundError(f"`{path}` does not exist or is not a file.")
    return source
