"""Text files as lines, whatever their line ends, byte order mark or locale."""

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from pathlib import Path

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_lines(path: str | PathLike, on_bytes=None) -> Iterator[str]:
    """Lines of a UTF-8 file, one at a time, without their ends.

    Lines end in LF or CRLF and in nothing else: U+2028 and its like stay inside.

    Args:
        path: text file; one that ends in `.gz` is unpacked.
        on_bytes: function called with the number of bytes of each line, or None.

    Raises:
        FileNotFoundError: when there is no such file.
        ValueError: when a line is not UTF-8, naming file and line, or when a packed
            file is damaged.
    """
    path = Path(path)
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rb") as file:
        yield from decode_lines(file, path, on_bytes)


def decode_lines(file, name, on_bytes=None, first=1) -> Iterator[str]:
    """As `read_lines`, of a file that is open.

    Args:
        file: open for reading bytes.
        name: what errors call it.
        on_bytes: function called with the number of bytes of each line, or None.
        first: int, the number of the line at which the file stands.
    """
    for number, raw in enumerate(_whole(file, name), first):
        line = raw.removeprefix(BYTE_ORDER_MARK) if number == 1 else raw
        try:
            yield line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"`{name}` line {number}: not UTF-8 ({error.reason}, byte "
                f"0x{line[error.start]:02x} at {error.start})."
            ) from None
        if on_bytes is not None:
            on_bytes(len(raw))


def read_sentences(
    paths: Iterable[str | PathLike], tokenize: Callable[[str], list[str]]
) -> Iterator[list[str]]:
    """The tokens of each line of text files, but for lines that have none.

    Args:
        paths: the files, as `read_lines` reads them.
        tokenize: text to tokens.
    """
    lines = (line for path in paths for line in read_lines(path))
    return filter(None, map(tokenize, lines))


def _whole(file, path):
    """The lines of a file, or an error that names it where it cannot be unpacked."""
    try:
        yield from file
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"`{path}` cannot be unpacked: {error}.") from None
