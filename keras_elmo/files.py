"""Files that are written whole or not at all, and JSON that says where it is broken."""

import contextlib
import errno
import importlib
import json
import os
import re
import secrets
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

fcntl: Any = None  # on Windows
with contextlib.suppress(ImportError):
    fcntl = importlib.import_module("fcntl")

# What a temporary name starts with: a process that was killed leaves one behind, and
# it should be seen what it is.
TEMPORARY_PREFIX = ".tmp-"
ASIDE_PREFIX = ".old-"
# Of JSON that describes something: settings, a model's sizes. None has a tenth of it.
LARGEST_DESCRIPTION = 2**20


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike, overwrite: bool = False) -> Iterator[Path]:
    """Yields a temporary name beside `path`, and moves what is made there to `path`.

    The body makes a file or a directory at the yielded name, which ends as `path`
    ends. When the body raises, what it made is removed and `path` stays as it was.
    A symbolic link is followed, as `open` does.

    Args:
        path: the file or directory to write.
        overwrite: bool. Replace what is there: a file by a file, a directory by a
            directory.

    Yields:
        pathlib.Path, absolute, in the same folder as `path`, of nothing that exists.

    Raises:
        FileExistsError: when `path` exists and `overwrite` is False, at the start or
            when another writer was faster.
        FileNotFoundError: when the folder of `path` does not exist, or the body made
            nothing.
        IsADirectoryError, NotADirectoryError: when one kind would replace the other.
        PermissionError: when nothing may be written in the folder of `path`.
        ValueError: when `path` is a directory that the current one lies in.

    Example:
    ```python
    with atomic_path("out.txt") as temporary:
        temporary.write_text("all or nothing")
    ```
    """
    target = Path(os.path.realpath(path))
    _check_target(path, target, overwrite)
    temporary = _sibling(target, TEMPORARY_PREFIX)
    try:
        yield temporary
        _flush(temporary)
        _move(temporary, target, path, overwrite)
        _flush_entry(target.parent)
    finally:
        # After a move there is nothing left at this name.
        _remove(temporary)


@contextlib.contextmanager
def atomic_directory(
    path: str | os.PathLike, overwrite: bool = False
) -> Iterator[Path]:
    """As `atomic_path`, of a directory that is there when the body begins.

    What a process that was killed had begun to make at `path` is removed first. A
    directory that another process still works on is locked by it, and left alone.
    """
    with atomic_path(path, overwrite) as temporary, contextlib.ExitStack() as stack:
        _remove_leftovers(Path(os.path.realpath(path)))
        while not _make_locked(temporary, stack):
            pass
        yield temporary


def read_json(
    path: str | os.PathLike, largest: int | None = LARGEST_DESCRIPTION
) -> object:
    """The value of a JSON file in UTF-8, with or without a byte order mark.

    Args:
        path: the file.
        largest: int, the most bytes that it may have, so that nothing is made of more;
            None for a file of data, which may have any number.

    Raises:
        ValueError: when the file is no JSON, naming it and the line, or too large,
            naming it and its size.
    """
    with open(path, "rb") as file:
        data = file.read(-1 if largest is None else largest + 1)
        if largest is not None and len(data) > largest:
            # What is no file of the disk, such as a device, has a size of 0.
            size = max(os.fstat(file.fileno()).st_size, len(data))
            raise _too_large(path, size, largest)
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        # `error.object` lacks the byte order mark, which holds no line end.
        line = error.object[: error.start].count(b"\n") + 1
        reason = f"no UTF-8 ({error.reason})"
    except json.JSONDecodeError as error:
        line, reason = error.lineno, f"no JSON ({error.msg}, column {error.colno})"
    except RecursionError:
        line, reason = 1, "no JSON that can be read (nested too deeply)"
    except ValueError as error:  # a number of too many digits
        line, reason = 1, f"no JSON that can be read ({error})"
    raise ValueError(f"`{path}` line {line}: {reason}.")


def check_file_size(path: str | os.PathLike, largest: int) -> None:
    """Refuses a file of more bytes than one of its kind has, before it is read.

    Raises:
        FileNotFoundError: when there is none.
        ValueError: naming the file and its size.
    """
    size = os.stat(path).st_size
    if size > largest:
        raise _too_large(path, size, largest)


def _too_large(path, size, largest):
    return ValueError(
        f"`{path}` must have at most {largest:,} bytes. Received: {size:,} bytes."
    )


def _check_target(path, target, overwrite):
    if not target.name:
        raise ValueError(f"`path` must name a file or directory. Received: {path}.")
    if not target.parent.is_dir():
        if target.parent.exists():
            raise NotADirectoryError(f"`{target.parent}` is not a directory.")
        raise FileNotFoundError(f"The directory `{target.parent}` does not exist.")
    if os.path.lexists(target):
        if not overwrite:
            raise _exists(path)
        current = Path.cwd()
        if target.is_dir() and (target == current or target in current.parents):
            raise ValueError(
                f"`{path}` must not be the current directory or one above it when it "
                "is to be replaced."
            )
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"Nothing may be written in `{target.parent}`.")


def _exists(path):
    return FileExistsError(
        f"`{path}` exists. Give `overwrite=True` (`--overwrite`) to replace it."
    )


def _sibling(target, prefix):
    """A name beside `target` that no other writer has."""
    return target.with_name(f"{prefix}{secrets.token_hex(8)}-{_tail(target)}")


def _tail(target):
    """The end of a target's name, which Keras and NumPy look at for its suffix."""
    tail = target.name
    while len(os.fsencode(tail)) > 200:  # most file systems take 255 bytes
        tail = tail[1:]
    return tail


def _make_locked(folder, stack):
    """Makes a directory and locks it; False where it was taken for a leftover."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir()
    if fcntl is None:
        return True
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return False
    # The lock goes with the descriptor, or with the process, however it ends.
    stack.callback(os.close, descriptor)
    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), os.stat(folder))
    return False


def _remove_leftovers(target):
    """Removes the directories that killed processes had begun to make at `target`."""
    if fcntl is None:
        return
    begun = re.compile(
        f"{re.escape(TEMPORARY_PREFIX)}[0-9a-f]{{16}}-{re.escape(_tail(target))}"
    )
    for name in filter(begun.fullmatch, os.listdir(target.parent)):
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            # A directory, and no link to one.
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
            descriptor = os.open(target.with_name(name), flags)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(target.with_name(name), ignore_errors=True)


def _flush(path):
    """Brings a file, or every file of a directory, from memory to the disk."""
    if not os.path.lexists(path):
        raise FileNotFoundError(f"Nothing was written at the temporary name `{path}`.")
    if not path.is_dir():
        _flush_file(path)
        return
    for folder, _, files in os.walk(path):
        for name in files:
            _flush_file(os.path.join(folder, name))
        _flush_entry(folder)


def _flush_file(path):
    # A file without write permission can be flushed too, but not on Windows.
    with open(path, "rb" if os.name == "posix" else "rb+") as file:
        os.fsync(file.fileno())


def _flush_entry(folder):
    """Brings a folder's list of names to the disk, where the system can do that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _move(temporary, target, path, overwrite):
    is_directory = temporary.is_dir()
    if overwrite and os.path.lexists(target):
        if is_directory and not target.is_dir():
            raise NotADirectoryError(
                f"`{path}` is a file and cannot be replaced by a directory."
            )
        if target.is_dir() and not is_directory:
            raise IsADirectoryError(
                f"`{path}` is a directory and cannot be replaced by a file."
            )
        if is_directory:
            _replace_directory(temporary, target)
            return
    if overwrite and not is_directory:
        os.replace(temporary, target)
    else:
        _move_to_free_name(temporary, target, path, is_directory)


def _move_to_free_name(temporary, target, path, is_directory):
    """Moves, and refuses where another writer was faster."""
    if not is_directory:
        try:
            # Unlike a rename, a link never replaces anything.
            os.link(temporary, target)
        except FileExistsError:
            raise _exists(path) from None
        except (OSError, NotImplementedError):
            pass  # the file system has no links
        else:
            os.unlink(temporary)
            return
    if os.path.lexists(target):
        raise _exists(path)
    try:
        os.rename(temporary, target)
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
            raise _exists(path) from None
        raise


def _replace_directory(temporary, target):
    aside = _sibling(target, ASIDE_PREFIX)
    os.rename(target, aside)
    try:
        os.rename(temporary, target)
    except BaseException:
        os.rename(aside, target)
        raise
    try:
        shutil.rmtree(aside)
    except OSError as error:
        # The new one is complete and in place: that is no failure to write.
        warnings.warn(
            f"What was at `{target}` could not be removed and lies at `{aside}`: "
            f"{error}",
            stacklevel=4,
        )


def _remove(path):
    """Removes what is at a temporary name; never hides the error that led here."""
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
