"""Files from the web: whole, as published, and gone on with where a try broke off.

`keras.utils.get_file` begins again from the first byte, waits for ever for a server
that has gone silent, and takes what a killed process left behind for the whole file
where no checksum is known. Files of hundreds of megabytes need better.
"""

import contextlib
import hashlib
import http.client
import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from keras_elmo._version import __version__

# Seconds without a byte before a server is given up.
TIMEOUT = 30.0
CHUNK = 1 << 18
# Connections that break off after some bytes are taken up again, so often at most.
TRIES = 5


@dataclass(frozen=True)
class RemoteFile:
    """A file that somebody published.

    Args:
        name: str, what it is called here.
        addresses: of the file; the next one is tried where one fails.
        size: int, bytes, or None where not known.
        sha256: str, hexadecimal, or None where not known.
    """

    name: str
    addresses: tuple[str, ...]
    size: int | None = None
    sha256: str | None = None


def fetch(file: RemoteFile, folder: str | os.PathLike) -> Path:
    """Puts a published file into a folder, where it is not there yet.

    A download that broke off lies beside it as `NAME.part` and is gone on with, when
    the server still has the same file.

    Args:
        file: `RemoteFile`.
        folder: of an existing directory.

    Returns:
        pathlib.Path of the file.

    Raises:
        ConnectionError: when no address gave the file, with what each answered.
        ValueError: when what is there, or what came, is not the published file.
    """
    target = Path(folder) / file.name
    if target.exists():
        # Perhaps put there by hand.
        _check(file, target, f"Remove `{target}` to fetch it again.")
        return target
    answers = []
    for address in file.addresses:
        try:
            partial = _Partial(target, address)
            _download(partial)
        except ConnectionError as error:
            answers.append(f"{address}: {error}")
            continue
        try:
            _check(file, partial.path, f"It came from {address} and was removed.")
        except ValueError:
            partial.remove()
            raise
        partial.move_to(target)
        return target
    raise ConnectionError("; ".join(answers))


def _check(file, path, remedy):
    """ValueError when a file is not the published one, as far as that is known."""
    size = path.stat().st_size
    if file.size is not None and size != file.size:
        raise ValueError(
            f"`{path}` must have {file.size:,} bytes. Received: {size:,}. {remedy}"
        )
    if file.sha256 is None:
        return
    with open(path, "rb") as content:
        sha256 = hashlib.file_digest(content, "sha256").hexdigest()
    if sha256 != file.sha256.lower():
        raise ValueError(
            f"`{path}` must have the SHA-256 checksum {file.sha256}. Received: "
            f"{sha256}. {remedy}"
        )


class _Partial:
    """A download on its way: its bytes, and of which file they are."""

    def __init__(self, target, address):
        self.address = address
        self.path = target.with_name(f"{target.name}.part")
        self._note = target.with_name(f"{target.name}.part.json")

    @property
    def size(self):
        return self.path.stat().st_size if self.path.exists() else 0

    def validator(self):
        """What the server called the file that the bytes are of, or None."""
        try:
            note = json.loads(self._note.read_text(encoding="utf-8"))
            known = note["address"] == self.address
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return note.get("validator") if known else None

    def begin(self, validator):
        """Nothing is there yet; the file is told from another by `validator`."""
        self.remove()
        note = json.dumps({"address": self.address, "validator": validator})
        self._note.write_text(note, encoding="utf-8")

    def remove(self):
        self.path.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)

    def move_to(self, target):
        os.replace(self.path, target)
        self.remove()


def _download(partial):
    """Fetches what is missing of a file; ConnectionError when that ends too early."""
    print(f"keras_elmo: downloading {partial.address}", file=sys.stderr)
    for left in reversed(range(TRIES)):
        before = partial.size
        try:
            return _transfer(partial)
        except ConnectionError:
            if not left or partial.size <= before:
                raise


def _transfer(partial):
    validator = partial.validator() if partial.size else None
    headers = {"User-Agent": f"keras-elmo/{__version__}"}
    if validator:
        # The rest, if it is still the same file; else all of it.
        headers["Range"] = f"bytes={partial.size}-"
        headers["If-Range"] = validator
    with _opened(partial.address, headers) as response:
        if response is None or _is_another_part(response, partial.size, validator):
            if not validator:
                raise ConnectionError("the server gives a part of the file only")
            partial.remove()
            return _transfer(partial)
        start = partial.size
        if response.status != http.client.PARTIAL_CONTENT:
            partial.begin(_validator(response.headers))
            start = 0
        length = response.headers.get("Content-Length", "")
        total = start + int(length) if length.isdecimal() else None
        with (
            open(partial.path, "ab") as output,
            _progress(partial.address, start, total) as advance,
        ):
            while chunk := _read(response):
                output.write(chunk)
                advance(len(chunk))
    if total is not None and partial.size != total:
        raise ConnectionError(
            f"the connection broke off after {partial.size:,} of {total:,} bytes"
        )


def _is_another_part(response, start, validator):
    """Whether what comes is not the rest that was asked for."""
    return response.status == http.client.PARTIAL_CONTENT and not (
        response.headers.get("Content-Range", "").startswith(f"bytes {start}-")
        and _validator(response.headers) in (None, validator)
    )


@contextlib.contextmanager
def _opened(address, headers) -> Iterator[http.client.HTTPResponse | None]:
    """The answer of a server, or None where it has no such part of the file."""
    request = urllib.request.Request(address, headers=headers)
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        no_such_part = error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE
        if "Range" not in headers or not no_such_part:
            raise ConnectionError(f"HTTP {error.code} {error.reason}") from None
        response = None
    except urllib.error.URLError as error:
        raise ConnectionError(str(error.reason)) from None
    except (OSError, http.client.HTTPException) as error:
        raise ConnectionError(str(error) or type(error).__name__) from None
    with response or contextlib.nullcontext():
        yield response


def _read(response):
    try:
        return response.read(CHUNK)
    except (OSError, http.client.HTTPException) as error:
        # Not to be taken for an error of the disk, which no other address mends.
        raise ConnectionError(str(error) or type(error).__name__) from None


def _validator(headers):
    """What `If-Range` may name: a strong tag, or the time of the last change."""
    tag = headers.get("ETag", "")
    return tag if tag.startswith('"') else headers.get("Last-Modified")


@contextlib.contextmanager
def _progress(address, start, total):
    """Yields a function that takes bytes; shows a bar on a terminal."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        name = urllib.parse.urlsplit(address).path.rpartition("/")[2]
        task = progress.add_task(name, total=total, completed=start)
        yield lambda number: progress.advance(task, number)
