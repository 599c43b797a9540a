"""Ways to spoil the files of a model; `fuzz_checkpoints.py` tries what comes of it.

Each takes a `random.Random` and a path, changes what lies there, and says how.
"""

import contextlib
import copy
import io
import json
import shutil
import stat
import tarfile
import warnings
import zipfile

import h5py
import numpy as np

from keras_elmo.checkpoints.sorted_table import read_table, write_table, write_varint

NUMBERS = [0, -1, 1, 2, 3, 7, 261, 262, 2**31, 2**63, 10**30, -(2**40), 1e308, 0.5]
ODD = [None, True, "8", "", [], {}, [[1, 4]], [[2**40, 2**40]], {"dim": 4}, *NUMBERS]


def spoil_bytes(rng, path):
    """Flips, cuts, blanks, repeats or puts in some bytes of a file."""
    data = bytearray(path.read_bytes())
    at = rng.randrange(len(data) + 1)
    kind = rng.choice(["flip", "cut", "blank", "insert", "drop", "empty"])
    if kind == "flip" and data:
        for _ in range(rng.choice([1, 1, 2, 8, 64])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif kind == "cut":
        del data[at:]
    elif kind == "blank":
        end = min(len(data), at + rng.randrange(1, 64))
        data[at:end] = bytes([rng.choice([0, 255])]) * (end - at)
    elif kind == "insert":
        data[at:at] = rng.randbytes(rng.randrange(1, 32))
    elif kind == "drop":
        del data[at : at + rng.randrange(1, 32)]
    else:
        data = bytearray()
    path.write_bytes(data)
    return f"{kind} {path.name}"


def spoil_presence(rng, path):
    """Removes a file, or gives its name to a folder or to another file's bytes."""
    kind = rng.choice(["remove", "folder", "other"])
    beside = [p for p in path.parent.iterdir() if p.is_file() and p != path]
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "other" and beside:
        shutil.copy(rng.choice(beside), path)
    return f"{kind} {path.name}"


def spoil_json(rng, path):
    """Changes, takes out or adds a value of options.json."""
    options = json.loads(path.read_text("utf-8"))
    places = list(_places(options))
    parent, key = rng.choice(places)
    kind = rng.choice(["change", "change", "change", "remove", "nest", "rename"])
    if kind == "change":
        parent[key] = copy.deepcopy(rng.choice(ODD))
    elif kind == "remove":
        del parent[key]
    elif kind == "nest":
        parent[key] = {str(key): parent[key]}
    elif isinstance(parent, dict):
        parent[f"{key}_"] = parent.pop(key)
    path.write_text(json.dumps(options), encoding="utf-8")
    return f"{kind} {key} of {path.name}"


def _places(value):
    """(container, key) of everything in a JSON value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(pairs):
        yield value, key
        if isinstance(inner, (dict, list)):
            yield from _places(inner)


def spoil_hdf5(rng, path):
    """Changes what an HDF5 file holds, by its own library."""
    with h5py.File(path, "r+") as file:
        names = []
        file.visititems(
            lambda name, item: (
                names.append(name) if isinstance(item, h5py.Dataset) else None
            )
        )
        name = rng.choice(names)
        array = file[name][()]
        kind = rng.choice(
            [
                "rename",
                "remove",
                "reshape",
                "retype",
                "nan",
                "huge",
                "link",
                "external",
                "group",
                "scalar",
                "null",
                "twice",
                "text",
            ]
        )
        if kind == "twice":
            file[f"{name}_2"] = array
            return f"{kind} {name}"
        del file[name]
        if kind == "rename":
            file[rng.choice([f"{name}_", name[:-1] + "9", f"lm/{name}"])] = array
        elif kind == "reshape":
            shape = list(array.shape)
            shape[rng.randrange(len(shape))] += rng.choice([-1, 1, 5])
            file[name] = np.zeros(shape, "float32")
        elif kind == "retype":
            file[name] = array.astype(rng.choice(["float64", "int32", "float16", "S4"]))
        elif kind == "nan":
            array.flat[rng.randrange(array.size)] = rng.choice([np.nan, np.inf])
            file[name] = array
        elif kind == "huge":
            shape = (2 ** rng.choice([20, 40, 60]), *array.shape[1:])
            file.create_dataset(name, shape, "float32", chunks=(1, *array.shape[1:]))
        elif kind == "link":
            file[name] = h5py.SoftLink("/nowhere")
        elif kind == "external":
            file[name] = h5py.ExternalLink("/etc/passwd", "/x")
        elif kind == "group":
            file.create_group(name)
        elif kind == "scalar":
            file[name] = np.float32(1.0)
        elif kind == "null":
            file.create_dataset(name, data=h5py.Empty("float32"))
        elif kind == "text":
            file[name] = "text"
    return f"{kind} {name}"


def spoil_index(rng, path):
    """Changes a checkpoint's index and gives it right checksums."""
    entries = list(read_table(path.read_bytes()).items())
    at = rng.randrange(len(entries))
    name, value = entries[at]
    kind = rng.choice(["bytes", "entry", "rename", "remove", "swap", "header", "raw"])
    if kind == "bytes" and value:
        changed = bytearray(value)
        for _ in range(rng.choice([1, 1, 2, 4])):
            octet = rng.choice([0, 127, 128, 255, rng.randrange(256)])
            changed[rng.randrange(len(changed))] = octet
        entries[at] = (name, bytes(changed))
    elif kind == "entry":
        entries[at] = (name, _random_entry(rng))
    elif kind == "rename":
        renamed = name + rng.choice([b"_", b"/Adam", b"\xff", b"/x" * 3000])
        entries[at] = (renamed, value)
    elif kind == "remove":
        del entries[at]
    elif kind == "swap":
        other = rng.randrange(len(entries))
        entries[at], entries[other] = (
            (name, entries[other][1]),
            (entries[other][0], value),
        )
    elif kind == "header":
        shards = rng.choice([0, 2, 2**31, 2**63 + 5])
        entries[0] = (
            b"",
            _number_field(1, shards) + _number_field(2, rng.choice([0, 1])),
        )
    else:
        entries[at] = (name, rng.randbytes(rng.randrange(40)))
    path.write_bytes(write_table(sorted(entries)))
    return f"{kind} {name[:40]!r}"


def _number_field(number, value):
    return write_varint(number << 3) + write_varint(value % 2**64)


def _bytes_field(number, value):
    return write_varint(number << 3 | 2) + write_varint(len(value)) + value


def _random_entry(rng):
    """An entry of an index that says what it likes."""
    large = [0, 1, 2, 4, 6, -1, 2**31, 2**40, 2**62, 2**63 - 1]
    sizes = [rng.choice(large) for _ in range(rng.choice([0, 1, 2, 3, 300]))]
    shape = b"".join(_bytes_field(2, _number_field(1, size)) for size in sizes)
    if rng.random() < 0.1:
        shape += _number_field(3, 1)  # of no known rank
    entry = _number_field(1, rng.choice([0, 1, 1, 1, 2, 3, 7, 20, 99, 101, 2**40]))
    entry += _bytes_field(2, shape) + _number_field(
        3, rng.choice([0, 0, 0, 1, -1, 2**31])
    )
    entry += _number_field(4, rng.choice(large)) + _number_field(5, rng.choice(large))
    if rng.random() < 0.2:
        entry += _bytes_field(7, b"")  # a slice
    return entry


def spoil_text(rng, path):
    """Changes the lines of a vocabulary."""
    lines = path.read_text("utf-8").splitlines()
    at = rng.randrange(len(lines))
    kind = rng.choice(["drop", "twice", "blank", "swap", "count", "long", "add"])
    if kind == "drop":
        del lines[at]
    elif kind == "twice":
        lines[at] = lines[rng.randrange(len(lines))]
    elif kind == "blank":
        lines[at] = " "
    elif kind == "swap":
        rng.shuffle(lines)
    elif kind == "count":
        lines[at] += rng.choice(["\t3", "\t", "\tx", "\t" + "9" * 5000])
    elif kind == "long":
        lines[at] = "x" * 10**6
    else:
        lines.insert(at, rng.choice(["word", "\u2028", "\ufeffx", "a b"]))
    path.write_text("\n".join(lines), encoding="utf-8")
    return f"{kind} line of {path.name}"


def spoil_folder(rng, folder):
    """Spoils one file of a form's folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = rng.choice([p for p in files if p.name != "README.md"])
    own = {".json": spoil_json, ".index": spoil_index, ".txt": spoil_text}
    own[".hdf5"] = own[".h5"] = spoil_hdf5
    draw = rng.random()
    if path.suffix in own and draw < 0.6:
        # A file that was spoilt before may be no such file any more.
        with contextlib.suppress(ValueError, OSError, LookupError, RuntimeError):
            return own[path.suffix](rng, path)
    return spoil_presence(rng, path) if draw > 0.95 else spoil_bytes(rng, path)


def spoilt_archive(rng, folder, kind):
    """An archive of a folder with something wrong in it: (path, what)."""
    path = folder.parent / f"archive.{kind}"
    names = sorted(p.name for p in folder.iterdir())
    wrong = rng.choice(["bytes", "bytes", "name", "link", "twice", "bomb", "inside"])
    if wrong == "inside":
        wrong = f"inside: {spoil_folder(rng, folder)}"
        names = sorted(p.name for p in folder.iterdir())
    odd = rng.choice(["../x", "/tmp/x", "a/../../x", "C:\\x", "..\\x", "\\x", "a/b/c"])
    make = _zip if kind == "zip" else _tar
    make(path, folder, names, wrong, odd)
    if wrong == "bytes":
        wrong = spoil_bytes(rng, path)
    return path, f"{wrong} {odd if wrong == 'name' else ''}"


def _zip(path, folder, names, wrong, odd):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            if (folder / name).is_file():
                archive.write(folder / name, name)
        if wrong == "name":
            archive.writestr(odd, b"x")
        elif wrong == "link":
            entry = zipfile.ZipInfo("link")
            entry.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(entry, "/etc/passwd")
        elif wrong == "twice":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                archive.writestr(names[0], b"x")
        elif wrong == "bomb":
            archive.writestr("vocab.txt.more", bytes(2**27))


def _tar(path, folder, names, wrong, odd):
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            archive.add(folder / name, name)
        entry = tarfile.TarInfo(odd if wrong == "name" else "more")
        content = b"x"
        if wrong == "link":
            entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        elif wrong == "twice":
            entry.name = names[0]
        elif wrong == "bomb":
            content = bytes(2**27)
        elif wrong != "name":
            return
        entry.size = 0 if wrong == "link" else len(content)
        archive.addfile(entry, io.BytesIO(content))
