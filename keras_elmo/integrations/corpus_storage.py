"""Files and folders where a cluster reads and writes them: paths or URIs.

Files are written under another name and moved into place when they are whole.
"""

import contextlib
import json
import os
import secrets
from pathlib import PurePosixPath
from urllib.parse import quote

from pyarrow import fs

RUN_FILE = "_run.json"
TEMPORARY_PREFIX = ".tmp-"


def find_sources(files):
    """Name to (path, [bytes, time of change]) of each file, sorted by name."""
    if isinstance(files, str | os.PathLike):
        files = [files]
    found = {}
    for given in map(absolute, files):
        filesystem, name = filesystem_of(given)
        info = filesystem.get_file_info(name)
        if info.type == fs.FileType.NotFound:
            raise FileNotFoundError(f"`{given}` does not exist.")
        inside = {PurePosixPath(name).name: (info, given)}
        if info.type == fs.FileType.Directory:
            selector = fs.FileSelector(name, recursive=True)
            entries = {
                str(PurePosixPath(entry.path).relative_to(name)): entry
                for entry in filesystem.get_file_info(selector)
                if entry.type == fs.FileType.File
            }
            inside = {
                label: (entry, join(given, label)) for label, entry in entries.items()
            }
        for label, (entry, path) in inside.items():
            if any(part.startswith((".", "_")) for part in label.split("/")):
                continue
            if found.setdefault(label, (path, None))[0] != path:
                raise ValueError(
                    f"`files` must have different names. Received: `{path}` and "
                    f"`{found[label][0]}`."
                )
            found[label] = path, [entry.size, entry.mtime_ns]
    if not found:
        raise ValueError("`files` must name at least one file. Received: none.")
    return dict(sorted(found.items()))


def open_run(output, settings, sources):
    """Makes the output directory, or checks that what is there is the same run."""
    filesystem, folder = filesystem_of(output)
    path = f"{folder}/{RUN_FILE}"
    states = {name: state for name, (_, state) in sources.items()}
    if exists(join(output, RUN_FILE)):
        with filesystem.open_input_stream(path) as file:
            stored = _run_of(file.read(), path)
        old = stored["settings"]
        differing = [
            f"{name} is {new!r}, the run's is {old.get(name)!r}"
            for name, new in settings.items()
            if new != old.get(name)
        ]
        differing += [
            f"the file {name!r} was changed"
            for name, state in states.items()
            if stored["sources"].get(name, state) != state
        ]
        if differing:
            raise ValueError(
                f"`{output}` holds another run: {'; '.join(differing)}. Ask for the "
                "same, or give another directory."
            )
        states = {**stored["sources"], **states}
    else:
        info = filesystem.get_file_info(folder)
        if info.type != fs.FileType.NotFound and filesystem.get_file_info(
            fs.FileSelector(folder)
        ):
            raise FileExistsError(
                f"`{output}` is not empty and holds no run ({RUN_FILE} is missing)."
            )
        filesystem.create_dir(folder, recursive=True)
    text = json.dumps({"settings": settings, "sources": states}, indent=2)
    with written(join(output, RUN_FILE)) as stream:
        stream.write(text.encode())


def _run_of(content, path):
    try:
        stored = json.loads(content)
    except ValueError as error:
        raise ValueError(f"`{path}` does not describe a run: {error}.") from None
    parts = stored if isinstance(stored, dict) else {}
    if not all(isinstance(parts.get(name), dict) for name in ("settings", "sources")):
        raise ValueError(f"`{path}` does not describe a run.")
    return stored


def absolute(path):
    """A URI as it is, or a path that holds wherever a worker stands."""
    path = os.fspath(path)
    return path.rstrip("/") if "://" in path else os.path.abspath(path)


def filesystem_of(path):
    """(file system, path in it) of a URI or an absolute path."""
    return fs.FileSystem.from_uri(path)


def join(folder, name):
    """A path in a folder, or a URI."""
    return f"{folder}/{quote(name) if '://' in folder else name}"


def exists(path):
    """Whether there is such a file."""
    filesystem, name = filesystem_of(path)
    return filesystem.get_file_info(name).type == fs.FileType.File


def _entries(folder):
    """(file system, names of the files) of a folder that may not be there."""
    filesystem, name = filesystem_of(folder)
    selector = fs.FileSelector(name, allow_not_found=True)
    return filesystem, [entry.path for entry in filesystem.get_file_info(selector)]


def parts(folder):
    """Names of the files of a folder that are whole."""
    _, paths = _entries(folder)
    names = (PurePosixPath(path).name for path in paths)
    return [name for name in names if not name.startswith(TEMPORARY_PREFIX)]


def remove_left_over(folder):
    """Removes what killed workers had not finished."""
    filesystem, paths = _entries(folder)
    for path in paths:
        if PurePosixPath(path).name.startswith(TEMPORARY_PREFIX):
            with contextlib.suppress(OSError):
                filesystem.delete_file(path)


@contextlib.contextmanager
def written(path):
    """Yields a stream to another name, which is moved to `path` when it is whole."""
    filesystem, name = filesystem_of(path)
    folder, _, last = name.rpartition("/")
    filesystem.create_dir(folder, recursive=True)
    temporary = f"{folder}/{TEMPORARY_PREFIX}{secrets.token_hex(8)}-{last}"
    try:
        with filesystem.open_output_stream(temporary) as stream:
            yield stream
        filesystem.move(temporary, name)
    except BaseException:
        with contextlib.suppress(OSError):
            filesystem.delete_file(temporary)
        raise
